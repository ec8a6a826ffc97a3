//! The command line of softacl. Each command is one file; this one only says what there is.

mod acl;
mod bench;
mod chips;
mod demo;
mod environment;
mod explain;
mod library;
mod run;

use clap::{Parser, Subcommand};
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
  softacl bench --quick                            how fast it is here, against memcpy
  softacl explain 107003                           what an error code means and what to check";

#[derive(Subcommand)]
enum Command {
    Run(run::Arguments),
    Explain(explain::Arguments),
    Chips(chips::Arguments),
    Env(environment::Arguments),
    Demo(demo::Arguments),
    Bench(bench::Arguments),
}

fn main() -> ExitCode {
    // A reader that has seen enough ends us quietly, as it does other commands.
    // SAFETY: restores the default action of a signal, before there are threads.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let result = match Arguments::parse().command {
        Command::Run(arguments) => run::main(&arguments),
        Command::Explain(arguments) => explain::main(&arguments),
        Command::Chips(arguments) => chips::main(&arguments),
        Command::Env(arguments) => environment::main(&arguments),
        Command::Demo(arguments) => demo::main(&arguments),
        Command::Bench(arguments) => bench::main(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("softacl: {error:#}");
            ExitCode::FAILURE
        }
    }
}
