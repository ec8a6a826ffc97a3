//! `cargo xtask architecture`: computes the graphs of crates and modules from the sources, fails on a cycle, and
//! generates the parts of ARCHITECTURE.md that describe them.
//!
//! A module is a source file. Module A depends on module B if A names an item that B defines; re-exports are
//! followed to the definition. A crate depends on another by its manifest, and may depend only on crates
//! of a lower rank. Tests are not part of the graphs.

mod cfg;
mod crates;
mod document;
mod graph;
mod metadata;
mod names;
mod ranks;
mod report;
mod sources;
mod svg;
#[cfg(test)]
mod tests;
mod tokens;
mod unsafety;

use crate::workspace;
use anyhow::{Context, Result, ensure};
use crates::{Crate, analyze};
use metadata::Package;
use std::fs;
use std::path::Path;

/// Selects the output.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// File for the graphs as JSON; `-` is stdout.
    pub json: Option<&'a Path>,
    /// Update the generated parts of ARCHITECTURE.md, and docs/architecture.svg.
    pub write: bool,
    /// Fail if the generated parts are out of date.
    pub check: bool,
}

/// Runs the command.
///
/// # Errors
///
/// Fails if a module graph has a cycle, if a crate depends on one that is not below it, or if `check` is set and a
/// generated part is out of date.
pub fn run(options: &Options<'_>) -> Result<()> {
    let root = workspace::root();
    let crates = analyze(&root)?;
    match options.json {
        Some(file) if file == Path::new("-") => println!("{}", report::json(&crates)?),
        Some(file) => {
            fs::write(file, report::json(&crates)?).with_context(|| format!("writing {}", file.display()))?;
        }
        None => print!("{}", report::text(&crates)),
    }
    if options.write {
        document::write(&root, &crates)?;
    }
    if options.check {
        document::check(&root, &crates)?;
    }
    check_graphs(&crates)
}

/// Step of `cargo xtask test`: checks the graphs and the generated parts, and prints one line.
pub fn test() -> Result<()> {
    let root = workspace::root();
    let crates = analyze(&root)?;
    check_graphs(&crates)?;
    document::check(&root, &crates)?;
    let modules: usize = crates.iter().flat_map(|c| &c.graphs).map(|graph| graph.modules.len()).sum();
    println!("architecture: {} crates, {modules} modules, no cycle", crates.len());
    Ok(())
}

/// Prints every cycle and every dependency that does not point to a lower rank. Fails if there is one.
fn check_graphs(crates: &[Crate]) -> Result<()> {
    let packages: Vec<&Package> = crates.iter().map(|c| &c.package).collect();
    let violations = ranks::violations(&packages);
    for violation in &violations {
        eprintln!("{violation}");
    }
    let mut cyclic = Vec::new();
    for (package, graph) in crates.iter().flat_map(|c| c.graphs.iter().map(move |graph| (&c.package, graph))) {
        let text = report::cycles(package, graph);
        if !text.is_empty() {
            eprint!("{text}");
            cyclic.push(package.name.as_str());
        }
    }
    cyclic.dedup();
    ensure!(
        violations.is_empty() && cyclic.is_empty(),
        "{} violations of the crate ranks; crates with cycles of modules: {}",
        violations.len(),
        if cyclic.is_empty() { "none".to_owned() } else { cyclic.join(", ") }
    );
    Ok(())
}
