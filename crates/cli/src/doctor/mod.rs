//! `softacl doctor`: checks an installation, the host and a program, and says in plain words what to change.

mod diagnosis;
mod host;
mod installation;
mod program;

use crate::output;
use anyhow::Result;
use clap::Args;
use diagnosis::{Diagnosis, State};
use std::path::PathBuf;
use std::process::ExitCode;

/// Check the installation, the host and a program
///
/// Finds what makes programs fail before their first line: another libascendcl.so, a chip that does not exist, too little
/// address space, a sanitizer that the checker cannot work with. Exits with 1 if there is a problem.
#[derive(Args)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub struct Arguments {
    /// A program or a Python script to check as well
    program: Option<PathBuf>,
    /// Write the result as JSON (`-` for stdout)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  softacl doctor                     check the installation and the host
  softacl doctor ./app               ... and whether this program will use softacl
  softacl doctor --json - | jq '.[] | select(.state == \"problem\")'";

pub fn main(arguments: &Arguments) -> Result<ExitCode> {
    let mut all = installation::diagnoses();
    all.extend(host::diagnoses());
    if let Some(program) = &arguments.program {
        all.extend(program::diagnoses(program));
    }
    match &arguments.json {
        Some(path) => output::write_json(path, &all)?,
        None => output::print(render(&all))?,
    }
    let is_ill = all.iter().any(|diagnosis| diagnosis.state == State::Problem);
    Ok(if is_ill { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn render(all: &[Diagnosis]) -> String {
    let mut text = String::new();
    let is_wanted = |diagnosis: &&Diagnosis| diagnosis.state == State::Problem || !output::is_quiet();
    for Diagnosis { subject, state, text: what, remedy } in all.iter().filter(is_wanted) {
        let word = match state {
            State::Good => output::green("ok     "),
            State::Note => output::yellow("note   "),
            State::Problem => output::red("problem"),
        };
        text += &format!("{word}  {subject:<14} {what}\n");
        if let Some(remedy) = remedy {
            text += &format!("{:25}{remedy}\n", "");
        }
    }
    if output::is_quiet() {
        return text;
    }
    let count = |state| all.iter().filter(|diagnosis| diagnosis.state == state).count();
    let (problems, notes) = (count(State::Problem), count(State::Note));
    let plural = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
    text + &format!("\n{}, {}\n", plural(problems, "problem"), plural(notes, "note"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_has_a_line_per_subject_and_a_remedy_below() {
        let all = [
            Diagnosis::good("library", "softacl 1.0"),
            Diagnosis::problem("address space", "limited to 1 GiB", "ulimit -v unlimited"),
        ];
        let expected = "\
ok       library        softacl 1.0
problem  address space  limited to 1 GiB
                         ulimit -v unlimited

1 problem, 0 notes
";
        assert_eq!(render(&all), expected);
    }
}
