//! The command line of softacl. Each command is one file; this one only says what there is.

mod acl;
mod bench;
mod check;
mod chips;
mod demo;
mod environment;
mod explain;
mod library;
mod machine;
mod npu_smi;
mod output;
mod run;
mod signals;
mod trace;
mod units;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

/// AscendCL without the NPU: run, explain and try programs written for Ascend on any machine.
#[derive(Parser)]
#[command(version, about, long_about = None, arg_required_else_help = true, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "Examples:
  softacl demo                                     a KV-cache offload, from start to verified bytes
  softacl run -- ./app --my-flag                   run an unmodified program on softacl
  softacl run --soc Ascend310P -- ./app            ... on another chip
  softacl run --schedule late -- ./app             ... with every copy as late as the rules allow
  softacl check -- ./app                           prove misuse of asynchronous copies
  softacl trace -- ./app                           draw what its threads and streams did, and when
  softacl bench --quick                            how fast it is here, against memcpy
  softacl explain 107003                           what an error code means and what to check";

#[derive(Subcommand)]
enum Command {
    Run(run::Arguments),
    Check(check::Arguments),
    Trace(trace::Arguments),
    Explain(explain::Arguments),
    Chips(chips::Arguments),
    Env(environment::Arguments),
    Demo(demo::Arguments),
    Bench(bench::Arguments),
    #[command(name = "npu-smi")]
    NpuSmi(npu_smi::Arguments),
}

fn main() -> ExitCode {
    // A reader that has seen enough ends us quietly, as it does other commands.
    // SAFETY: restores the default action of a signal, before there are threads.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    // Detection code calls us by another name.
    let mut words = std::env::args_os();
    if words.next().is_some_and(|name| Path::new(&name).file_name() == Some(OsStr::new(library::NPU_SMI))) {
        return match npu_smi::run(&words.collect::<Vec<_>>()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                output::eprint_line(format_args!("{error:#}"));
                ExitCode::FAILURE
            }
        };
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(message) => {
            // Not the code that clap would choose: 2 says that something was proven.
            let wrong = message.use_stderr();
            if message.kind() == ErrorKind::UnknownArgument && !std::env::args_os().any(|word| word == "--") {
                output::eprint_line("softacl: a program to run or to check comes after `--`: softacl check -- ./app\n");
            }
            return match message.print().and_then(|()| io::stdout().flush()) {
                Err(error) if !wrong => {
                    output::eprint_line(format_args!("softacl: could not write to standard output: {error}"));
                    ExitCode::FAILURE
                }
                _ if wrong => ExitCode::FAILURE,
                _ => ExitCode::SUCCESS,
            };
        }
    };
    let done = |()| ExitCode::SUCCESS;
    let result = match arguments.command {
        Command::Run(arguments) => run::main(&arguments).map(done),
        Command::Check(arguments) => check::main(&arguments),
        Command::Trace(arguments) => trace::main(&arguments),
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
