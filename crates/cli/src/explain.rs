//! `softacl explain`: explains an error code or a finding of the checker.

use crate::{markdown, output};
use anyhow::{Result, bail};
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use softacl_checker::report::finding_kind::{self, FindingKind, RULES};
use softacl_profiles::closest_match;
use std::io;
use std::path::{Path, PathBuf};

/// Pages of docs/findings by finding id.
const PAGES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// Explain an error code or a finding: meaning, causes, remedy.
#[derive(Args)]
#[command(after_help = findings(), after_long_help = findings())]
pub struct Arguments {
    /// Error code (107003), its name (ACL_ERROR_RT_STREAM_CONTEXT) or a finding (H1); lists all if omitted
    code: Option<String>,
    /// Write JSON to FILE (`-` for stdout)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
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
    let lines: Vec<String> = RULES.iter().map(|kind| format!("  {}  {}", kind.id, kind.title)).collect();
    format!("Findings of softacl check:\n{}", lines.join("\n"))
}

/// Returns the page of a finding, or the built-in help text if it has none.
fn page(kind: &FindingKind) -> String {
    let written = PAGES.iter().find(|(id, _)| *id == kind.id.to_string()).map(|(_, text)| text.trim_end().to_owned());
    written.unwrap_or_else(|| format!("# {}: {}\n\n{}", kind.id, kind.title, kind.help))
}

pub fn main(arguments: &Arguments) -> Result<()> {
    let Some(wanted) = arguments.code.as_deref().map(str::trim) else { return list(arguments.json.as_deref()) };
    if let Some(kind) = finding_kind::rule(wanted) {
        if let Some(path) = &arguments.json {
            let page = page(kind);
            let text = json!({ "id": kind.id.to_string(), "title": kind.title, "help": kind.help, "page": page });
            return output::write_json(path, &text);
        }
        let text = page(kind) + "\n";
        // Rendered for a person; as it is for a file.
        let text = match output::width(io::stdout()) {
            Some(width) => markdown::render(&text, width.min(100), output::has_color()),
            None if output::has_color() => markdown::render(&text, 100, true),
            None => text,
        };
        return output::print(text);
    }
    let codes = codes();
    let found = match wanted.parse::<i32>() {
        Ok(value) => codes.iter().find(|code| code.value == value),
        Err(_) => codes.iter().find(|code| code.name.eq_ignore_ascii_case(wanted)),
    };
    let Some(code) = found else { bail!("{}", unknown(wanted, &codes)) };
    if let Some(path) = &arguments.json {
        return output::write_json(path, code);
    }
    let mut text = format!("{} {}\n\n{}\n\n", code.value, code.name, code.meaning);
    text += &section("Likely causes", &code.causes);
    text += &section("What to check", &code.checks);
    text += &section("Returned by", &code.returned_by);
    output::print(text)
}

/// Prints all findings and codes.
fn list(json: Option<&Path>) -> Result<()> {
    let codes = codes();
    if let Some(path) = json {
        let findings: Vec<_> =
            RULES.iter().map(|kind| json!({ "id": kind.id.to_string(), "title": kind.title })).collect();
        return output::write_json(path, &json!({ "findings": findings, "codes": codes }));
    }
    let lines: String = codes.iter().map(|code| format!("  {:>6}  {}\n", code.value, code.name)).collect();
    output::print(format!("{}\n\nError codes:\n{lines}", findings()))
}

fn section(title: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let lines: String = lines.iter().map(|line| format!("  - {line}\n")).collect();
    format!("{title}:\n{lines}\n")
}

/// Returns an error message with similar codes, for typing errors.
fn unknown(wanted: &str, codes: &[Code]) -> String {
    let similar: Vec<String> = match wanted.parse::<i64>() {
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
    let near = closest_match(&wanted.to_ascii_uppercase(), codes.iter().map(|code| code.name.as_str()));
    if let (true, Some(near)) = (similar.is_empty(), near) {
        return format!("{wanted:?} is not an error code; did you mean {near}?");
    }
    if similar.is_empty() {
        return format!(
            "{wanted:?} is neither one of the {} error codes or their names nor a finding ({})",
            codes.len(),
            finding_kind::ids()
        );
    }
    format!("{wanted:?} is not an error code; similar: {}", similar.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_code_is_explained() {
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
    fn returned_by_names_only_existing_functions() {
        for code in codes() {
            for function in code.returned_by {
                assert!(ascendcl_sys::manifest::function(&function).is_some(), "{}: {function}", code.value);
            }
        }
    }

    #[test]
    fn every_finding_has_a_page() {
        for kind in RULES {
            let written = PAGES.iter().any(|(id, _)| *id == kind.id.to_string());
            assert!(written || PAGES.is_empty(), "docs/findings/{}.md is missing", kind.id);
            assert!(page(kind).contains(&kind.id.to_string()), "{}", kind.id);
        }
    }

    #[test]
    fn mistyped_code_lists_similar_codes() {
        assert!(unknown("107004444", &codes()).contains("similar: "));
        assert!(unknown("STREAM_CONTEXT", &codes()).contains("107003"));
        assert!(unknown("ACL_EROR_RT_STREAM_CONTEXT", &codes()).contains("did you mean ACL_ERROR_RT_STREAM_CONTEXT?"));
    }
}
