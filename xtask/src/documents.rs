//! `cargo xtask documents`: every link between the documents leads somewhere, every command of the tutorial prints what
//! the tutorial says, translations show the same commands, and the picture of the README is that of the tutorial.

mod console;
mod links;
mod picture;

use crate::{examples, files, install, workspace};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const TUTORIAL: &str = "docs/tutorial.md";
const PROGRAMS: &str = "examples/tutorial";
const PICTURE: &str = "docs/check.svg";
/// A document and its translation: both have the same commands and programs.
const TRANSLATIONS: [(&str, &str); 1] = [(TUTORIAL, "docs/tutorial.zh-CN.md")];

/// Checks the documents, without running anything: the step `documents` of `cargo xtask test`.
pub fn check() -> Result<()> {
    println!("{} links between documents lead somewhere", links::check(&tracked()?)?);
    let tutorial = read(TUTORIAL)?;
    for (name, text) in console::quoted_files(&tutorial) {
        ensure!(read(&name)? == text, "{TUTORIAL} quotes another {name} than that in the repository");
    }
    for (original, translation) in TRANSLATIONS {
        let blocks = |path: &str| -> Result<Vec<String>> { Ok(console::blocks(&read(path)?)) };
        let (left, right) = (blocks(original)?, blocks(translation)?);
        let differing = left.iter().zip(&right).find(|(left, right)| left != right);
        ensure!(
            left.len() == right.len() && differing.is_none(),
            "{original} and {translation} show different commands or programs: {} and {} blocks; {differing:?}",
            left.len(),
            right.len()
        );
    }
    ensure!(
        read(PICTURE)? == picture::of(&console::pictured(&tutorial)?),
        "{PICTURE} is out of date: run `cargo xtask documents --write`"
    );
    Ok(())
}

/// Writes the picture again.
pub fn write() -> Result<()> {
    let picture = picture::of(&console::pictured(&read(TUTORIAL)?)?);
    install::write(&workspace::root().join(PICTURE), &picture)?;
    println!("wrote {PICTURE}");
    Ok(())
}

/// Runs every command of the tutorial in an installation and compares what it prints.
pub fn run_tutorial() -> Result<()> {
    let prefix = examples::prefix();
    install::install(&prefix)?;
    let directory = workspace::target().join("tutorial");
    files::copy_tree(&workspace::root().join(PROGRAMS), &directory)?;
    let commands = console::commands(&read(TUTORIAL)?);
    ensure!(commands.len() >= 7, "{TUTORIAL} has only {} commands", commands.len());
    for command in &commands {
        // The interpreter is `python` in a virtual environment, and `python3` elsewhere.
        let line = command.line.replace("-- python ", "-- python3 ");
        let script = format!("source {}/set_env.sh && {{ {line}; }} 2>&1", prefix.display());
        let done =
            Command::new("bash").args(["-c", &script]).current_dir(&directory).output().context("starting bash")?;
        let text = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
        command.check(&text).with_context(|| format!("{TUTORIAL}: {}", command.line))?;
    }
    println!("{} commands of the tutorial print what it says", commands.len());
    Ok(())
}

/// Returns the Markdown files of the repository.
fn tracked() -> Result<Vec<PathBuf>> {
    let mut command = Command::new("git");
    command.args(["ls-files", "--cached", "--others", "--exclude-standard", "*.md"]).current_dir(workspace::root());
    let done = command.output().context("starting git")?;
    ensure!(done.status.success(), "git ls-files failed: {}", String::from_utf8_lossy(&done.stderr));
    let names = String::from_utf8(done.stdout)?;
    Ok(names.lines().map(|name| workspace::root().join(name)).filter(|path| path.is_file()).collect())
}

fn read(path: &str) -> Result<String> {
    let path: &Path = &workspace::root().join(path);
    fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
}
