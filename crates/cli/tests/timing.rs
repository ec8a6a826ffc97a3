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
    for soc in ["Ascend910C", "Ascend910B"] {
        let path = directory.path().join(soc);
        let path = path.to_str().unwrap();
        // The softacl that is linked into the program, which the virtual clock drives like any other.
        let variables = [("SOFTACL_TIMING", "1"), ("SOFTACL_SOC", soc), ("SOFTACL_MEMORY", "1GiB")];
        let output = softacl(&["calibrate", "--repeat", "2", "-o", path], &variables);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let found = Figures::parse(&fs::read_to_string(path).unwrap()).unwrap();
        let known = &profile(Some(soc), None).unwrap().chip.timing;
        let mut count = 0;
        for (name, figure) in found.iter() {
            let expected = known.get(name).unwrap_or_else(|| panic!("{name} was not put in")).value;
            assert!((figure.value / expected - 1.0).abs() < 0.02, "{soc} {name}: {} for {expected}", figure.value);
            count += 1;
        }
        assert!(count >= 10 && found.get(FigureName::HostToDevice).is_some(), "{count} figures");
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
