//! `cargo xtask vocabulary`: searches the tracked files for retired words.
//!
//! `xtask/data/retired-words.txt` lists the words with their replacements and describes the patterns. The search knows
//! words and identifiers, not syntax: a word is retired in code, comments, messages and documents alike.

mod rules;
mod text;

use crate::workspace;
use anyhow::{Context, Result, ensure};
use rules::Rules;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

const RULES: &str = include_str!("../data/retired-words.txt");

/// Extensions of the files that are searched.
const EXTENSIONS: [&str; 18] = [
    "c", "cpp", "css", "h", "html", "js", "json", "md", "py", "pyi", "rs", "sh", "stderr", "toml", "tsv", "txt",
    "yaml", "yml",
];

/// Searches the tracked files whose path contains `filter` and prints every retired word with its replacement.
///
/// # Errors
///
/// Fails if a retired word is found.
pub fn run(filter: Option<&str>) -> Result<()> {
    let rules = Rules::parse(RULES)?;
    let (mut files, mut hits) = (0, 0);
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut affected = BTreeSet::new();
    for path in tracked_files(&workspace::root())? {
        if !is_searched(&path) || rules.is_skipped(&path) || filter.is_some_and(|filter| !path.contains(filter)) {
            continue;
        }
        // A tracked file may be deleted in the working tree.
        let Ok(bytes) = fs::read(workspace::root().join(&path)) else { continue };
        files += 1;
        for hit in rules.search(&path, &String::from_utf8_lossy(&bytes)) {
            println!("{path}:{}: {} -> {}", hit.line, hit.found, hit.rule.replacement);
            *counts.entry(hit.rule.pattern.clone()).or_default() += 1;
            affected.insert(path.clone());
            hits += 1;
        }
    }
    if hits > 0 {
        let mut counts: Vec<(usize, String)> = counts.into_iter().map(|(pattern, count)| (count, pattern)).collect();
        counts.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let counts: Vec<String> = counts.iter().map(|(count, pattern)| format!("{count} {pattern}")).collect();
        println!("most frequent: {}", counts[..counts.len().min(12)].join(", "));
    }
    println!("vocabulary: {files} files, {} rules, {hits} retired words", rules.len());
    ensure!(hits == 0, "{hits} retired words in {} files; see xtask/data/retired-words.txt", affected.len());
    Ok(())
}

fn is_searched(path: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|extension| EXTENSIONS.iter().any(|searched| extension.eq_ignore_ascii_case(searched)))
}

/// Returns the files that git tracks, relative to `root`.
fn tracked_files(root: &Path) -> Result<Vec<String>> {
    let output = Command::new("git").args(["ls-files", "-z"]).current_dir(root).output().context("starting git")?;
    ensure!(output.status.success(), "git ls-files failed: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).context("a path is not UTF-8")?;
    Ok(text.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
}
