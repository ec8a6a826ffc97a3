//! `softacl completions`: completions for shells, and man pages, made from the definitions of the commands.

use crate::output;
use anyhow::{Context, Result, bail};
use clap::{Args, Command, ValueEnum};
use clap_complete::Shell;
use std::fs;
use std::path::{Path, PathBuf};

/// Write completions for a shell, or man pages
#[derive(Args)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub struct Arguments {
    /// The shell, or `man` for man pages
    #[arg(value_enum)]
    form: Form,
    /// Directory for man pages, one file per command
    directory: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    Bash,
    Zsh,
    Fish,
    Man,
}

const EXAMPLES: &str = "\
Examples:
  softacl completions bash > ~/.local/share/bash-completion/completions/softacl
  softacl completions zsh > ~/.zfunc/_softacl       (with fpath+=~/.zfunc before compinit)
  softacl completions fish > ~/.config/fish/completions/softacl.fish
  softacl completions man ~/.local/share/man/man1";

/// Writes them for `command`, the definition of the whole command line.
pub fn main(arguments: &Arguments, mut command: Command) -> Result<()> {
    let shell = match (arguments.form, &arguments.directory) {
        (Form::Man, Some(directory)) => return man_pages(command, directory),
        (Form::Man, None) => bail!("man pages need a directory, for example: softacl completions man ./man1"),
        (_, Some(_)) => bail!("completions are written to standard output; only man pages need a directory"),
        (Form::Bash, None) => Shell::Bash,
        (Form::Zsh, None) => Shell::Zsh,
        (Form::Fish, None) => Shell::Fish,
    };
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, "softacl", &mut text);
    output::print(String::from_utf8(text)?)
}

fn man_pages(command: Command, directory: &Path) -> Result<()> {
    let error = || format!("could not write man pages to {}", directory.display());
    fs::create_dir_all(directory).with_context(error)?;
    clap_mangen::generate_to(command, directory).with_context(error)
}
