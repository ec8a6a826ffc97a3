//! What other commands say about a running program: `softacl status` and `npu-smi info`; and its log file.

mod built;

use built::program;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

fn softacl(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_softacl"));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("SOFTACL_") || text.starts_with("ASCEND_") {
            command.env_remove(&name);
        }
    }
    command.args(arguments).env("SOFTACL_DEVICES", "2");
    command
}

fn stdout(arguments: &[&str]) -> String {
    let done = softacl(arguments).output().expect("the command starts");
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).expect("text")
}

/// A program that has made its calls and waits for the end of its input.
fn resting(path: &str, more: &[&str]) -> Child {
    let mut command = softacl(&[&["run"], more, &["--", path]].concat());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    assert_eq!(lines.next().expect("a line").expect("text"), "ready");
    child
}

/// The rows of the table of processes with this process id.
fn rows(table: &str, id: u32) -> Vec<String> {
    let has_id = |line: &&str| line.split('|').nth(2).is_some_and(|cell| cell.trim() == id.to_string());
    table.lines().filter(has_id).map(str::to_owned).collect()
}

#[test]
fn program_that_never_waited_is_listed_with_its_memory() {
    let (_directory, path) = program("resting");
    let mut child = resting(path.to_str().expect("text"), &[]);
    let id = child.id();
    let listed = stdout(&["status"]);
    assert!(listed.contains(&format!("process {id}: 2 devices, ")), "{listed}");

    let table = stdout(&["npu-smi", "info"]);
    let width = table.lines().next().map(str::len);
    assert!(table.lines().all(|line| Some(line.len()) == width), "{table}");
    let found = rows(&table, id);
    assert_eq!(found.len(), 1, "{table}");
    let cells: Vec<&str> = found[0].split('|').map(str::trim).collect();
    assert_eq!(cells, ["", "1       0", &id.to_string(), "resting", "64", ""], "{table}");

    let usages = stdout(&["npu-smi", "info", "-t", "usages", "-i", "1"]);
    assert!(usages.contains("Aicore Usage Rate(%)") && usages.contains("HBM Capacity(MB)"), "{usages}");
    let memory = stdout(&["npu-smi", "info", "-t", "memory", "-i", "1", "-c", "0"]);
    let used = memory.lines().find_map(|line| line.trim().strip_prefix("HBM Usage(MB)")).expect("a line");
    let used: u64 = used.trim_start_matches([' ', ':']).parse().expect("a number");
    assert!(used >= 64, "{memory}");
    drop(child.stdin.take());
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn watch_repeats_until_it_is_ended() {
    let mut command = softacl(&["npu-smi", "info", "watch", "-i", "1", "-d", "0.1"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("the command starts");
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let lines: Vec<String> = lines.take(3).collect::<Result<_, _>>().expect("text");
    assert!(lines[0].starts_with("NpuID(Idx)  ChipId(Idx) "), "{lines:?}");
    assert!(lines[1..].iter().all(|line| line.starts_with("1           0           NA")), "{lines:?}");
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}

#[test]
fn stopped_program_delays_no_other() {
    let (_directory, path) = program("resting");
    let mut child = resting(path.to_str().expect("text"), &[]);
    let signal = |number| {
        // SAFETY: sends a signal to a child that was not reaped yet.
        assert_eq!(unsafe { libc::kill(child.id().cast_signed(), number) }, 0);
    };
    signal(libc::SIGSTOP);
    let mut status = 0;
    // SAFETY: waits for a child, and writes to a local variable. It reports the stop and reaps nothing.
    unsafe { libc::waitpid(child.id().cast_signed(), &mut status, libc::WUNTRACED) };
    assert!(libc::WIFSTOPPED(status));
    let table = stdout(&["npu-smi", "info"]);
    assert!(rows(&table, child.id()).is_empty(), "{table}");
    let listed = stdout(&["status"]);
    assert!(listed.contains(&format!("process {}: does not answer", child.id())), "{listed}");
    signal(libc::SIGCONT);
    drop(child.stdin.take());
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn log_file_collects_the_failing_calls_of_all_processes() {
    let (directory, path) = program("resting");
    let log = directory.path().join("calls.log");
    for _ in 0..2 {
        let mut child = resting(path.to_str().expect("text"), &["--log-file", log.to_str().expect("text")]);
        drop(child.stdin.take());
        assert!(child.wait().expect("it ends").success());
    }
    let text = fs::read_to_string(&log).expect("a log");
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(
        text.lines().all(|line| line.starts_with("softacl: [") && line.contains("aclrtFree failed with ")),
        "{text}"
    );
    assert!(stdout(&["env"]).contains("SOFTACL_LOG_FILE"));
    let missing = softacl(&["run", "--log-file", "/no/such/file", "--", "true"]).output().expect("the command starts");
    assert!(String::from_utf8_lossy(&missing.stderr).contains("--log-file"), "{missing:?}");
}
