//! The report page in a real browser. Installs one where that is possible.

use crate::workspace;
use anyhow::{Result, ensure};
use std::env;
use std::path::PathBuf;
use std::process::Command;

const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

pub fn test() -> Result<()> {
    if find().is_none() {
        println!("no browser is installed; trying apt-get install chromium");
        let script = "apt-get install -y -q chromium || { apt-get update -q && apt-get install -y -q chromium; }";
        // Fails without apt-get or without the right to use it; what counts is whether there is one now.
        let _ = Command::new("sh").args(["-c", script]).env("DEBIAN_FRONTEND", "noninteractive").status();
    }
    let Some(browser) = find() else {
        println!("skipped: no browser, and none could be installed; install Chromium to run this step");
        return Ok(());
    };
    let mut command = workspace::cargo();
    command.args(["test", "--package", "softacl-checker", "--lib", "--locked", "report::browser"]);
    let output = command.env("SOFTACL_BROWSER", &browser).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    print!("{text}");
    ensure!(output.status.success(), "the page is not as it should be: {}", String::from_utf8_lossy(&output.stderr));
    ensure!(!text.contains("running 0 tests"), "the tests of the page have another name now");
    Ok(())
}

fn find() -> Option<PathBuf> {
    let paths: Vec<PathBuf> = env::split_paths(&env::var_os("PATH")?).collect();
    NAMES.iter().flat_map(|name| paths.iter().map(move |path| path.join(name))).find(|path| path.is_file())
}
