//! `cargo xtask documents`: every link between the documents leads somewhere, every command of the tutorial, and every
//! one that another document marks, prints what is said there, translations show the same commands, the site lists every
//! document, and the picture of the README is that of the tutorial.

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
/// The first page and its translation, which is shorter: each of its consoles is one of the original.
const README: (&str, &str) = ("README.md", "README.zh-CN.md");
/// Documents with blocks that are marked to be run, in the directory of the tutorial.
const MARKED: [&str; 2] = ["README.md", "docs/faults.md"];
/// Settings of the site, with its navigation.
const SITE: &str = "packaging/site/mkdocs.yml";

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
    check_readme()?;
    check_navigation()?;
    ensure!(
        read(PICTURE)? == picture::of(&console::pictured(&tutorial)?),
        "{PICTURE} is out of date: run `cargo xtask documents --write`"
    );
    Ok(())
}

/// Fails if the translated README shows a command, or what one prints, that the README does not show. Comments of
/// commands are translated.
fn check_readme() -> Result<()> {
    let consoles = |path: &str| -> Result<Vec<String>> { Ok(console::consoles(&read(path)?)) };
    let (original, translated) = (consoles(README.0)?, consoles(README.1)?);
    ensure!(translated.len() >= 2, "{} has only {} consoles", README.1, translated.len());
    for block in translated {
        ensure!(original.contains(&block), "{} shows what {} does not:\n{block}", README.1, README.0);
    }
    Ok(())
}

/// Fails if the navigation of the site lacks a document.
fn check_navigation() -> Result<()> {
    let settings = read(SITE)?;
    let listed: Vec<&str> = settings.lines().filter_map(|line| line.rsplit_once(": ")).map(|(_, page)| page).collect();
    for path in files::entries(&workspace::root().join("docs"))? {
        let name = files::last_part(&path);
        let is_page = path.extension().is_some_and(|extension| extension == "md");
        ensure!(!is_page || listed.contains(&name.as_str()), "{SITE}: docs/{name} is not in the navigation");
    }
    Ok(())
}

/// Writes the picture again.
pub fn write() -> Result<()> {
    let picture = picture::of(&console::pictured(&read(TUTORIAL)?)?);
    files::write(&workspace::root().join(PICTURE), &picture)?;
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
    run_commands(TUTORIAL, &commands, &prefix, &directory)?;
    for document in MARKED {
        let commands = console::marked_commands(&read(document)?);
        ensure!(!commands.is_empty(), "{document} has no block that is marked to be run");
        run_commands(document, &commands, &prefix, &directory)?;
    }
    Ok(())
}

/// Runs commands and compares what they print.
fn run_commands(document: &str, commands: &[console::Step], prefix: &Path, directory: &Path) -> Result<()> {
    for command in commands {
        // The interpreter is `python` in a virtual environment, and `python3` elsewhere.
        let line = command.line.replace("-- python ", "-- python3 ");
        let script = format!("source {}/set_env.sh && {{ {line}; }} 2>&1", prefix.display());
        let done =
            Command::new("bash").args(["-c", &script]).current_dir(directory).output().context("starting bash")?;
        let text = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
        command.check(&text).with_context(|| format!("{document}: {}", command.line))?;
    }
    println!("{} commands of {document} print what it says", commands.len());
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
