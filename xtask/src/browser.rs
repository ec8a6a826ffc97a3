//! Runs the tests of the report page in a browser. Installs Chromium if none is present and apt-get is available.

use crate::workspace;
use anyhow::{Result, ensure};
use std::env;
use std::path::PathBuf;
use std::process::Command;

const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

pub fn test() -> Result<()> {
    if find().is_none() {
        println!("no browser found; trying apt-get install chromium");
        let script = "apt-get install -y -q chromium || { apt-get update -q && apt-get install -y -q chromium; }";
        // May fail, for example without root. The search below decides.
        let _ = Command::new("sh").args(["-c", script]).env("DEBIAN_FRONTEND", "noninteractive").status();
    }
    let Some(browser) = find() else {
        println!("skipped: no browser found and none could be installed; install Chromium to run this step");
        return Ok(());
    };
    let mut command = workspace::cargo();
    command.args(["test", "--package", "softacl-checker", "--lib", "--locked", "report::browser"]);
    let output = command.env("SOFTACL_BROWSER", &browser).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    print!("{text}");
    ensure!(output.status.success(), "the report page tests failed: {}", String::from_utf8_lossy(&output.stderr));
    ensure!(!text.contains("running 0 tests"), "no test matches report::browser; the tests were renamed");
    Ok(())
}

/// Returns the first browser in the search path.
pub fn find() -> Option<PathBuf> {
    let paths: Vec<PathBuf> = env::split_paths(&env::var_os("PATH")?).collect();
    NAMES.iter().flat_map(|name| paths.iter().map(move |path| path.join(name))).find(|path| path.is_file())
}
