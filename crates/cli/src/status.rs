//! `softacl status`: asks running programs who waits for whom.

use crate::output;
use anyhow::{Result, bail};
use clap::Args;
use softacl_checker::picture::Picture;
use softacl_engine::mailbox::Mailbox;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a process may take to answer. It symbolizes the lines of its waits.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Show who waits for whom in a running program
///
/// Asks a process that uses softacl for its threads and streams: what each of them waits for, how many tasks are
/// unfinished and, under `softacl check`, the line of each wait. Without a process id, lists the programs of this user.
/// A process can be asked from its first wait inside a call on. `kill -USR1 PID` prints the same to its stderr, unless
/// the program handles the signal itself.
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
            "process {pid} cannot be asked: it is not a program of this user that uses softacl, or it has not waited \
             inside a call yet"
        )
    };
    let Some(picture) = ask(&mailbox) else { bail!("process {pid} does not answer: it may be stopped or ending") };
    if let Some(path) = &arguments.json {
        return output::write_json(path, &picture);
    }
    output::print(picture.text())
}

/// Lists all programs of this user. One that ends during the listing is left out.
fn list(json: Option<&Path>) -> Result<()> {
    let pictures: Vec<Picture> =
        Mailbox::processes().into_iter().filter_map(|process| ask(&Mailbox::find(process)?)).collect();
    if let Some(path) = json {
        return output::write_json(path, &pictures);
    }
    if pictures.is_empty() {
        return output::print("no program of this user has waited in softacl\n".to_owned());
    }
    output::print(pictures.iter().map(|picture| picture.summary() + "\n").collect::<String>())
}

fn ask(mailbox: &Mailbox) -> Option<Picture> {
    serde_json::from_slice(&mailbox.ask(ANSWER_TIMEOUT)?).ok()
}
