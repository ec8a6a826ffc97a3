//! `softacl check --explore` end to end: the number of orders, failing orders, and their replay.

mod built;

use built::program;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn softacl(program: &Path, options: &[&str], mode: &str) -> Output {
    let directory = program.parent().expect("a directory");
    // A hang is a failure, not an endless test.
    Command::new("timeout")
        .args(["120", env!("CARGO_BIN_EXE_softacl"), "check"])
        .args(options)
        .arg("--")
        .args([program.as_os_str(), mode.as_ref()])
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .expect("the program starts")
}

fn explore(program: &Path, options: &[&str], mode: &str) -> (Output, Value) {
    let file = program.with_extension("json");
    let file = file.to_str().expect("text");
    // The conflicts are findings of the checker too; here the orders matter.
    let all = [&["--explore", "--fail-on", "never", "--json", file], options].concat();
    let output = softacl(program, &all, mode);
    let json: Value = serde_json::from_slice(&std::fs::read(file).expect("a report")).expect("JSON");
    (output, json["exploration"].clone())
}

#[test]
fn every_order_is_explored_once() {
    let (_directory, program) = program("orders");
    for (mode, orders) in [
        ("independent", 1),
        ("conflict", 2),
        ("ordered", 1),
        ("three", 6),
        ("pinned", 1),
        ("notify", 1),
        ("value", 1),
        ("early read", 2),
        ("captured", 2),
        ("captured and ordered", 1),
    ] {
        let (output, found) = explore(&program, &[], mode);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(found["complete"], true, "{mode}: {found}\n{stderr}");
        assert_eq!(found["explored"], orders, "{mode}: {found}\n{stderr}");
        assert_eq!(found["orders"], orders, "{mode}");
    }
}

#[test]
fn polling_loops_and_host_functions_have_finitely_many_orders() {
    let (_directory, program) = program("orders");
    for mode in ["poll", "poll once", "function"] {
        let (output, found) = explore(&program, &[], mode);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(found["complete"], true, "{mode}: {found}\n{stderr}");
        let explored = found["explored"].as_u64().expect("a number");
        assert!((2..=12).contains(&explored), "{mode}: {found}\n{stderr}");
    }
}

#[test]
fn failing_order_is_found_reduced_and_replayed() {
    let (directory, program) = program("orders");
    let (output, found) = explore(&program, &[], "rare");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(found["complete"], true, "{found}\n{stderr}");
    assert!(found["explored"].as_u64().expect("a number") > 50, "{found}");
    let failures: Vec<&Value> =
        found["findings"].as_array().expect("a list").iter().filter(|found| found["is_failure"] == true).collect();
    assert_eq!(failures.len(), 1, "{found}");
    assert_eq!(failures[0]["what"], "exit code 1");
    let order = failures[0]["order"].as_array().expect("a list");
    assert!((1..=2).contains(&order.len()), "{order:?}");
    let sentence = order[0].as_str().expect("text");
    assert!(sentence.contains("orders.c:") && sentence.contains("runs after"), "{sentence}");
    let file = failures[0]["order_file"].as_str().expect("a file");
    assert!(directory.path().join(file).exists());
    for _ in 0..3 {
        let schedule = format!("replay:{file}");
        let replayed = softacl(&program, &["--schedule", &schedule, "--fail-on", "never"], "rare");
        assert_eq!(replayed.status.code(), Some(1), "{}", String::from_utf8_lossy(&replayed.stderr));
    }
    let usual = softacl(&program, &["--schedule", "early", "--fail-on", "never"], "rare");
    assert_eq!(usual.status.code(), Some(0), "the default order does not fail");
}

#[test]
fn failures_of_the_program_make_the_exit_code_two() {
    let (_directory, program) = program("orders");
    let failing = softacl(&program, &["--explore"], "abort");
    assert_eq!(failing.status.code(), Some(2), "{}", String::from_utf8_lossy(&failing.stderr));
    let (_, found) = explore(&program, &[], "abort");
    let what: Vec<&str> =
        found["findings"].as_array().expect("a list").iter().filter_map(|found| found["what"].as_str()).collect();
    assert!(what.contains(&"signal 6 (SIGABRT)"), "{found}");
    let clean = softacl(&program, &["--explore"], "ordered");
    let stderr = String::from_utf8_lossy(&clean.stderr);
    assert_eq!(clean.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("1 order, all explored, 0 findings"), "{stderr}");
}

#[test]
fn output_is_compared_on_request() {
    let (_directory, program) = program("orders");
    let (_, plain) = explore(&program, &[], "poll once");
    assert_eq!(plain["findings"].as_array().map(Vec::len), Some(0), "{plain}");
    let (_, compared) = explore(&program, &["--compare-output"], "poll once");
    assert_eq!(compared["findings"][0]["is_failure"], true, "{compared}");
}

#[test]
fn bound_is_reported_and_random_orders_follow() {
    let (_directory, program) = program("orders");
    let (output, found) = explore(&program, &["--orders", "5"], "rare");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((&found["complete"], &found["bound"]), (&Value::Bool(false), &"--orders 5".into()), "{found}");
    assert_eq!(found["random_runs"], 10, "{found}");
    assert!(stderr.contains("random orders were run") && stderr.contains("not all"), "{stderr}");
}

#[test]
fn orders_of_other_processes_are_not_claimed() {
    let (_directory, program) = program("orders");
    let (output, found) = explore(&program, &[], "processes");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((&found["complete"], &found["explored"]), (&false.into(), &2.into()), "{found}\n{stderr}");
    assert!(stderr.contains("only the orders of the first were explored"), "{stderr}");
}

#[test]
fn failing_order_is_drawn() {
    let (directory, program) = program("orders");
    let (_, found) = explore(&program, &["--html", "page.html"], "conflict");
    let drawing = &found["findings"][0]["drawing"];
    assert_eq!(drawing["decisions"].as_array().map(Vec::len), Some(1), "{found}");
    assert!(
        drawing["steps"].as_array().expect("a list").len() >= 4,
        "two tasks and the calls that queued them: {found}"
    );
    let page = std::fs::read_to_string(directory.path().join("page.html")).expect("a page");
    assert!(
        page.contains("<figure class=\"order\">") && page.contains(">host<") && page.contains("orders.c:"),
        "{page}"
    );
}
