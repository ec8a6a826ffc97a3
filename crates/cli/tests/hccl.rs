//! A C program with the headers and the library of collectives, as a user builds and runs it.

mod collectives;

use collectives::{home, output, program, softacl, text};
use std::process::{Command, Stdio};

#[test]
fn headers_compile_alone_in_c99_and_cpp17() {
    let home = home();
    let mut names: Vec<String> = std::fs::read_dir(home.join("include/hccl"))
        .expect("a directory")
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["hccl.h", "hccl_comm.h", "hccl_types.h"]);
    for (compiler, language, standard) in [("cc", "c", "-std=c99"), ("c++", "c++", "-std=c++17")] {
        for name in &names {
            let mut command = Command::new(compiler);
            command.args([standard, "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "-x", language, "-"]);
            command.arg(format!("-I{}", home.join("include").display()));
            command.stdin(Stdio::piped()).stderr(Stdio::piped());
            let mut child = command.spawn().expect("the compiler starts");
            let line = format!("#include \"hccl/{name}\"\n#include \"hccl/{name}\"\n");
            std::io::Write::write_all(&mut child.stdin.take().unwrap(), line.as_bytes()).unwrap();
            let done = child.wait_with_output().unwrap();
            assert!(done.status.success(), "{compiler} {standard} {name}: {}", text(&done.stderr));
        }
    }
}

#[test]
fn forked_ranks_of_a_linked_program_reduce() {
    let (_directory, program) = program();
    for schedule in [&[][..], &["--schedule", "late"]] {
        let done = output(softacl(&["run"]).args(schedule).arg("--").arg(&program).arg("fork"));
        let out = text(&done.stdout);
        assert!(done.status.success(), "{out}{}", text(&done.stderr));
        let mut lines: Vec<&str> = out.lines().map(|line| line.split(" on ").next().unwrap()).collect();
        lines.sort_unstable();
        assert_eq!(lines, ["rank 0 of 2", "rank 1 of 2"], "{out}");
        assert!(out.lines().all(|line| line.ends_with(": sum 3")), "{out}");
    }
}

#[test]
fn checker_has_nothing_against_ranks_and_one_report_for_all() {
    let (_directory, program) = program();
    let nodes = [env!("CARGO_BIN_EXE_softacl"), "run", "--nodes", "2", "--devices", "1", "--ranks", "--"];
    for (nodes, mode) in [(&[][..], "fork"), (&nodes, "table")] {
        let done = output(softacl(&["check", "--"]).args(nodes).arg(&program).arg(mode));
        let err = text(&done.stderr);
        assert!(done.status.success(), "{mode}: {err}");
        let reports: Vec<&str> = err.lines().filter(|line| line.starts_with("softacl check: ")).collect();
        assert!(matches!(reports[..], [one] if one.starts_with("softacl check: 0 proven, 0 advice")), "{mode}: {err}");
    }
}
