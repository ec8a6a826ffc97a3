//! Fuzzing of the C interface and of everything that reads text from outside.
//!
//! `softacl-fuzz TARGET SECONDS SEED` fuzzes; `softacl-fuzz replay FILE` lives a kept life again and tells its
//! calls. `cargo xtask fuzz` is the way to run it. What it deliberately does not test: wild function pointers and
//! wrong formats, against which C has no defence.

mod arena;
mod arguments;
mod coverage;
mod execution;
mod interface;
mod parent;
mod parsers;
mod progress;

use execution::{Input, Style};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["life", style, seed, file] => parent::child(Style::of(style), seed, file),
        ["replay", file] => parent::replay(Path::new(file)),
        [target, seconds, seed] => fuzz(target, seconds, seed),
        _ => Err("usage: softacl-fuzz TARGET SECONDS SEED, or softacl-fuzz replay FILE".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("softacl-fuzz: {why}");
            ExitCode::FAILURE
        }
    }
}

fn fuzz(target: &str, seconds: &str, seed: &str) -> Result<(), String> {
    let seconds = seconds.parse().map_err(|_| format!("{seconds:?} is not a number of seconds"))?;
    let seed = seed.parse().map_err(|_| format!("{seed:?} is not a seed"))?;
    let time = Duration::from_secs(seconds);
    match (Style::of(target), parsers::reader(target)) {
        (Some(style), _) => parent::fuzz(style, time, seed),
        (_, Some(reader)) => parsers::fuzz(reader, time, seed),
        _ => Err(format!("{target:?} is not a target; there are c-interface, sequences, {}", parsers::names())),
    }
}

/// A life from a seed.
fn genes(style: Style, seed: u64) -> Input {
    Input::random(style, seed)
}
