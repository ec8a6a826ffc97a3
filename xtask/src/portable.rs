//! Builds for release: programs and libraries that run on every distribution with glibc 2.28 or newer, whatever the
//! glibc of this host.
//!
//! zig links against the symbol versions of an older glibc, and cargo-zigbuild makes cargo use it. Both come from PyPI,
//! with the tools that examine packages, into a virtual environment below the target directory. For another processor,
//! build on such a host: the stubs inside this program are for the processor that runs it.

use crate::{python, workspace};
use anyhow::{Result, ensure};
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The oldest glibc, as cargo-zigbuild and as Python spell it.
const GLIBC: &str = "2.28";
pub const PLATFORM: &str = "manylinux_2_28";

/// How packages are built for size: levels as in Cargo.toml, of crates that no fast path runs through. `*` are the
/// dependencies; a matrix product is a fast path.
const SMALL: [(&str, &str); 10] = [
    ("*", "\"z\""),
    ("matrixmultiply", "3"),
    ("ascendcl-sys", "\"z\""),
    ("softacl", "\"z\""),
    ("softacl-errors", "\"z\""),
    ("softacl-faults", "\"z\""),
    ("softacl-profiles", "\"z\""),
    ("softacl-queues", "\"z\""),
    ("softacl-toolkit", "\"z\""),
    ("softacl-checker", "\"s\""),
];

/// The products of a portable build.
pub struct Portable {
    pub directory: PathBuf,
    pub arch: &'static str,
}

/// Builds everything that packages contain, without symbols and line tables of softacl's own code.
pub fn build() -> Result<Portable> {
    let arch = env::consts::ARCH;
    let triple = format!("{arch}-unknown-linux-gnu");
    let tools = tools()?;
    let mut command = workspace::cargo();
    command.args(["zigbuild", "--release", "--locked", "--target", &format!("{triple}.{GLIBC}")]);
    // The command uses the library of the package instead of a second engine.
    command.arg("--no-default-features");
    let packages = workspace::PRODUCTS.into_iter().chain([workspace::PYTHON_MODULE]);
    command.args(packages.flat_map(|name| ["--package", name]));
    for (name, level) in SMALL {
        command.args(["--config", &format!("profile.release.package.\"{name}\".opt-level={level}")]);
    }
    command.env("PATH", search_path(&tools)?);
    command.env("CARGO_PROFILE_RELEASE_DEBUG", "0").env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
    workspace::run(&mut command)?;
    let directory = workspace::target().join(&triple).join("release");
    workspace::name_library(&directory)?;
    Ok(Portable { directory, arch })
}

/// Returns the directory with the programs of the release tools, and installs them if necessary.
pub fn tools() -> Result<PathBuf> {
    let environment = workspace::target().join("release-tools");
    let interpreter = environment.join("bin/python");
    if !interpreter.exists() {
        println!("installing zig, cargo-zigbuild, auditwheel and twine from PyPI into {}", environment.display());
        workspace::run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
    }
    let requirements = workspace::root().join("python/release/requirements.txt");
    python::pip(&interpreter, &["--require-hashes", "--requirement", &requirements.display().to_string()])?;
    Ok(environment.join("bin"))
}

/// Runs a release tool and returns what it prints.
pub fn tool(name: &str, arguments: &[&str], file: &Path) -> Result<String> {
    let tools = tools()?;
    let done = Command::new(tools.join(name)).args(arguments).arg(file).env("PATH", search_path(&tools)?).output()?;
    let text = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    ensure!(done.status.success(), "{name} {arguments:?} {} failed:\n{text}", file.display());
    Ok(text)
}

fn search_path(first: &Path) -> Result<std::ffi::OsString> {
    let existing = env::var_os("PATH").unwrap_or_default();
    Ok(env::join_paths([first.to_owned()].into_iter().chain(env::split_paths(&existing)))?)
}
