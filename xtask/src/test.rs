//! `cargo xtask test`: runs every test, step by step, and prints a summary.

use crate::conformance::{self, Observer, Sanitizer};
use crate::{
    action, architecture, browser, crates, documents, examples, failpoints, files, fuzzing, install_check,
    python_tests, release, support, tools, vocabulary, workspace, zoo,
};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::process::Command;
use std::sync::Mutex;
use std::time::Instant;

type TestStep = (&'static str, fn() -> Result<()>);

/// What a run of all steps takes on 2 cores, from an empty target directory; README.md says the same.
const EXPECTED: &str = "about half an hour on 2 idle cores, up to 8 GB in the target directory";

const STEPS: &[TestStep] = &[
    ("format", || workspace::run(workspace::cargo().args(["fmt", "--all", "--check"]))),
    ("architecture", architecture::test),
    ("vocabulary", || vocabulary::run(None)),
    ("support table", || support::write(true)),
    ("zoo table", || zoo::table(true)),
    ("documents", documents::check),
    ("versions and crates", || release::check_versions().and_then(|()| crates::check())),
    ("dependencies", dependencies),
    ("lints", || {
        workspace::run(workspace::cargo().args([
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ]))
    }),
    ("units and model", || workspace::run(workspace::cargo().args(["test", "--workspace", "--locked"]))),
    ("documentation of the crates", || {
        workspace::run(
            workspace::cargo()
                .args(["doc", "--locked", "--no-deps", "--package", "ascendcl", "--package", "ascendcl-sys"])
                .env("RUSTDOCFLAGS", "-D warnings"),
        )
    }),
    ("report in a browser", browser::test),
    ("interleavings", interleavings),
    ("schedules", || fuzzing::schedules(40, 25, 0)),
    ("conformance", || conform(None, None)),
    ("conformance, checked", || conform(None, Some(Observer::Checker(1)))),
    ("conformance, traced", || conform(None, Some(Observer::Tracer))),
    ("conformance, ASan", || conform(Some(Sanitizer::Address), None)),
    ("conformance, TSan", || conform(Some(Sanitizer::Thread), None)),
    ("failure points", failure_points),
    ("installation", install_check::check),
    ("python", python_tests::test),
    ("examples", examples::run),
    ("examples, checked", || examples::check(3)),
    ("examples of clients", examples::clients),
    ("examples in Rust", rust_examples),
    ("tutorial", documents::run_tutorial),
    ("action", action::test),
    ("zoo", || zoo::run(&zoo::Options { filter: None, checker: true, seeds: 3, explore: false, sanitizer: None })),
    ("zoo orders", || {
        zoo::run(&zoo::Options { filter: None, checker: true, seeds: 0, explore: true, sanitizer: None })
    }),
    ("fuzz", fuzzing::fuzz_smoke),
    ("simulation", || fuzzing::simulate(15, 1, fuzzing::Build::Plain)),
    ("demo", demo),
    ("soak", || soak(60)),
];

/// Why the running step tested nothing, for the summary.
static SKIPPED: Mutex<Option<String>> = Mutex::new(None);

/// Makes the summary say that the running step tested nothing.
fn skip(reason: &str) {
    println!("skipped: {reason}");
    *SKIPPED.lock().expect("no step panics") = Some(reason.to_owned());
}

/// Which steps to run, and what happens after a failure.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Run only steps whose name contains this text
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Run only this step; may be repeated
    #[arg(long, value_name = "STEP", conflicts_with = "filter")]
    only: Vec<String>,
    /// Start at this step
    #[arg(long, value_name = "STEP")]
    from: Option<String>,
    /// Run the remaining steps after a failure, and fail at the end
    #[arg(long)]
    keep_going: bool,
    /// Print the names of the steps and run nothing
    #[arg(long)]
    list: bool,
}

impl Options {
    /// Returns the selected steps in order.
    fn steps(&self) -> Result<Vec<&'static TestStep>> {
        for name in self.only.iter().chain(&self.from) {
            ensure!(
                STEPS.iter().any(|(step, _)| step == name),
                "there is no step {name:?}; `cargo xtask test --list` prints their names"
            );
        }
        let first = STEPS.iter().position(|(step, _)| self.from.as_deref() == Some(step)).unwrap_or(0);
        let is_selected = |name: &str| {
            self.filter.as_deref().is_none_or(|filter| name.contains(filter))
                && (self.only.is_empty() || self.only.iter().any(|only| only == name))
        };
        let steps: Vec<_> = STEPS[first..].iter().filter(|(name, _)| is_selected(name)).collect();
        ensure!(!steps.is_empty(), "no step matches; `cargo xtask test --list` prints their names");
        Ok(steps)
    }
}

