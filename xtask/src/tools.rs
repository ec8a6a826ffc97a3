//! What `cargo xtask test` needs from the host, checked before anything is built, with one line for each. Nothing is
//! installed without a line that says so.

use crate::{browser, python, workspace};
use anyhow::{Result, ensure};
use std::process::Command;

/// A program, what needs it, and how to get it.
struct Tool {
    command: &'static [&'static str],
    purpose: &'static str,
    remedy: Remedy,
}

enum Remedy {
    /// A component of the toolchain, which rustup installs.
    Component(&'static str),
    /// A package of Debian and Ubuntu, which the contributor installs.
    Package(&'static str),
}

const TOOLS: [Tool; 7] = [
    Tool { command: &["cargo", "fmt", "--version"], purpose: "format", remedy: Remedy::Component("rustfmt") },
    Tool { command: &["cargo", "clippy", "--version"], purpose: "lints", remedy: Remedy::Component("clippy") },
    Tool { command: &["gcc", "--version"], purpose: "C programs", remedy: Remedy::Package("gcc") },
    Tool { command: &["g++", "--version"], purpose: "C++ programs", remedy: Remedy::Package("g++") },
    Tool { command: &["make", "--version"], purpose: "the examples in C", remedy: Remedy::Package("make") },
    Tool { command: &["git", "--version"], purpose: "lists of files", remedy: Remedy::Package("git") },
    Tool {
        command: &["python3", "-c", "import ensurepip, sys, venv; print('Python', sys.version.split()[0])"],
        purpose: "the Python tests, in a virtual environment",
        remedy: Remedy::Package("python3-venv"),
    },
];

/// Prints what was found. Installs missing components of the toolchain; fails if a program is missing.
pub fn check() -> Result<()> {
    let mut missing = Vec::new();
    for tool in &TOOLS {
        let name = tool.command[..tool.command.len() - 1].join(" ");
        let mut found = version(tool.command);
        if let (None, Remedy::Component(component)) = (&found, &tool.remedy) {
            println!("{name} is missing; installing it: rustup component add {component}");
            workspace::run(Command::new("rustup").args(["component", "add", component]))?;
            found = version(tool.command);
        }
        match (found, &tool.remedy) {
            (Some(version), _) => println!("  {version:<56} for {}", tool.purpose),
            (None, Remedy::Component(name) | Remedy::Package(name)) => missing.push(*name),
        }
    }
    ensure!(missing.is_empty(), "missing programs; on Debian and Ubuntu: apt-get install {}", missing.join(" "));
    let browser = match browser::find() {
        Some(path) => path.display().to_string(),
        None => "no browser: as root, that step installs chromium with apt-get; otherwise it is skipped".to_owned(),
    };
    println!("  {browser:<56} for the pages");
    let skipped = || "no clang++ (apt-get install clang): SKIPPED, only g++".to_owned();
    let clang = version(&["clang++", "--version"]).unwrap_or_else(skipped);
    println!("  {clang:<56} for the C++ forms");
    let others = python::versions();
    println!("  {:<56} for the examples in Python", format!("CPython {}", others.join(", ")));
    Ok(())
}

/// Returns the first line that a command prints, if it succeeds.
pub fn version(command: &[&str]) -> Option<String> {
    let output = Command::new(command[0]).args(&command[1..]).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let first: String = text.lines().next()?.chars().take(56).collect();
    output.status.success().then_some(first)
}
