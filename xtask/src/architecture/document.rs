//! Generated parts of ARCHITECTURE.md, and docs/architecture.svg.
//!
//! A part is the text between `<!-- architecture:NAME -->` and `<!-- /architecture:NAME -->`. NAME is `crates` (the
//! ranks), `unsafe` (the files with `unsafe` code), or the directory of a crate, for example `engine` (its layers).

use super::crates::Crate;
use super::ranks::{Rank, rank};
use super::report::{layers, wrap};
use super::svg;
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const DOCUMENT: &str = "ARCHITECTURE.md";
const DRAWING: &str = "docs/architecture.svg";
/// Maximum number of functions of a file that are listed by name.
const MAX_NAMES: usize = 8;

/// Updates the generated parts of ARCHITECTURE.md and writes docs/architecture.svg.
pub fn write(root: &Path, crates: &[Crate]) -> Result<()> {
    let path = root.join(DOCUMENT);
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let (updated, parts) = regenerate(&text, crates)?;
    fs::write(&path, updated).with_context(|| format!("writing {}", path.display()))?;
    println!("updated {parts} parts of {DOCUMENT}");
    fs::write(root.join(DRAWING), svg::draw(crates)).with_context(|| format!("writing {DRAWING}"))?;
    println!("wrote {DRAWING}");
    Ok(())
}

/// Fails if a generated part of ARCHITECTURE.md, or docs/architecture.svg if it exists, is out of date.
pub fn check(root: &Path, crates: &[Crate]) -> Result<()> {
    let path = root.join(DOCUMENT);
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let (updated, _) = regenerate(&text, crates)?;
    if let Some((line, (found, expected))) =
        (1..).zip(text.lines().zip(updated.lines())).find(|(_, (found, expected))| found != expected)
    {
        bail!(
            "{DOCUMENT}:{line} is out of date: run `cargo xtask architecture --write`\n  found:    {found}\n  \
             expected: {expected}"
        );
    }
    ensure!(text == updated, "{DOCUMENT} is out of date: run `cargo xtask architecture --write`");
    let drawing = root.join(DRAWING);
    if drawing.exists() {
        let text = fs::read_to_string(&drawing).with_context(|| format!("reading {}", drawing.display()))?;
        ensure!(text == svg::draw(crates), "{DRAWING} is out of date: run `cargo xtask architecture --write`");
    }
    Ok(())
}

/// Replaces the generated parts of a document. Returns the new text and the number of parts.
pub fn regenerate(text: &str, crates: &[Crate]) -> Result<(String, usize)> {
    let (mut updated, mut parts) = (String::new(), 0);
    let mut lines = (1..).zip(text.lines());
    while let Some((number, line)) = lines.next() {
        updated.push_str(line);
        updated.push('\n');
        let Some(name) = marker(line, "<!-- architecture:") else { continue };
        let end = format!("<!-- /architecture:{name} -->");
        ensure!(lines.any(|(_, line)| line.trim() == end), "{DOCUMENT}:{number}: the marker {end} is missing");
        let part = part(name, crates).with_context(|| format!("{DOCUMENT}:{number}"))?;
        updated.push_str(&format!("{part}{end}\n"));
        parts += 1;
    }
    Ok((updated, parts))
}

fn marker<'t>(line: &'t str, start: &str) -> Option<&'t str> {
    line.trim().strip_prefix(start)?.strip_suffix("-->").map(str::trim)
}

fn part(name: &str, crates: &[Crate]) -> Result<String> {
    match name {
        "crates" => Ok(fenced(&crate_table(crates))),
        "unsafe" => Ok(unsafe_lists(crates)),
        name => {
            let found = crates.iter().find(|c| c.package.short_name() == name);
            let found =
                found.with_context(|| format!("{name:?} is neither crates, unsafe nor the directory of a crate"))?;
            let drawings: Vec<String> = found.graphs.iter().map(layers).collect();
            Ok(fenced(&drawings.join("\n")))
        }
    }
}

fn fenced(text: &str) -> String {
    format!("```text\n{text}```\n")
}

/// One row per crate, with the topmost rank first: rank, crate, dependencies in the workspace.
fn crate_table(crates: &[Crate]) -> String {
    let mut rows: BTreeMap<(Rank, &str), String> = BTreeMap::new();
    for Crate { package, .. } in crates {
        let own = rank(&package.name).unwrap_or(Rank::Development);
        let label = match own {
            Rank::Product(rank) => rank.to_string(),
            Rank::Development => "dev".to_owned(),
        };
        let dependencies: Vec<&str> = package
            .dependencies
            .iter()
            .filter(|dependency| !dependency.is_dev)
            .map(|dependency| dependency.name.as_str())
            .collect();
        let indent = " ".repeat(25);
        let list = if dependencies.is_empty() { "-\n".to_owned() } else { wrap(&dependencies, &indent, " ") };
        let row = format!("{label:>4}  {:<17}  {}", package.name, list.trim_start());
        rows.insert((own, &package.name), row);
    }
    let mut text = format!("{:>4}  {:<17}  depends on\n", "rank", "crate");
    let (product, development): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|((rank, _), _)| matches!(rank, Rank::Product(_)));
    // Rows of equal rank keep their order.
    let mut product = product;
    product.sort_by_key(|((rank, _), _)| std::cmp::Reverse(*rank));
    text.extend(development.into_iter().chain(product).map(|(_, row)| row));
    text
}

/// The files with `unsafe` code, and the functions that state an obligation.
fn unsafe_lists(crates: &[Crate]) -> String {
    let mut text = String::from("Files with `unsafe` code (tests excluded):\n\n");
    let mut obligations = String::from("\n`unsafe` functions with a `# Safety` section:\n\n");
    for Crate { package, unsafe_files, .. } in crates.iter().filter(|c| !c.unsafe_files.is_empty()) {
        let name = |file: &Path| {
            let short = file.strip_prefix(package.directory().join("src")).unwrap_or(file);
            format!("`{}`", short.display())
        };
        let files: Vec<String> = unsafe_files.iter().map(|file| name(&file.file)).collect();
        text.push_str(&item(&package.short_name(), &files));
        let stated: Vec<String> = unsafe_files
            .iter()
            .filter(|file| !file.obligations.is_empty())
            .map(|file| match file.obligations.len() {
                0..=MAX_NAMES => format!("{} ({})", name(&file.file), file.obligations.join(", ")),
                count => format!("{} ({count} functions)", name(&file.file)),
            })
            .collect();
        if !stated.is_empty() {
            obligations.push_str(&item(&package.short_name(), &stated));
        }
    }
    text + &obligations
}

/// A list item of a crate, wrapped.
fn item(name: &str, words: &[String]) -> String {
    format!("- **{name}**:\n{}", wrap(words, "  ", ", "))
}
