//! Compiles the conformance programs.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context, Result};

use super::options::{Options, Sanitizer};
use super::program::Program;
use crate::files::entries;
use crate::workspace;

/// Compilers, flags and directories of one invocation of the runner.
#[derive(Debug)]
pub struct Toolchain<'o> {
    pub options: &'o Options,
    /// Directory of the binaries and outputs for the selected sanitizer.
    pub directory: PathBuf,
}

impl<'o> Toolchain<'o> {
    pub fn new(options: &'o Options, directory: &Path) -> Self {
        Toolchain { options, directory: directory.to_path_buf() }
    }

    /// The library that `softacl check` preloads.
    pub fn interposer(&self) -> PathBuf {
        self.directory.join("libsoftacl_interposer.so")
    }

    /// Builds the interposer, so that checked programs run as under `softacl check`.
    pub fn build_interposer(&self) -> Result<()> {
        let mut sources = entries(&workspace::root().join("crates/cli/interposer"))?;
        sources.retain(|path| path.extension().is_some_and(|name| name == "c"));
        let mut command = Command::new("gcc");
        command.args(["-std=gnu11", "-O2", "-fno-builtin", "-shared", "-fPIC", "-fvisibility=hidden"]);
        command.args(sources).arg("-o").arg(self.interposer()).arg("-ldl");
        workspace::run(&mut command)
    }

    /// Returns the path of a program's binary.
    pub fn binary(&self, program: &Program) -> PathBuf {
        self.directory.join(format!("{}-{}", program.topic, program.name))
    }

    /// Compiles a program unless its binary is up to date. Returns the compiler's output if it fails.
    pub fn compile(&self, program: &Program) -> Result<Option<String>> {
        let binary = self.binary(program);
        if self.is_current(program, &binary)? {
            return Ok(None);
        }
        let links: Vec<&str> = program.directives.links.iter().map(String::as_str).collect();
        self.compile_linked(&program.source, &binary, &[&links[..], &["ascendcl"]].concat())
    }

    /// Compiles one source file, linked with `libascendcl.so` if `with_library` is set. Returns the compiler's output
    /// if it fails.
    pub fn compile_file(&self, source: &Path, binary: &Path, with_library: bool) -> Result<Option<String>> {
        self.compile_linked(source, binary, if with_library { &["ascendcl"] } else { &[] })
    }

    /// Compiles one source file, linked with libraries of the tested directory.
    fn compile_linked(&self, source: &Path, binary: &Path, libraries: &[&str]) -> Result<Option<String>> {
        let cpp = source.extension().is_some_and(|e| e == "cpp");
        let mut command = Command::new(format!("{}{}", self.prefix(), if cpp { "g++" } else { "gcc" }));
        command.arg(if cpp { "-std=c++17" } else { "-std=c99" });
        command.args(["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-deprecated-declarations", "-pthread"]);
        command.args(self.options.sanitizer.map_or(&[][..], Sanitizer::flags));
        command.arg("-I").arg(&self.options.include_dir);
        // An interrupted compiler must not leave a file that looks up to date.
        let unfinished = binary.with_extension("unfinished");
        command.arg(source).arg("-o").arg(&unfinished);
        if !libraries.is_empty() {
            command.arg("-L").arg(&self.options.library_dir);
            command.args(libraries.iter().map(|library| format!("-l{library}")));
            // The loader resolves the dependencies of the library.
            command.arg("-Wl,--allow-shlib-undefined");
        }
        let output = command.output().with_context(|| format!("starting {:?}", command.get_program()))?;
        if output.status.success() {
            fs::rename(&unfinished, binary).with_context(|| format!("renaming {}", unfinished.display()))?;
            return Ok(None);
        }
        Ok(Some(format!("{}\n{}", command_line(&command), String::from_utf8_lossy(&output.stderr))))
    }

    /// Returns the prefix of the compiler names: `aarch64-linux-gnu-` for aarch64-unknown-linux-gnu.
    fn prefix(&self) -> String {
        self.options.target.as_ref().map_or_else(String::new, |triple| triple.replace("-unknown-", "-") + "-")
    }

    /// Returns `true` if the binary is newer than its source and every header.
    fn is_current(&self, program: &Program, binary: &Path) -> Result<bool> {
        if !binary.exists() {
            return Ok(false);
        }
        let built = modified(binary)?;
        let mut newest = modified(&program.source)?;
        for directory in [&self.options.source_dir, &self.options.include_dir] {
            newest = newest.max(newest_header(directory)?);
        }
        Ok(built > newest)
    }
}

/// Formats a command for a shell.
pub fn command_line(command: &Command) -> String {
    let mut words = vec![command.get_program().to_os_string()];
    words.extend(command.get_args().map(OsString::from));
    words.iter().map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

/// Quotes a word for a shell.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+%@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

fn modified(path: &Path) -> Result<SystemTime> {
    fs::metadata(path)
        .and_then(|data| data.modified())
        .with_context(|| format!("reading the modification time of {}", path.display()))
}

fn newest_header(directory: &Path) -> Result<SystemTime> {
    let mut newest = SystemTime::UNIX_EPOCH;
    for path in entries(directory)? {
        if path.is_dir() {
            newest = newest.max(newest_header(&path)?);
        } else if path.extension().is_some_and(|e| e == "h") {
            newest = newest.max(modified(&path)?);
        }
    }
    Ok(newest)
}
