//! `softacl env`: every variable that softacl reads.

use crate::output;
use anyhow::Result;
use clap::Args;
use serde_json::json;
use std::env;
use std::fmt::Write as _;

/// List every environment variable that softacl reads, its value now and its meaning.
#[derive(Args)]
pub struct Arguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn main(arguments: &Arguments) -> Result<()> {
    let now = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    if arguments.json {
        let all: Vec<_> = ascendcl_capi::VARIABLES
            .iter()
            .map(|v| json!({ "name": v.name, "value": now(v.name), "default": v.default, "meaning": v.meaning }))
            .collect();
        return output::print(serde_json::to_string_pretty(&all)? + "\n");
    }
    let mut text = String::new();
    for variable in ascendcl_capi::VARIABLES {
        let value = match now(variable.name) {
            Some(value) => format!("{value} (set)"),
            None if variable.default.is_empty() => "not set".to_owned(),
            None => format!("{} (default)", variable.default),
        };
        writeln!(text, "{} = {value}\n    {}", variable.name, variable.meaning)?;
    }
    output::print(text)
}
