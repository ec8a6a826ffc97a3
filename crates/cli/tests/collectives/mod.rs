//! Builds the program of ranks, which is linked with libhccl.so as programs of users are.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use tempfile::TempDir;

/// A `softacl` command without settings of the caller.
pub fn softacl(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_softacl"));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if ["SOFTACL_", "HCCL_", "MASTER_", "RANK"].iter().any(|start| text.starts_with(start)) {
            command.env_remove(&name);
        }
    }
    command.args(arguments);
    command
}

/// Root of the tree of this build.
pub fn home() -> PathBuf {
    static HOME: OnceLock<PathBuf> = OnceLock::new();
    HOME.get_or_init(|| {
        let mut command = softacl(&["run", "--", "sh", "-c", "printf %s \"$ASCEND_HOME_PATH\""]);
        PathBuf::from(text(&output(&mut command).stdout))
    })
    .clone()
}

pub fn output(command: &mut Command) -> Output {
    command.output().expect("the program starts")
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

/// Builds `tests/hccl.c` in a temporary directory.
pub fn program() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let program = directory.path().join("hccl");
    let home = home();
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-g", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&program);
    compiler.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hccl.c"));
    compiler.arg(format!("-I{}", home.join("include").display())).arg(format!("-L{}", home.join("lib64").display()));
    let built = output(compiler.args(["-lhccl", "-lascendcl", "-ldl"]));
    assert!(built.status.success(), "{}", text(&built.stderr));
    (directory, program)
}