/// Runs the selected steps in order. Stops at the first failure unless `keep_going` is set.
pub fn run(options: &Options) -> Result<()> {
    let steps = options.steps()?;
    if options.list {
        steps.iter().for_each(|(name, _)| println!("{name}"));
        return Ok(());
    }
    let (count, started) = (steps.len(), Instant::now());
    println!("{}: {}", plural(count), if count == STEPS.len() { EXPECTED } else { "a selection" });
    tools::check()?;
    let mut results = Vec::new();
    for (index, (name, step)) in steps.into_iter().enumerate() {
        println!("== step {} of {count}: {name} (after {})", index + 1, minutes(started.elapsed().as_secs_f64()));
        let start = Instant::now();
        let result = step().with_context(|| {
            format!("step {name:?} failed; to repeat only this step: cargo xtask test --only {name:?}")
        });
        let seconds = start.elapsed().as_secs_f64();
        let skipped = SKIPPED.lock().expect("no step panics").take();
        let verdict = match &result {
            Err(_) => "FAILED",
            Ok(()) if skipped.is_some() => "skipped",
            Ok(()) => "passed",
        };
        println!("== {name}: {verdict} in {seconds:.1} s");
        results.push((name, verdict, seconds, skipped.unwrap_or_default()));
        match result {
            Err(error) if options.keep_going => eprintln!("{error:?}"),
            result => result?,
        }
    }
    let with = |wanted: &str| results.iter().filter(|(_, verdict, ..)| *verdict == wanted).count();
    let (failed, skipped) = (with("FAILED"), with("skipped"));
    for (name, verdict, seconds, reason) in &results {
        println!("{}", format!("{name:<28} {verdict:<7} {seconds:>7.1} s  {reason}").trim_end());
    }
    let gigabytes = files::size_of_tree(&workspace::target())? as f64 / 1e9;
    println!("{} in all; {gigabytes:.1} GB in the target directory", minutes(started.elapsed().as_secs_f64()));
    println!("{} passed, {skipped} skipped, {failed} failed", count - failed - skipped);
    ensure!(failed == 0, "{failed} of {count} steps failed");
    Ok(())
}

fn plural(steps: usize) -> String {
    if steps == 1 { "1 step".to_owned() } else { format!("{steps} steps") }
}

fn minutes(seconds: f64) -> String {
    format!("{} min {:02} s", seconds as u64 / 60, seconds as u64 % 60)
}

/// Asks cargo-deny about licenses, sources and duplicates. It takes minutes to build, so it is not installed here.
fn dependencies() -> Result<()> {
    match tools::version(&["cargo", "deny", "--version"]) {
        Some(version) => {
            println!("{version}");
            workspace::run(workspace::cargo().args(["deny", "--offline", "check", "bans", "licenses", "sources"]))
        }
        None => {
            skip("cargo-deny is not installed (cargo install cargo-deny --locked); the workflow runs it");
            Ok(())
        }
    }
}

/// Runs all failure points of the program that must pass at each of them, and a sample of three other programs.
fn failure_points() -> Result<()> {
    let options =
        failpoints::Options { filter: Some("faults/cleanup"), points: &[], max_points: u64::MAX, part: (1, 1) };
    failpoints::run(&options)?;
    for sample in ["demo/demo", "kvcache/", "clients/framework"] {
        failpoints::run(&failpoints::Options { filter: Some(sample), max_points: 8, ..options })?;
    }
    Ok(())
}

fn interleavings() -> Result<()> {
    // A separate target directory: otherwise the flag causes a rebuild of everything, twice.
    workspace::run(
        workspace::cargo()
            .args(["test", "--package", "softacl-sync", "--release", "--lib", "--locked"])
            .env("RUSTFLAGS", "--cfg loom")
            .env("CARGO_TARGET_DIR", workspace::target().join("loom")),
    )
}

fn conform(sanitizer: Option<Sanitizer>, observer: Option<Observer>) -> Result<()> {
    let options =
        conformance::Options { sanitizer, observer, ..workspace::conformance_options(workspace::build_library()?) };
    let summary = conformance::run(&options)?;
    ensure!(summary.failed == 0, "{} conformance runs failed", summary.failed);
    Ok(())
}

/// Runs every example of the safe crate under the checker on several schedules. A proven finding makes the exit code 2.
fn rust_examples() -> Result<()> {
    workspace::run(workspace::cargo().args(["build", "--package", "ascendcl", "--examples", "--locked"]))?;
    let mut names: Vec<_> = fs::read_dir(workspace::root().join("crates/ascendcl/examples"))?
        .map(|entry| entry.map(|entry| entry.path().with_extension("")))
        .collect::<std::io::Result<_>>()?;
    // Names of examples start with a digit. The benchmark is not one.
    names.retain(|path| path.file_name().is_some_and(|name| name.as_encoded_bytes()[0].is_ascii_digit()));
    names.sort();
    ensure!(names.len() == 8, "found {} examples, expected 8", names.len());
    let mut runs = 0;
    for name in names.iter().filter_map(|path| path.file_name()) {
        let schedules = ["threads", "early", "late"].map(str::to_owned);
        for schedule in schedules.into_iter().chain((1..=5).map(|seed| format!("random:{seed}"))) {
            let mut command = Command::new(workspace::target().join("debug/examples").join(name));
            command.env("SOFTACL_CHECK", "1").env("SOFTACL_SCHEDULE", &schedule).env_remove("SOFTACL_CHECK_DIR");
            let output = command.output().with_context(|| format!("starting {command:?}"))?;
            let text = String::from_utf8_lossy(&output.stderr);
            ensure!(
                output.status.success() && text.contains("softacl check: 0 proven"),
                "{} on schedule {schedule} ended with {}:\n{text}",
                name.display(),
                output.status
            );
            runs += 1;
        }
        println!("{} passed", name.display());
    }
    println!("{runs} runs, nothing proven");
    Ok(())
}

fn demo() -> Result<()> {
    workspace::run(workspace::cargo().args(["run", "--release", "--locked", "--", "demo", "--blocks", "512"]))
}

/// Runs the soak for `seconds` and writes its table to `target/soak.md`.
pub fn soak(seconds: u32) -> Result<()> {
    workspace::run(workspace::cargo().args([
        "run",
        "--release",
        "--locked",
        "--package",
        "softacl-testkit",
        "--bin",
        "soak",
        "--",
        &seconds.to_string(),
        &workspace::target().join("soak.md").display().to_string(),
    ]))
}
