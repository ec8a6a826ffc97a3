//! The softacl command line. Each subcommand has its own module.

mod bench;
mod calibrate;
mod check;
mod chips;
mod completions;
mod demo;
mod doctor;
mod environment;
mod explain;
mod hccn_tool;
mod host_files;
mod library;
mod machine;
mod markdown;
mod nodes;
mod npu_smi;
mod output;
mod permutation;
mod processes;
mod run;
mod runtime;
mod settings;
mod signals;
mod status;
mod timing;
mod trace;
mod units;
mod what_if;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser, Subcommand};
use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

/// AscendCL without the NPU: run, check and trace programs written for Ascend on any Linux machine.
#[derive(Parser)]
#[command(version, long_version = output::version(), about, long_about = None, arg_required_else_help = true,
          after_help = EXAMPLES)]
struct Arguments {
    /// When to use colors: auto, always or never
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_default_value = true)]
    color: output::Color,
    /// Print results and errors only: no progress, summaries, notes or hints
    #[arg(long, short, global = true)]
    quiet: bool,
    /// Leave nothing out: all advice, all lines of tables
    #[arg(long, short, global = true, conflicts_with = "quiet")]
    verbose: bool,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "Examples:
  softacl demo                                     run a KV-cache offload and verify its data
  softacl run -- ./app --my-flag                   run a program on softacl
  softacl run --soc Ascend310P -- ./app            ... on another chip
  softacl run --schedule late -- ./app             ... with every copy delayed as long as the semantics allow
  softacl run --nodes 2 --devices 4 -- torchrun train.py    simulate a cluster
  softacl check -- ./app                           detect misuse of asynchronous copies
  softacl status                                   list running programs, and who waits for whom
  softacl trace -- ./app                           record a timeline of threads and streams
  softacl run --timing -- ./app                    estimate the time on the chip, with intervals
  softacl what-if --soc Ascend910B,Ascend910C -- ./app    compare chips
  softacl bench --quick                            compare the speed on this host with memcpy
  softacl explain 107003                           explain an error code
  softacl doctor                                   check the installation and the host";

#[derive(Subcommand)]
enum Command {
    Run(run::Arguments),
    Exec(nodes::exec::Arguments),
    Check(check::Arguments),
    Trace(trace::Arguments),
    WhatIf(what_if::Arguments),
    Calibrate(calibrate::Arguments),
    Status(status::Arguments),
    Explain(explain::Arguments),
    Chips(chips::Arguments),
    Env(environment::Arguments),
    Demo(demo::Arguments),
    Bench(bench::Arguments),
    #[command(name = "npu-smi")]
    NpuSmi(npu_smi::Arguments),
    Doctor(doctor::Arguments),
    Completions(completions::Arguments),
}

/// Runs the vendor tool under whose name this program was started, as detection code does. `None` if there is no such
/// tool.
fn tool() -> Option<ExitCode> {
    let mut words = std::env::args_os();
    let name = words.next()?;
    let run = match Path::new(&name).file_name().and_then(OsStr::to_str)? {
        library::NPU_SMI => npu_smi::run,
        library::HCCN_TOOL => hccn_tool::run,
        _ => return None,
    };
    match run(&words.collect::<Vec<_>>()) {
        Ok(()) => Some(ExitCode::SUCCESS),
        Err(error) => {
            output::eprint_line(format_args!("{error:#}"));
            Some(ExitCode::FAILURE)
        }
    }
}

/// True if the command runs a program and nothing separates its arguments from ours.
fn runs_program_without_dashes() -> bool {
    let mut words = std::env::args_os().skip(1).skip_while(|word| word.to_string_lossy().starts_with('-'));
    let runs_program =
        words.next().is_some_and(|word| ["run", "check", "trace", "what-if"].iter().any(|name| word == *name));
    // A path or a bare name among the arguments may be the program.
    let rest: Vec<_> = words.collect();
    let has_program =
        rest.iter().any(|word| word.to_string_lossy().contains('/') || !word.to_string_lossy().starts_with('-'));
    runs_program && has_program && !rest.iter().any(|word| word == "--")
}

fn main() -> ExitCode {
    // A closed pipe ends this program silently, like other command-line tools.
    // SAFETY: restores the default action of a signal, before other threads exist.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    if let Some(code) = tool() {
        return code;
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(message) => {
            // Not clap's exit code 2, which means that something was proven.
            let is_error = message.use_stderr();
            if message.kind() == ErrorKind::UnknownArgument && runs_program_without_dashes() {
                output::eprint_line("softacl: the program comes after `--`, for example: softacl check -- ./app\n");
            }
            return match message.print().and_then(|()| io::stdout().flush()) {
                Err(error) if !is_error => {
                    output::eprint_line(format_args!("softacl: could not write to standard output: {error}"));
                    ExitCode::FAILURE
                }
                _ if is_error => ExitCode::FAILURE,
                _ => ExitCode::SUCCESS,
            };
        }
    };
    output::set_up(arguments.color, arguments.quiet, arguments.verbose);
    let done = |()| ExitCode::SUCCESS;
    let result = match arguments.command {
        Command::Run(arguments) => run::main(&arguments),
        Command::Exec(arguments) => nodes::exec::main(&arguments),
        Command::Check(arguments) => check::main(&arguments),
        Command::Trace(arguments) => trace::main(&arguments),
        Command::Calibrate(arguments) => calibrate::main(&arguments).map(done),
        Command::WhatIf(arguments) => what_if::main(&arguments).map(done),
        Command::Status(arguments) => status::main(&arguments).map(done),
        Command::Explain(arguments) => explain::main(&arguments).map(done),
        Command::Chips(arguments) => chips::main(&arguments).map(done),
        Command::Env(arguments) => environment::main(&arguments).map(done),
        Command::Demo(arguments) => demo::main(&arguments).map(done),
        Command::Bench(arguments) => bench::main(&arguments).map(done),
        Command::NpuSmi(arguments) => npu_smi::main(&arguments).map(done),
        Command::Doctor(arguments) => doctor::main(&arguments),
        Command::Completions(arguments) => completions::main(&arguments, Arguments::command()).map(done),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            output::eprint_line(format_args!("softacl: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
