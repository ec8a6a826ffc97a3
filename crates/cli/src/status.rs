//! `softacl status`: asks running programs who waits for whom.

use crate::output;
use crate::processes::{self, Process};
use anyhow::{Result, bail};
use clap::Args;
use softacl_checker::picture::Picture;
use softacl_engine::mailbox::Mailbox;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a process may take to answer. It symbolizes the lines of its waits.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long each process of a list may take: one that is stopped must not delay the others.
const LIST_TIMEOUT: Duration = Duration::from_secs(2);

/// Show who waits for whom in a running program
///
/// Asks a process that uses softacl for its threads and streams: what each of them waits for, how many tasks are
/// unfinished and, under `softacl check`, the line of each wait. Without a process id, lists the programs of this user
/// and their streams with work. A process can be asked from its first call on. After its first wait inside a call,
/// `kill -USR1 PID` prints the same to its stderr, unless the program handles the signal itself.
#[derive(Args)]
pub struct Arguments {
    /// Process id; lists all programs of this user if omitted
    pid: Option<u32>,
    /// Write JSON to FILE (`-` for stdout)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub fn main(arguments: &Arguments) -> Result<()> {
    let Some(pid) = arguments.pid else { return list(arguments.json.as_deref()) };
    let Some(mailbox) = Mailbox::find(pid) else {
        bail!(
            "process {pid} cannot be asked: it is not a program of this user that uses softacl, or it has made no call \
             yet"
        )
    };
    let Some(picture) = processes::ask(&mailbox, ANSWER_TIMEOUT) else {
        bail!("process {pid} does not answer: it may be stopped or ending")
    };
    if let Some(path) = &arguments.json {
        return output::write_json(path, &picture);
    }
    output::print(picture.text())
}

/// Lists all programs of this user.
fn list(json: Option<&Path>) -> Result<()> {
    let found = processes::ask_all(|mailbox| processes::ask(mailbox, LIST_TIMEOUT), |picture| picture.pid);
    if let Some(path) = json {
        let pictures: Vec<Picture> = found.into_iter().filter_map(|process| process.answer).collect();
        return output::write_json(path, &pictures);
    }
    if found.is_empty() {
        return output::print("no program of this user uses softacl\n");
    }
    output::print(found.iter().map(describe).collect::<String>())
}

/// One line about a program, and one for each of its streams with work.
fn describe(process: &Process<Picture>) -> String {
    let Some(picture) = &process.answer else {
        return format!("process {}: does not answer; it may be stopped or ending\n", process.id);
    };
    let streams: String = picture.stream_lines().iter().map(|line| format!("  {line}\n")).collect();
    format!("{}\n{streams}", picture.summary())
}
