//! `cargo xtask miri`: what Miri can run of the tests. It knows no assembly, no mappings at chosen addresses and no signals,
//! so it sees neither a whole machine nor the C interface; docs/reliability.md says what is left.

use crate::workspace;
use anyhow::{Result, ensure};
use std::process::{Command, Stdio};

/// Packages, their tests, and the names of those that it can run; none for all.
const PARTS: [(&str, &[&str], &[&str]); 5] = [
    ("ascendcl", &["--test", "fake"], &[]),
    ("softacl-profiles", &["--lib"], &[]),
    (
        "softacl-engine",
        &["--lib"],
        &[
            "handle::",
            "stream::",
            "injection::",
            "executor::budget",
            "executor::spans",
            "copy::",
            "bytes::convert",
            "bytes::reduce",
            "bytes::rearrange",
        ],
    ),
    ("softacl-checker", &["--lib"], &["clock::", "ledger::", "ranges::", "snapshot::"]),
    ("softacl-tracer", &["--lib"], &["append_log::", "summary::"]),
];

/// Threads of the libraries live as long as the process, and addresses of devices are numbers.
const FLAGS: &str = "-Zmiri-ignore-leaks -Zmiri-permissive-provenance";

pub fn run() -> Result<()> {
    let mut version = Command::new("cargo");
    version.args(["+nightly", "miri", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    ensure!(
        version.status().is_ok_and(|status| status.success()),
        "Miri is not there: rustup toolchain install nightly --component miri,rust-src"
    );
    for (package, tests, names) in PARTS {
        println!("miri: {package} {}", names.join(" "));
        let mut command = Command::new("cargo");
        command.args(["+nightly", "miri", "test", "--quiet", "-p", package]).args(tests).arg("--").args(names);
        // A toolchain and a directory of its own.
        command.env_remove("RUSTUP_TOOLCHAIN").env("MIRIFLAGS", FLAGS);
        command.env("CARGO_TARGET_DIR", workspace::target().join("miri-tests"));
        workspace::run(&mut command)?;
    }
    Ok(())
}
