//! Fault rules of this process: read from SOFTACL_FAULTS, asked at the door, accounted for at the end.
//!
//! The rules themselves are the engine's (`injection`); here are the words of the interface that they may
//! use, the files that they may be in, and the report.

use crate::config;
use crate::entry::ArgValue;
use ascendcl_sys::{FUNCTIONS, Support};
use softacl_faults::{Injection, MatchContext, Rule, Vocabulary, closest_match, parse};
use std::fs;
use std::sync::{Arc, OnceLock};

static INJECTION: OnceLock<Option<Arc<Injection>>> = OnceLock::new();

/// The longest text of rules that is read.
const MAX_RULE_FILE_BYTES: u64 = 1 << 20;

/// The rules that the environment asks for, on a machine with so many devices. The error names the variable.
pub(crate) fn from_environment(devices: usize) -> Result<Option<Arc<Injection>>, String> {
    let rules = match config::fault_rules() {
        None => Vec::new(),
        Some(text) => rules(&text).map_err(|why| format!("SOFTACL_FAULTS: {why}"))?,
    };
    let injection = (!rules.is_empty()).then(|| Arc::new(Injection::new(rules, devices)));
    Ok(INJECTION.get_or_init(|| injection).clone())
}

/// Reads rules, or the file that `@FILE` names.
pub fn rules(text: &str) -> Result<Vec<Rule>, String> {
    let words = Vocabulary { function: known_function, near: suggest_function, code: code_of };
    match text.trim().strip_prefix('@') {
        None => parse(text, words).map_err(|error| error.to_string()),
        Some("") => Err("@ wants the name of a file of rules behind it, such as @bad-day.rules".to_owned()),
        Some(path) => {
            let cannot = |why: String| format!("{path}: {why}");
            let size = fs::metadata(path).map_err(|error| cannot(error.to_string()))?.len();
            if size > MAX_RULE_FILE_BYTES {
                return Err(cannot(format!("{size} bytes are too many for a file of rules")));
            }
            let text = fs::read_to_string(path).map_err(|error| cannot(error.to_string()))?;
            parse(&text, words).map_err(|error| cannot(error.to_string()))
        }
    }
}

/// Whether rules can be about a function; a star at the end stands for any rest.
fn known_function(name: &str) -> Result<(), String> {
    if let Some(start) = name.strip_suffix('*') {
        let fits = FUNCTIONS.iter().any(|function| function.name.starts_with(start));
        return if fits { Ok(()) } else { Err(format!("no function of the interface begins with {start}")) };
    }
    let Some(function) = ascendcl_sys::manifest::function(name) else {
        return Err(match suggest_function(name) {
            Some(near) => format!("there is no function {name}; did you mean {near}?"),
            None => format!("there is no function {name}"),
        });
    };
    if matches!(function.state, Support::Absent(_)) {
        return Err(format!("{name} is not implemented by softacl and always returns 207000"));
    }
    if !function.has_code() {
        return Err(format!("{name} returns no code, so it cannot fail"));
    }
    if !function.uses_machine() {
        return Err(format!("{name} never asks the machine for anything, so no rule meets it"));
    }
    Ok(())
}

/// A function whose name differs by little.
fn suggest_function(name: &str) -> Option<&'static str> {
    closest_match(name, FUNCTIONS.iter().map(|function| function.name))
}

fn code_of(name: &str) -> Option<i32> {
    ascendcl_sys::CODES.iter().find(|(_, known)| *known == name).map(|(code, _)| *code)
}

/// What an argument of a call says, by its name in the prototypes of the doors.
pub(crate) fn record_argument(facts: &mut MatchContext, name: &str, word: ArgValue) {
    match (name, word) {
        ("size" | "count" | "len", ArgValue::Number(size)) => facts.size = Some(size),
        ("device", ArgValue::Number(device)) => facts.device = Some(device),
        ("stream", ArgValue::Pointer(handle)) => {
            facts.stream = softacl_engine::StreamKey::from_raw(handle).map(|key| key.index() as u64);
        }
        _ => {}
    }
}

/// What became of the rules, if there are any.
pub(crate) fn account() -> Vec<String> {
    INJECTION.get().and_then(Option::as_ref).map(|injection| injection.summary()).unwrap_or_default()
}

/// Tells on standard error what became of the rules.
pub(crate) fn print_summary() {
    let lines = account();
    if let Some(injection) = INJECTION.get().and_then(Option::as_ref) {
        let fired: u64 = injection.rules().iter().map(Rule::fired).sum();
        let plural = |n: u64, noun: &str| format!("{n} {noun}{}", if n == 1 { "" } else { "s" });
        let head =
            format!("softacl faults: {}, {} injected", plural(lines.len() as u64, "rule"), plural(fired, "fault"));
        eprintln!("{head}\n  {}", lines.join("\n  "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_says_what_was_meant() {
        let expectations = [
            ("@", "@ wants the name of a file of rules behind it, such as @bad-day.rules"),
            (" @ ", "@ wants the name of a file"),
            ("copi=lost", "; did you mean copy?"),
            ("aclUpdateDataBuffer=100000", "no rule meets it"),
            ("alcrtMalloc=207001", "; did you mean aclrtMalloc?"),
            ("aclrtMallok=207001", "there is no function aclrtMallok; did you mean aclrtMalloc?"),
        ];
        for (text, part) in expectations {
            let why = rules(text).expect_err(text);
            assert!(why.contains(part), "{text}: {why}");
        }
        assert!(!rules("disk=lost").unwrap_err().contains("did you mean"));
    }
}
