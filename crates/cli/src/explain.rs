//! `softacl explain`: what an error code or a finding of the checker means.

use crate::output;
use anyhow::{Result, bail};
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use softacl_checker::report::finding_kind::{self, FindingKind, RULES};

/// The pages of docs/findings, by id.
const PAGES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// Say what an error code or a finding of `softacl check` means, what causes it and what to do.
#[derive(Args)]
#[command(after_help = findings(), after_long_help = findings())]
pub struct Arguments {
    /// A code such as 107003, its name such as ACL_ERROR_RT_STREAM_CONTEXT, or a finding such as H1; without one, all
    /// of them are listed
    code: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Deserialize, Serialize)]
struct Code {
    value: i32,
    name: String,
    meaning: String,
    causes: Vec<String>,
    checks: Vec<String>,
    returned_by: Vec<String>,
}

#[derive(Deserialize)]
struct Codes {
    code: Vec<Code>,
}

fn codes() -> Vec<Code> {
    let codes: Codes = toml::from_str(include_str!("../data/codes.toml")).expect("codes.toml is valid");
    codes.code
}

fn findings() -> String {
    let lines: Vec<String> = RULES.iter().map(|rule| format!("  {}  {}", rule.id, rule.title)).collect();
    format!("Findings of softacl check:\n{}", lines.join("\n"))
}

/// The page of a finding; without one, the built-in help text.
fn page(kind: &FindingKind) -> String {
    let written = PAGES.iter().find(|(id, _)| *id == kind.id).map(|(_, text)| text.trim_end().to_owned());
    written.unwrap_or_else(|| format!("# {}: {}\n\n{}", kind.id, kind.title, kind.help))
}

pub fn main(arguments: &Arguments) -> Result<()> {
    let Some(wanted) = arguments.code.as_deref().map(str::trim) else { return list(arguments.json) };
    if let Some(kind) = finding_kind::rule(wanted) {
        let text = if arguments.json {
            let text = json!({ "id": kind.id, "title": kind.title, "help": kind.help, "page": page(kind) });
            serde_json::to_string_pretty(&text)?
        } else {
            page(kind)
        };
        return output::print(text + "\n");
    }
    let codes = codes();
    let found = match wanted.parse::<i32>() {
        Ok(value) => codes.iter().find(|code| code.value == value),
        Err(_) => codes.iter().find(|code| code.name.eq_ignore_ascii_case(wanted)),
    };
    let Some(code) = found else { bail!("{}", unknown(wanted, &codes)) };
    if arguments.json {
        return output::print(serde_json::to_string_pretty(code)? + "\n");
    }
    let mut text = format!("{} {}\n\n{}\n\n", code.value, code.name, code.meaning);
    text += &section("Likely causes", &code.causes);
    text += &section("What to check", &code.checks);
    text += &section("Returned by", &code.returned_by);
    output::print(text)
}

/// Everything that can be explained.
fn list(json: bool) -> Result<()> {
    let codes = codes();
    if json {
        let findings: Vec<_> = RULES.iter().map(|rule| json!({ "id": rule.id, "title": rule.title })).collect();
        let text = json!({ "findings": findings, "codes": codes });
        return output::print(serde_json::to_string_pretty(&text)? + "\n");
    }
    let lines: String = codes.iter().map(|code| format!("  {:>6}  {}\n", code.value, code.name)).collect();
    output::print(format!("{}\n\nCodes of the interface:\n{lines}", findings()))
}

fn section(title: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let lines: String = lines.iter().map(|line| format!("  - {line}\n")).collect();
    format!("{title}:\n{lines}\n")
}

/// Says what is near, so that a mistyped code is found.
fn unknown(wanted: &str, codes: &[Code]) -> String {
    let near: Vec<String> = match wanted.parse::<i64>() {
        Ok(value) => {
            let mut sorted: Vec<&Code> = codes.iter().collect();
            sorted.sort_by_key(|code| (i64::from(code.value) - value).abs());
            sorted.iter().take(3).map(|code| format!("{} {}", code.value, code.name)).collect()
        }
        Err(_) => {
            let wanted = wanted.to_ascii_uppercase();
            codes
                .iter()
                .filter(|code| code.name.contains(&wanted))
                .take(5)
                .map(|code| format!("{} {}", code.value, code.name))
                .collect()
        }
    };
    if near.is_empty() {
        return format!(
            "{wanted:?} is neither a code nor a name of the interface, which has {} of them, nor a finding ({})",
            codes.len(),
            finding_kind::ids()
        );
    }
    format!("{wanted:?} is not a code of the interface; near it: {}", near.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_of_the_interface_is_explained() {
        let codes = codes();
        for (value, name) in ascendcl_sys::CODES {
            let code = codes.iter().find(|code| code.value == *value).unwrap_or_else(|| panic!("{value} {name}"));
            assert_eq!(code.name, *name);
            assert!(!code.meaning.is_empty() && !code.causes.is_empty() && !code.checks.is_empty(), "{name}");
        }
        assert_eq!(codes.len(), ascendcl_sys::CODES.len() + 1);
    }

    #[test]
    fn every_code_of_the_engine_has_a_name_and_a_page() {
        let codes = codes();
        for value in softacl_errors::RETURNED_CODES {
            let name = ascendcl_sys::code_name(*value).unwrap_or_else(|| panic!("{value} has no name"));
            assert!(codes.iter().any(|code| code.value == *value && code.name == name), "{value} {name} has no page");
        }
    }

    #[test]
    fn only_functions_that_exist_are_named() {
        for code in codes() {
            for function in code.returned_by {
                assert!(ascendcl_sys::manifest::function(&function).is_some(), "{}: {function}", code.value);
            }
        }
    }

    #[test]
    fn where_there_are_pages_every_finding_has_one() {
        for rule in RULES {
            let written = PAGES.iter().any(|(id, _)| *id == rule.id);
            assert!(written || PAGES.is_empty(), "docs/findings/{}.md is missing", rule.id);
            assert!(page(rule).contains(rule.id), "{}", rule.id);
        }
    }

    #[test]
    fn a_mistyped_code_finds_its_neighbours() {
        assert!(unknown("107004444", &codes()).contains("near it"));
        assert!(unknown("STREAM_CONTEXT", &codes()).contains("107003"));
    }
}
