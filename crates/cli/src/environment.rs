//! `softacl env`: lists the environment variables that softacl reads.

use crate::output;
use anyhow::Result;
use clap::Args;
use serde_json::json;
use std::env;
use std::fmt::Write as _;
use std::path::PathBuf;

/// List the environment variables that softacl reads, with current values.
#[derive(Args)]
pub struct Arguments {
    /// Write JSON to FILE (`-` for stdout)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub fn main(arguments: &Arguments) -> Result<()> {
    let current = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    if let Some(path) = &arguments.json {
        let all: Vec<_> = ascendcl_capi::VARIABLES
            .iter()
            .map(|v| json!({ "name": v.name, "value": current(v.name), "default": v.default, "meaning": v.meaning }))
            .collect();
        return output::write_json(path, &all);
    }
    let mut text = String::new();
    for variable in ascendcl_capi::VARIABLES {
        let value = match current(variable.name) {
            Some(value) => format!("{value} (set)"),
            None if variable.default.is_empty() => "not set".to_owned(),
            None => format!("{} (default)", variable.default),
        };
        writeln!(text, "{} = {value}\n    {}", variable.name, variable.meaning)?;
    }
    output::print(text)
}
