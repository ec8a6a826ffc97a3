//! Conformance programs: source files and their directives.

use super::directives::{self, Directives};
use crate::files::{entries, last_part};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// A source file and its directives.
#[derive(Debug)]
pub struct Program {
    pub topic: String,
    pub name: String,
    pub source: PathBuf,
    pub directives: Directives,
}

impl Program {
    /// Returns `topic/name`.
    pub fn label(&self) -> String {
        format!("{}/{}", self.topic, self.name)
    }
}

/// Returns the programs in `source_dir`, sorted by topic and name.
pub fn collect(source_dir: &Path, filter: Option<&str>) -> Result<Vec<Program>> {
    let mut programs = Vec::new();
    for topic in entries(source_dir)? {
        if !topic.is_dir() {
            continue;
        }
        for source in entries(&topic)? {
            let Some("c" | "cpp") = source.extension().and_then(|e| e.to_str()) else {
                continue;
            };
            let text = fs::read_to_string(&source).with_context(|| format!("reading {}", source.display()))?;
            let directives = directives::parse(&text).with_context(|| format!("directives of {}", source.display()))?;
            let program = Program { topic: last_part(&topic), name: stem(&source), source, directives };
            if filter.is_none_or(|f| program.label().contains(f)) {
                programs.push(program);
            }
        }
    }
    Ok(programs)
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
