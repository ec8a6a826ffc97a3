//! Fuzzer for the C API and for every parser of external text.
//!
//! `softacl-fuzz TARGET SECONDS SEED` fuzzes; `softacl-fuzz replay FILE` executes an input of the corpus and prints its
//! calls. Usually started by `cargo xtask fuzz`. Deliberately not tested: wild function pointers and wrong format
//! strings, against which C cannot defend.

mod api;
mod arena;
mod arguments;
mod coverage;
mod execution;
mod parent;
mod parsers;
mod progress;

use execution::Style;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["child", style, seed, file] => parent::child(Style::of(style), seed, file),
        ["replay", file] => parent::replay(Path::new(file)),
        [target, seconds, seed] => fuzz(target, seconds, seed),
        _ => Err("usage: softacl-fuzz TARGET SECONDS SEED, or softacl-fuzz replay FILE".to_owned()),
    };
    match result {
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
    match (Style::of(target), parsers::parser(target)) {
        (Some(style), _) => parent::fuzz(style, time, seed),
        (_, Some(parser)) => parsers::fuzz(parser, time, seed),
        _ => Err(format!("unknown target {target:?}; the targets are c-interface, sequences, {}", parsers::names())),
    }
}
