//! Hangs end to end: programs that merely wait long are left alone, and what a program waits for can be asked.

mod built;

use built::program;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What ends the wait of `long_wait.c`: other threads, time, signals, other processes.
const MODES: [&str; 12] = [
    "sleep",
    "poll",
    "pipe",
    "timed",
    "spin",
    "signal",
    "timer thread",
    "shared semaphore",
    "join",
    "process",
    "host function",
    "timeout",
];

#[test]
fn programs_that_wait_long_are_not_reported() {
    let (_directory, program) = program("long_wait");
    for schedule in ["late", "early", "threads", "random:1"] {
        let start = |mode: &&'static str| -> (&'static str, Child) {
            let child = Command::new(env!("CARGO_BIN_EXE_softacl"))
                .args(["check", "--schedule", schedule, "--"])
                .arg(&program)
                .arg(mode)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn();
            (*mode, child.expect("the program starts"))
        };
        let running: Vec<(&str, Child)> = MODES.iter().map(start).collect();
        for (mode, child) in running {
            let output = child.wait_with_output().expect("the program ends");
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{mode} {schedule}: {stderr}");
            assert!(!stderr.contains("W1"), "{mode} {schedule}: {stderr}");
        }
    }
}

fn softacl(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_softacl"));
    command.args(arguments).stdin(Stdio::null());
    command
}

#[test]
fn hang_is_reported_and_ends_the_program() {
    let (_directory, program) = program("long_wait");
    let output = softacl(&["check", "--"]).arg(&program).arg("hang").output().expect("the program starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("PROVEN W1") && stderr.contains("which no queued task records"), "{stderr}");
    assert!(stderr.contains("long_wait.c:"), "{stderr}");

    let wait = ["check", "--on-hang", "wait", "--timeout", "3", "--"];
    let output = softacl(&wait).arg(&program).arg("hang").output().expect("the program starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("PROVEN W1") && stderr.contains("was stopped after 3 s"), "{stderr}");
}

#[test]
fn stopped_program_reports_who_waits_for_whom() {
    let (_directory, program) = program("long_wait");
    let output =
        softacl(&["check", "--timeout", "2", "--"]).arg(&program).arg("forever").output().expect("the program starts");
    let stderr = String::from_utf8_lossy(&output.stderr).replace("\n      ", " ");
    assert_eq!(output.status.code(), Some(128 + libc::SIGTERM), "{stderr}");
    assert!(stderr.contains("was stopped after 2 s (--timeout)"), "{stderr}");
    assert!(stderr.contains("host thread 0 waits in aclrtSynchronizeStream for task 1 of stream 1"), "{stderr}");
    assert!(stderr.contains("waits for notify 0, which no queued task records"), "{stderr}");
    assert!(!stderr.contains("W1"), "{stderr}");
}

#[test]
fn running_program_answers_who_waits_for_whom() {
    let (_directory, program) = program("long_wait");
    let mut child = softacl(&["run", "--"])
        .arg(&program)
        .arg("forever")
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let pid = child.id().to_string();
    // The process answers from its first call on, and waits a moment later.
    let status = |arguments: &[&str], wanted: &str| {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let output = softacl(arguments).output().expect("the command starts");
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            if (output.status.success() && text.contains(wanted)) || Instant::now() > until {
                return text;
            }
            std::thread::yield_now();
        }
    };
    let text = status(&["status", &pid], "waits for notify 0");
    assert!(text.contains("waits for task 1 of stream 1"), "{text}");
    assert!(text.contains("waits for notify 0, which no queued task records"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&status(&["status", "--json", "-", &pid], &pid)).expect("JSON");
    assert_eq!((&json["pid"], &json["is_checked"]), (&serde_json::json!(child.id()), &serde_json::json!(false)));
    let list = status(&["status"], &pid);
    assert!(list.contains("\n  stream 1, device 0, "), "{list}");
    assert!(list.contains(&format!("process {pid}: ")), "{list}");
    // SAFETY: sends signals to a child that was not reaped yet.
    unsafe { libc::kill(child.id().cast_signed(), libc::SIGUSR1) };
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let first = lines.next().expect("a line").expect("text");
    assert!(first.starts_with(&format!("process {pid}: ")), "{first}");
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    assert!(!softacl(&["status", &pid]).output().expect("the command starts").status.success());
}
