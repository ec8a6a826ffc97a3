//! Where messages about failing calls and messages of the program go: stderr, or the file that `SOFTACL_LOG_FILE` names.
//! Several processes may append to one file: each line is one write.

use crate::config;
use softacl_memory::without_size_signal;
use std::fs::File;
use std::io::{self, Write as _};
use std::sync::LazyLock;

static LOG: LazyLock<Option<File>> = LazyLock::new(open);

/// Opens the file. If that fails, stderr is used, which says so first.
fn open() -> Option<File> {
    let path = config::log_file()?;
    let opened = File::options().append(true).create(true).open(&path);
    opened.inspect_err(|error| eprintln!("softacl: SOFTACL_LOG_FILE: could not open {path}: {error}")).ok()
}

/// Writes a line. Ignores errors: a full disk must not change what the program does.
pub(crate) fn write(text: &str) {
    let line = format!("{text}\n");
    let _ = without_size_signal(|| match &*LOG {
        Some(file) => { file }.write_all(line.as_bytes()),
        None => io::stderr().write_all(line.as_bytes()),
    });
}
