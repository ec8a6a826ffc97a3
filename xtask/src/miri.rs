//! `cargo xtask miri`: runs the tests that Miri supports. Miri supports neither assembly, nor mappings at chosen
//! addresses, nor signals, so it runs neither a whole machine nor the C API; docs/reliability.md lists what it covers.

use crate::workspace;
use anyhow::{Result, ensure};
use std::process::{Command, Stdio};

/// Package, test targets, and test name filters. No filter runs all tests.
const SUITES: [(&str, &[&str], &[&str]); 8] = [
    ("ascendcl", &["--test", "fake"], &[]),
    ("softacl-profiles", &["--lib"], &[]),
    ("softacl-sync", &["--lib"], &[]),
    ("softacl-faults", &["--lib"], &[]),
    ("softacl-memory", &["--lib"], &["bytes::convert", "bytes::reduce", "bytes::rearrange"]),
    ("softacl-engine", &["--lib"], &["executor::budget", "executor::spans", "copy::", "slow_path::"]),
    ("softacl-checker", &["--lib"], &["clock::", "ledger::", "ranges::", "snapshot::"]),
    ("softacl-tracer", &["--lib"], &["append_log::", "summary::"]),
];

/// Library threads live as long as the process, and device addresses are integers.
const FLAGS: &str = "-Zmiri-ignore-leaks -Zmiri-permissive-provenance";

pub fn run() -> Result<()> {
    let mut version = Command::new("cargo");
    version.args(["+nightly", "miri", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    ensure!(
        version.status().is_ok_and(|status| status.success()),
        "Miri is not installed: rustup toolchain install nightly --component miri,rust-src"
    );
    for (package, tests, names) in SUITES {
        println!("miri: {package} {}", names.join(" "));
        let mut command = Command::new("cargo");
        command.args(["+nightly", "miri", "test", "--quiet", "-p", package]).args(tests).arg("--").args(names);
        // Nightly builds need a separate target directory.
        command.env_remove("RUSTUP_TOOLCHAIN").env("MIRIFLAGS", FLAGS);
        command.env("CARGO_TARGET_DIR", workspace::target().join("miri-tests"));
        workspace::run(&mut command)?;
    }
    Ok(())
}
