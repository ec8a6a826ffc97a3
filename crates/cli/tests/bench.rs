//! `softacl bench` end to end. Asserts the structure of the output, not the measured values.

use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

fn bench(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_softacl"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("SOFTACL_") || name.to_string_lossy().starts_with("ASCEND_") {
            command.env_remove(&name);
        }
    }
    command.arg("bench").args(arguments).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

/// Returns the path of a file in the temporary directory of the tests.
fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn report(arguments: &[&str]) -> Value {
    let done = bench(&[arguments, &["--json", "-"]].concat());
    assert!(done.status.success(), "{}", text(&done.stderr));
    serde_json::from_slice(&done.stdout).expect("only JSON on stdout")
}

#[test]
fn case_reports_ratios_times_and_verified_bytes() {
    let report = report(&["--quick", "--filter", "plane-8192x1k,observers-off"]);
    assert_eq!(report["quick"], true);
    assert!(report["machine"]["cores"].as_u64() > Some(0));
    let [plane, observers] = report["cases"].as_array().expect("cases").as_slice() else { panic!("{report}") };
    if plane["state"] == "measured" {
        let result = &plane["results"][0];
        assert_eq!((&result["measure"], &result["target"]), (&Value::from("softacl / memcpy"), &Value::from(0.7)));
        let [low, median, high] = ["low", "median", "high"].map(|name| result[name].as_f64().expect("a number"));
        assert!(0.0 < low && low <= median && median <= high);
        assert_eq!(result["reached"], Value::from(median <= 0.7));
        assert_eq!(plane["verified_bytes"], 8192 * 1024);
        let times = plane["times"].as_array().expect("times");
        for name in ["softacl", "memcpy"] {
            let time = times.iter().find(|time| time["name"] == name).expect("a time");
            assert!(time["ns"]["median"].as_f64() > Some(0.0) && time["gigabytes_per_second"].as_f64() > Some(0.0));
        }
    } else {
        assert!(plane["reason"].as_str().is_some_and(|reason| reason.contains("cores")), "{plane}");
    }
    assert_eq!(
        (&observers["state"], &observers["reason"]),
        (&Value::from("skipped"), &Value::from("takes too long for --quick"))
    );
}

#[test]
fn every_small_case_runs_and_verifies() {
    let report = report(&["--quick", "--filter", "submit-64,sync-64,hot-1000x64,batch-vs-loop-64,streams"]);
    for case in report["cases"].as_array().expect("cases") {
        if case["key"].as_str().is_some_and(|key| key.starts_with("instructions")) {
            assert_eq!(case["state"], "skipped", "{case}");
        } else {
            assert_eq!(case["state"], "measured", "{case}");
            assert!(case["verified_bytes"].as_u64() >= Some(64_000), "{case}");
        }
    }
}

#[test]
fn compare_fails_on_a_regression() {
    let (before, after) = (file("before.json"), file("after.json"));
    let mut report = report(&["--quick", "--filter", "malloc-2m"]);
    fs::write(&before, report.to_string()).expect("written");
    let names = [before.to_str().expect("a UTF-8 path"), after.to_str().expect("a UTF-8 path")];
    let same = bench(&["--compare", names[0], names[0]]);
    assert!(same.status.success() && text(&same.stdout).contains("same"), "{}", text(&same.stderr));

    for (factor, status, word) in [(10.0, 1, "WORSE"), (0.1, 0, "better")] {
        let mut changed = report.clone();
        for name in ["low", "median", "high"] {
            let value = &mut changed["cases"][0]["results"][0][name];
            *value = Value::from(value.as_f64().expect("a number") * factor);
        }
        fs::write(&after, changed.to_string()).expect("written");
        let done = bench(&["--compare", names[0], names[1]]);
        assert_eq!(done.status.code(), Some(status), "{}", text(&done.stderr));
        assert!(text(&done.stdout).contains(word), "{}", text(&done.stdout));
    }

    report["quick"] = Value::from(false);
    fs::write(&after, report.to_string()).expect("written");
    let refused = bench(&["--compare", names[0], names[1]]);
    assert!(!refused.status.success() && text(&refused.stderr).contains("cannot be compared"));
}

#[test]
fn plot_is_well_formed_and_has_both_charts() {
    let path = file("plot.svg");
    let done = bench(&["--quick", "--filter", "malloc-2m", "--plot", path.to_str().expect("a UTF-8 path")]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let picture = fs::read_to_string(&path).expect("the plot was written");
    assert!(picture.contains("GB/s") && picture.contains("ns per entry") && picture.contains("softacl, batch"));
    assert!(!picture.contains("NaN") && !picture.contains("inf"));
    let mut open = Vec::new();
    for tag in picture.split('<').skip(1) {
        let (tag, rest) = tag.split_once('>').expect("a tag ends");
        assert!(!rest.contains('>'), "a stray > after {tag}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(tag.split(' ').next().expect("a name"));
        }
    }
    assert!(open.is_empty(), "not closed: {open:?}");
}

#[test]
fn unknown_cases_and_invalid_files_are_reported() {
    let unknown = bench(&["--filter", "no-such-case"]);
    assert!(!unknown.status.success() && text(&unknown.stderr).contains("--list"));
    let broken = file("broken.json");
    fs::write(&broken, "{}").expect("written");
    let refused = bench(&["--compare", broken.to_str().expect("a UTF-8 path")]);
    assert!(!refused.status.success() && text(&refused.stderr).contains("broken.json"));
    let list = bench(&["--list"]);
    assert!(list.status.success() && text(&list.stdout).contains("batch-10240x32k"));
}
