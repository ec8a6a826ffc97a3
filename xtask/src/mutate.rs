//! `cargo xtask mutate`: breaks each rule of the checker deliberately, and fails if no case of the zoo notices.
//!
//! The mutations are in `mutations.toml`: an expression of the sources and what it becomes. All of them go into one
//! copy of the sources, each behind a test of a variable, so that one build serves all and the sources themselves know
//! nothing of it. A mutation is noticed if a case of its rule, which passes without it, fails: a buggy program that is
//! not reported, or a fixed one that is.

use crate::parallel::in_parallel;
use crate::{workspace, zoo};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Selects a mutation in the copy: its number.
const VARIABLE: &str = "XTASK_MUTATION";

/// Files of the workspace: those of git, and new ones.
const LIST: [&str; 5] = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];

/// What is added to every crate of the copy that has a mutation.
const SWITCH: &str = r#"
pub(crate) mod mutation {
    pub(crate) fn is_on(number: usize) -> bool {
        static CHOSEN: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
        let chosen = || std::env::var("XTASK_MUTATION").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
        *CHOSEN.get_or_init(chosen) == number
    }
}
"#;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    mutation: Vec<Mutation>,
}

/// A way to break a rule.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mutation {
    /// Id of the finding whose cases must notice.
    rule: String,
    /// What is wrong then.
    breaks: String,
    /// True if no case notices it yet.
    #[serde(default)]
    is_gap: bool,
    /// Path in the workspace.
    file: PathBuf,
    /// An expression that occurs once in the file.
    search: String,
    /// The expression in its place.
    replace: String,
}

/// Runs the mutations of the rules that contain `filter`.
///
/// # Errors
///
/// Fails if a rule has no mutation, if a case fails without one, or if no case notices one that is no known gap.
pub fn run(filter: Option<&str>) -> Result<()> {
    let started = Instant::now();
    let mutations = read()?;
    let directory = workspace::target().join("mutate");
    let source = directory.join("source");
    copy_sources(&source, &mutations)?;
    let library = build(&source, &directory.join("build"))?;
    let built = started.elapsed();
    let paths = zoo::prepare_with(library, directory.join("zoo"))?;

    let is_selected = |mutation: &Mutation| filter.is_none_or(|filter| mutation.rule.contains(filter));
    let selected: Vec<(usize, &Mutation)> =
        mutations.iter().enumerate().filter(|(_, mutation)| is_selected(mutation)).collect();
    let rules: Vec<&str> =
        selected.iter().map(|(_, mutation)| mutation.rule.as_str()).collect::<BTreeSet<_>>().into_iter().collect();
    ensure!(!rules.is_empty(), "no rule matches");
    for (rule, failures) in rules.iter().zip(in_parallel(&rules, |rule| paths.failures(rule, None))) {
        let failures = failures?;
        ensure!(failures.is_empty(), "cases of {rule} fail without a mutation: {}", failures.join("; "));
    }
    let results = in_parallel(&selected, |(index, mutation)| {
        paths.failures(&mutation.rule, Some((VARIABLE, &(index + 1).to_string())))
    });
    let (mut unnoticed, mut gaps) = (0, 0);
    for ((_, mutation), failures) in selected.iter().zip(results) {
        match failures?.first() {
            Some(first) => println!("{:3} noticed: {} ({first})", mutation.rule, mutation.breaks),
            None if mutation.is_gap => {
                gaps += 1;
                println!("{:3} known gap: {}, in {}", mutation.rule, mutation.breaks, mutation.file.display());
            }
            None => {
                unnoticed += 1;
                println!("{:3} NOT NOTICED: {}, in {}", mutation.rule, mutation.breaks, mutation.file.display());
            }
        }
    }
    println!(
        "mutate: {} rules, {} mutations, {gaps} known gaps, {unnoticed} others not noticed; build {:.0} s, runs {:.0} s",
        rules.len(),
        selected.len(),
        built.as_secs_f64(),
        (started.elapsed() - built).as_secs_f64(),
    );
    ensure!(unnoticed == 0, "{unnoticed} mutations are not noticed");
    Ok(())
}

/// Reads the list. Every rule must have a mutation.
fn read() -> Result<Vec<Mutation>> {
    let path = workspace::root().join("xtask/mutations.toml");
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let list: List = toml::from_str(&text).with_context(|| format!("parsing {}", path.display()))?;
    for rule in zoo::FINDINGS {
        let breaks = |mutation: &Mutation| mutation.rule == rule && !mutation.is_gap;
        ensure!(list.mutation.iter().any(breaks), "no mutation breaks {rule}");
    }
    Ok(list.mutation)
}

