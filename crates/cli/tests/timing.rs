//! The virtual clock from the command line: reports, comparisons and calibration.

#![cfg(target_os = "linux")]

mod built;

use serde_json::Value;
use softacl_profiles::{FigureName, Figures, profile};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const SOFTACL: &str = env!("CARGO_BIN_EXE_softacl");

fn softacl(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(SOFTACL);
    for name in ["SOFTACL_TIMING", "SOFTACL_SOC", "SOFTACL_SCHEDULE"] {
        command.env_remove(name);
    }
    command.args(arguments).envs(variables.iter().copied()).output().expect("softacl runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn calibration_finds_the_figures_that_were_put_in() {
    let directory = tempfile::tempdir().unwrap();
    // What has not been published is put in here; the file is merged over the figures of the chip.
    let more = directory.path().join("more.toml");
    let figure = |(name, unit, value): (&str, &str, f64)| {
        format!(
            "[{name}]\nvalue = {value:?}\nunit = \"{unit}\"\ninterval = [{value:?}, {value:?}]\nquality = \"assumed\"\n\
             source = \"this test\"\ndate = \"2026\"\n"
        )
    };
    let figures = [
        ("free", "us", 11.0),
        ("malloc_host", "us", 33.0),
        ("free_host", "us", 22.0),
        ("d2d_bandwidth", "GB/s", 444.0),
    ];
    let added = figures.map(figure).concat();
    fs::write(&more, &added).unwrap();
    for soc in ["Ascend910C", "Ascend910B"] {
        let path = directory.path().join(soc);
        let path = path.to_str().unwrap();
        // The softacl that is linked into the program, which the virtual clock drives like any other.
        let figures = more.to_str().unwrap();
        let variables = [
            ("SOFTACL_TIMING", "1"),
            ("SOFTACL_SOC", soc),
            ("SOFTACL_MEMORY", "1GiB"),
            ("SOFTACL_DEVICES", "2"),
            ("SOFTACL_TIMING_FIGURES", figures),
        ];
        let output = softacl(&["calibrate", "--repeat", "2", "-o", path], &variables);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let found = Figures::parse(&fs::read_to_string(path).unwrap()).unwrap();
        let mut known = profile(Some(soc), None).unwrap().chip.timing.clone();
        known.merge(&Figures::parse(&added).unwrap());
        let mut count = 0;
        for (name, figure) in found.iter() {
            let expected = known.get(name).unwrap_or_else(|| panic!("{name} was not put in")).value;
            assert!((figure.value / expected - 1.0).abs() < 0.02, "{soc} {name}: {} for {expected}", figure.value);
            count += 1;
        }
        assert_eq!(count, 21, "{found:?}");
        assert!(found.get(FigureName::InsideDevice).is_some() && found.get(FigureName::Peer).is_some());
    }
    let [one, other] = ["Ascend910C", "Ascend910B"].map(|soc| directory.path().join(soc).display().to_string());
    let compared = text(&softacl(&["calibrate", "--compare", &one, &other], &[]).stdout);
    let line = compared.lines().find(|line| line.starts_with("h2d_bandwidth")).expect(&compared);
    assert!(line.contains("differ") && line.contains("0.41"), "{line}");
}

/// Compares two chips. Returns the JSON and the picture.
fn compare_offload(directory: &Path, program: &Path) -> (Value, String) {
    let svg = directory.join("offload.svg");
    let output = softacl(
        &[
            "what-if",
            "--soc",
            "Ascend910B,Ascend910C",
            "--batch",
            "8,32",
            "--kernel",
            "decode=400us",
            "--json",
            "-",
            "--svg",
            svg.to_str().unwrap(),
            "--",
            program.to_str().unwrap(),
        ],
        &[],
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    (serde_json::from_slice(&output.stdout).expect("JSON"), fs::read_to_string(&svg).unwrap())
}

#[test]
fn what_if_compares_chips_and_batches_reproducibly() {
    let (directory, program) = built::program("offload");
    let (first, svg) = compare_offload(directory.path(), &program);
    let ns = |variant: &Value, which: &str| variant["total_ns"][which].as_f64().unwrap();
    let variants = first["variants"].as_array().unwrap();
    assert_eq!(variants.len(), 6, "{variants:?}");
    for variant in variants {
        assert!(ns(variant, "low") < ns(variant, "expected") && ns(variant, "expected") < ns(variant, "high"));
    }
    // 20 steps with a kernel of 404 us each, at least.
    assert!(ns(&variants[0], "expected") > 8.08e6 && ns(&variants[3], "expected") > 8.08e6);
    assert!(variants[0]["copying_ns"]["expected"].as_f64() > variants[3]["copying_ns"]["expected"].as_f64());
    assert!(svg.contains("batches of 32") && svg.contains("Ascend910B3"), "{svg}");
    assert_eq!(compare_offload(directory.path(), &program), (first, svg));
}

/// Runs a command of softacl on a program. Returns its JSON output, and its messages.
fn json_of(arguments: &[&str], program: &Path) -> (Value, String) {
    let output = softacl(&[arguments, &["--json", "-", "--", program.to_str().unwrap()]].concat(), &[]);
    let messages = text(&output.stderr);
    assert!(output.status.success(), "{messages}");
    (serde_json::from_slice(&output.stdout).expect("JSON"), messages)
}

const TIMED: [&str; 5] = ["run", "--timing", "--soc", "Ascend910C", "--kernel=step=100us"];

fn total(reports: &Value) -> f64 {
    reports[0]["total_ns"]["expected"].as_f64().unwrap()
}

#[test]
fn reports_have_phases_and_stalls_and_repeat() {
    let (_directory, program) = built::program("phases");
    let (reports, messages) = json_of(&TIMED, &program);
    let phases = reports[0]["phases"].as_array().unwrap();
    let names: Vec<&str> = phases.iter().map(|phase| phase["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["fill", "drain"], "{reports}");
    // Ten kernels, and none of them behind anything.
    assert!(phases[1]["ns"]["expected"].as_f64().unwrap() > 1e6, "{phases:?}");
    assert_eq!(reports[0]["stalls"], 10);
    let shares = reports[0]["critical_path"].as_array().unwrap().iter().map(|line| line["share"]["expected"].as_f64());
    assert!((shares.map(Option::unwrap).sum::<f64>() - 1.0).abs() < 1e-9);
    assert!(messages.contains("that pageable memory makes synchronous"), "{messages}");
    assert_eq!(json_of(&TIMED, &program).0, reports);
}

#[test]
fn reports_alone_leave_the_times_of_the_program_alone() {
    let (_directory, program) = built::program("phases");
    let report_only = ["run", "--timing=report", "--soc", "Ascend910C", "--kernel=step=100us"];
    let (reports, _) = json_of(&report_only, &program);
    assert_eq!(total(&reports), total(&json_of(&TIMED, &program).0));
}

#[test]
fn host_time_counts_if_it_is_asked_for() {
    let (_directory, program) = built::program("phases");
    let (reports, messages) = json_of(&[&TIMED[..], &["--host-scale", "1"]].concat(), &program);
    assert!(total(&reports) > total(&json_of(&TIMED, &program).0));
    assert!(messages.contains("computation of thread 0"), "{messages}");
}

#[test]
fn slow_tasks_are_slow_in_virtual_time() {
    let (_directory, program) = built::program("phases");
    let slowed = |rule: &str| total(&json_of(&[&TIMED[..], &["--faults", rule]].concat(), &program).0);
    let plain = total(&json_of(&TIMED, &program).0);
    // The rest of the device and the host go on at the same time, so a little of it is hidden.
    let added = slowed("copy[device=0]@10=slow 2ms") - plain;
    assert!((1.9e6..=2e6).contains(&added), "{added} ns");
    assert_eq!(slowed("copy[device=1]=slow 2ms"), plain);
}

#[test]
fn traces_show_the_virtual_timeline() {
    let (directory, program) = built::program("phases");
    let trace = directory.path().join("trace.json");
    let arguments =
        ["trace", "--timing", "--soc", "Ascend910C", "--kernel", "step=100us", "-o", trace.to_str().unwrap()];
    let output = softacl(&[&arguments[..], &["--", program.to_str().unwrap()]].concat(), &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("virtual time on Ascend910_9392"), "{}", text(&output.stderr));
    let trace: Value = serde_json::from_str(&fs::read_to_string(&trace).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().or(trace.as_array()).unwrap();
    // A kernel takes its start, and what was given.
    let long = |event: &&Value| event["dur"].as_f64().is_some_and(|us| (us - 104.0).abs() < 0.01);
    assert_eq!(events.iter().filter(long).count(), 10);
}

#[test]
fn other_schedules_are_refused() {
    for command in ["run", "trace"] {
        let output = softacl(&[command, "--timing", "--schedule", "late", "--", "true"], &[]);
        assert!(!output.status.success());
        assert!(text(&output.stderr).contains("the clock is a schedule"), "{command}: {}", text(&output.stderr));
    }
}

#[test]
fn other_figures_are_compared() {
    let (_directory, program) = built::program("offload");
    let arguments = ["what-if", "--soc", "Ascend910C", "--set", "submit_host_copy=0us", "--kernel", "decode=40us"];
    let (compared, _) = json_of(&arguments, &program);
    let changed = compared["variants"].as_array().unwrap().iter().find(|variant| variant["set"].is_string()).unwrap();
    // 20 steps with 32 copies each, which nothing else hides.
    assert!(changed["saves_ns"]["expected"].as_f64().unwrap() > 1e6, "{changed}");
}

#[test]
fn chips_without_figures_are_refused_by_name() {
    let output = softacl(&["run", "--timing", "--soc", "Ascend310P", "--", "true"], &[]);
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("no timing figure is known for Ascend310P"), "{}", text(&output.stderr));
}

#[test]
fn figures_are_listed_with_their_errors() {
    let output = text(&softacl(&["chips", "--timing"], &[]).stdout);
    for part in ["rows that nothing was fitted to", "d2d_bandwidth", "Ascend310P (310P): no timing figure is public"] {
        assert!(output.contains(part), "{output}");
    }
}
