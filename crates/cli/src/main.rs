//! The softacl command line. Each subcommand has its own module.

mod bench;
mod calibrate;
mod check;
mod chips;
mod demo;
mod environment;
mod explain;
mod hccn_tool;
mod host_files;
mod library;
mod machine;
mod npu_smi;
mod output;
mod permutation;
mod run;
mod signals;
mod status;
mod timing;
mod trace;
mod units;
mod what_if;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

/// AscendCL without the NPU: run, check and trace programs written for Ascend on any Linux machine.
#[derive(Parser)]
#[command(version, about, long_about = None, arg_required_else_help = true, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "Examples:
  softacl demo                                     run a KV-cache offload and verify its data
  softacl run -- ./app --my-flag                   run a program on softacl
  softacl run --soc Ascend310P -- ./app            ... on another chip
  softacl run --schedule late -- ./app             ... with every copy delayed as long as the semantics allow
  softacl check -- ./app                           detect misuse of asynchronous copies
  softacl status                                   list running programs, and who waits for whom
  softacl trace -- ./app                           record a timeline of threads and streams
  softacl run --timing -- ./app                    estimate the time on the chip, with intervals
  softacl what-if --soc Ascend910B,Ascend910C -- ./app    compare chips
  softacl bench --quick                            compare the speed on this host with memcpy
  softacl explain 107003                           explain an error code";

#[derive(Subcommand)]
enum Command {
    Run(run::Arguments),
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
            if message.kind() == ErrorKind::UnknownArgument && !std::env::args_os().any(|word| word == "--") {
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
    let done = |()| ExitCode::SUCCESS;
    let result = match arguments.command {
        Command::Run(arguments) => run::main(&arguments),
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
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            output::eprint_line(format_args!("softacl: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