/// Copies the tracked files, with the mutations. Leaves equal files alone, so that they are not built again.
fn copy_sources(to: &Path, mutations: &[Mutation]) -> Result<()> {
    let root = workspace::root();
    let mut by_file: BTreeMap<&Path, Vec<(usize, &Mutation)>> = BTreeMap::new();
    for (index, mutation) in mutations.iter().enumerate() {
        by_file.entry(&mutation.file).or_default().push((index + 1, mutation));
    }
    // crates/NAME/src/...: the switch is part of the root module of the crate.
    let crates: BTreeSet<PathBuf> =
        by_file.keys().map(|file| file.iter().take(3).collect::<PathBuf>().join("lib.rs")).collect();
    let listed = Command::new("git").current_dir(&root).args(LIST).output().context("starting git")?;
    ensure!(listed.status.success(), "git ls-files failed");
    for name in String::from_utf8(listed.stdout)?.split_terminator('\0') {
        let name = Path::new(name);
        let path = root.join(name);
        if !path.is_file() {
            continue; // deleted, and not committed yet
        }
        let mut bytes = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
        if let Some(list) = by_file.get(name) {
            bytes = mutated(&String::from_utf8(bytes)?, list).with_context(|| name.display().to_string())?.into_bytes();
        }
        if crates.contains(name) {
            bytes.extend(SWITCH.as_bytes());
        }
        let target = to.join(name);
        if fs::read(&target).ok().as_ref() != Some(&bytes) {
            fs::create_dir_all(target.parent().context("a file has no directory")?)?;
            fs::write(&target, bytes).with_context(|| format!("writing {}", target.display()))?;
        }
    }
    Ok(())
}

/// The text of a file with all its mutations, each behind its number.
fn mutated(text: &str, list: &[(usize, &Mutation)]) -> Result<String> {
    let mut places = Vec::new();
    for (number, mutation) in list {
        let mut found = text.match_indices(&mutation.search);
        let (Some((start, _)), None) = (found.next(), found.next()) else {
            anyhow::bail!("{:?} does not occur exactly once", mutation.search);
        };
        places.push((start, *number, *mutation));
    }
    places.sort_by_key(|(start, ..)| *start);
    let (mut result, mut end) = (String::new(), 0);
    for (start, number, Mutation { search, replace, .. }) in places {
        ensure!(start >= end, "{search:?} is part of another mutation");
        result += &text[end..start];
        result += &format!("(if crate::mutation::is_on({number}) {{ {replace} }} else {{ {search} }})");
        end = start + search.len();
    }
    Ok(result + &text[end..])
}

/// Builds the copy, quickly rather than well. Returns the directory of the library and the command line.
fn build(source: &Path, target: &Path) -> Result<PathBuf> {
    let mut cargo = workspace::cargo();
    cargo.current_dir(source).env("CARGO_TARGET_DIR", target).env("RUSTFLAGS", "-Awarnings");
    cargo.env("CARGO_PROFILE_RELEASE_LTO", "off").env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1");
    // What the cases run with, and what they link.
    let packages = ["softacl", "ascendcl-capi", "softacl-opapi", "softacl-hccl"].map(|name| ["--package", name]);
    cargo.args(["build", "--release", "--locked"]).args(packages.as_flattened());
    workspace::run(&mut cargo)?;
    let directory = target.join("release");
    workspace::name_library(&directory)?;
    Ok(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutation(search: &str, replace: &str) -> Mutation {
        let text = |text: &str| text.to_owned();
        Mutation {
            rule: text("H1"),
            breaks: String::new(),
            is_gap: false,
            file: PathBuf::new(),
            search: text(search),
            replace: text(replace),
        }
    }

    #[test]
    fn mutations_of_a_file_are_applied_together() {
        let (one, two) = (mutation("a < b", "false"), mutation("c()", "()"));
        let text = mutated("if a < b { c(); }", &[(7, &two), (3, &one)]).unwrap();
        assert_eq!(
            text,
            "if (if crate::mutation::is_on(3) { false } else { a < b }) { (if crate::mutation::is_on(7) { () } else { c() }); }"
        );
        assert!(mutated("a a", &[(1, &mutation("a", "b"))]).is_err(), "ambiguous");
        assert!(mutated("abc", &[(1, &mutation("ab", "x")), (2, &mutation("bc", "y"))]).is_err(), "overlapping");
    }

    #[test]
    fn every_rule_has_a_mutation_that_fits_the_sources() {
        for mutation in read().unwrap() {
            let text = fs::read_to_string(workspace::root().join(&mutation.file)).unwrap();
            mutated(&text, &[(1, &mutation)]).unwrap_or_else(|error| panic!("{}: {error}", mutation.rule));
        }
    }
}
