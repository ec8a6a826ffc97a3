//! Man pages and shell completions of an installation. The command generates them from its own description of itself.

use crate::install;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Shells and where each looks for completions, below `share`.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "bash-completion/completions/softacl"),
    ("zsh", "zsh/site-functions/_softacl"),
    ("fish", "fish/vendor_completions.d/softacl.fish"),
];

/// Writes the man pages and completions of the command `softacl` below `share`.
pub fn stage(softacl: &Path, share: &Path) -> Result<()> {
    if !Command::new(softacl).args(["help", "completions"]).output()?.status.success() {
        println!("{} has no command `completions`: the tree gets no man pages", softacl.display());
        return Ok(());
    }
    for (shell, path) in COMPLETIONS {
        let text = output(Command::new(softacl).args(["completions", shell]))?;
        ensure!(text.contains("softacl"), "the completions of {shell} do not name the command:\n{text}");
        install::write(&share.join(path), &text)?;
    }
    let pages = share.join("man/man1");
    fs::create_dir_all(&pages)?;
    output(Command::new(softacl).args(["completions", "man"]).arg(&pages))?;
    ensure!(pages.join("softacl.1").is_file(), "softacl completions man wrote no softacl.1 to {}", pages.display());
    Ok(())
}

fn output(command: &mut Command) -> Result<String> {
    let done = command.output().with_context(|| format!("starting {command:?}"))?;
    ensure!(done.status.success(), "{command:?} failed: {}", String::from_utf8_lossy(&done.stderr));
    Ok(String::from_utf8(done.stdout)?)
}
