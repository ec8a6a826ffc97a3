//! `softacl check` end to end. The program is a script that writes reports as the library would.

use serde_json::Value;
use softacl_checker::finding::{Actor, Backtrace, Finding, Frame, Participant, Report, ReportedOperation, Severity};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

fn softacl(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_softacl"));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("SOFTACL_") || text.starts_with("ASCEND_") {
            command.env_remove(&name);
        }
    }
    command.args(arguments).current_dir(directory).stdin(Stdio::null());
    command
}

/// A directory with a script `app.sh` and the reports that it may write.
struct Fixture {
    directory: TempDir,
}

impl Fixture {
    fn new(script: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join("proven.json"), report(&[("H1", Severity::Proven, 42)])).unwrap();
        fs::write(directory.path().join("advice.json"), report(&[("P1", Severity::Advice, 60)])).unwrap();
        fs::write(directory.path().join("clean.json"), report(&[])).unwrap();
        fs::write(directory.path().join("app.sh"), script).unwrap();
        Self { directory }
    }

    fn check(&self, options: &[&str]) -> Output {
        let arguments = [&["check"], options, &["--", "sh", "app.sh"]].concat();
        softacl(self.directory.path(), &arguments).output().expect("the program starts")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&fs::read(self.file(name)).expect("the file was written")).expect("JSON")
    }
}

/// Shell commands that write a report for the process of the script.
const PROVEN: &str = "cp proven.json $SOFTACL_CHECK_DIR/$$.json; ";
const ADVICE: &str = "cp advice.json $SOFTACL_CHECK_DIR/$$.json; ";
const CLEAN: &str = "cp clean.json $SOFTACL_CHECK_DIR/$$.json; ";

fn report(findings: &[(&str, Severity, u32)]) -> String {
    let findings = findings
        .iter()
        .map(|(id, severity, line)| Finding {
            id: (*id).to_owned(),
            severity: *severity,
            message: format!("the message of {id}"),
            fix: "wait first".to_owned(),
            count: 2,
            operations: vec![Participant { role: "the copy".to_owned(), operation: operation(*line) }],
            fingerprint: format!("{id} app.c:{line}"),
        })
        .collect();
    let report = Report {
        program: vec!["./inner".to_owned()],
        pid: 1,
        version: "0.1.0".to_owned(),
        soc: "Ascend910B3".to_owned(),
        schedule: "late".to_owned(),
        findings,
        timeline: vec![operation(42)],
        ..Report::default()
    };
    serde_json::to_string(&report).unwrap()
}

fn operation(line: u32) -> ReportedOperation {
    let frame = Frame {
        function: Some("upload".to_owned()),
        file: Some("app.c".to_owned()),
        line: Some(line),
        ..Frame::default()
    };
    ReportedOperation {
        number: 1,
        what: "copy of 64 bytes".to_owned(),
        function: Some("aclrtMemcpyAsync".to_owned()),
        actor: Actor::Stream { stream: 1, sequence: 3 },
        thread: 1,
        ranges: Vec::new(),
        place: Backtrace { frames: vec![frame] },
        submitted: 10.0,
        started: Some(20.0),
        finished: Some(30.0),
        waited: None,
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

#[test]
fn exit_code_is_two_for_proven_findings_and_the_programs_otherwise() {
    for (script, options, code) in [
        (format!("{PROVEN} exit 0"), &[][..], 2),
        (format!("{PROVEN} exit 7"), &[], 2),
        (format!("{PROVEN} exit 7"), &["--fail-on", "never"], 7),
        (format!("{ADVICE} exit 0"), &[], 0),
        (format!("{ADVICE} exit 0"), &["--fail-on", "advice"], 2),
        (format!("{CLEAN} exit 9"), &["--fail-on", "advice"], 9),
        (format!("{CLEAN} kill -TERM $$"), &[], 128 + 15),
        (format!("{PROVEN} kill -TERM $$"), &[], 2),
        (format!("{PROVEN} exit 0"), &["--error-exitcode", "99"], 99),
        // A code of the program never looks like a finding, nor like an unchecked program.
        (format!("{CLEAN} exit 2"), &[], 4),
        (format!("{CLEAN} exit 3"), &[], 4),
        (format!("{CLEAN} exit 2"), &["--error-exitcode", "99"], 2),
        (format!("{CLEAN} exit 99"), &["--error-exitcode", "99"], 4),
        (format!("{CLEAN} exit 2"), &["--fail-on", "never"], 2),
        (format!("{CLEAN} exit 3"), &["--allow-unchecked"], 3),
        ("exit 0".to_owned(), &[], 3),
        ("exit 7".to_owned(), &[], 3),
        ("exit 0".to_owned(), &["--seeds", "2"], 3),
        ("exit 7".to_owned(), &["--allow-unchecked"], 7),
    ] {
        let done = Fixture::new(&script).check(options);
        assert_eq!(done.status.code(), Some(code), "{script} {options:?}: {}", text(&done.stderr));
    }
}

#[test]
fn wrong_option_exits_with_one() {
    let fixture = Fixture::new("echo started");
    for options in [&["--no-such-option"][..], &["--schedule", "soon"], &["--seeds", "0"], &["--soc", "H100"]] {
        let done = fixture.check(options);
        assert_eq!(done.status.code(), Some(1), "{options:?}");
        assert!(done.stdout.is_empty(), "{options:?}");
    }
    let missing = softacl(fixture.directory.path(), &["check", "--", "/no/such/program"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(1));
    assert!(text(&missing.stderr).contains("could not run /no/such/program"), "{}", text(&missing.stderr));
}

#[test]
fn report_goes_to_stderr_and_program_output_is_unchanged() {
    let script = format!(
        "{PROVEN} echo out; echo err >&2; cat; echo $SOFTACL_CHECK $SOFTACL_SCHEDULE; ls ${{LD_LIBRARY_PATH%%:*}}"
    );
    let fixture = Fixture::new(&script);
    let input = fixture.file("input");
    fs::write(&input, "typed\n").unwrap();
    let mut command =
        softacl(fixture.directory.path(), &["check", "--soc", "Ascend310P", "--", "sh", "app.sh", "two words"]);
    let done = command.stdin(fs::File::open(input).unwrap()).output().unwrap();
    let (out, err) = (text(&done.stdout), text(&done.stderr));
    assert!(out.starts_with("out\ntyped\n1 late\n") && out.contains("libascendcl.so"), "{out}");
    assert!(err.starts_with("err\n"), "{err}");
    assert!(err.contains("PROVEN H1  source changed between submit and execution\n  the message of H1\n"), "{err}");
    assert!(
        err.contains("repeat    softacl check --schedule late --soc Ascend310P -- sh app.sh 'two words'\n"),
        "{err}"
    );
    assert!(err.ends_with("softacl check: 1 proven, 0 advice; schedule late\n"), "{err}");
    assert!(!err.contains('\x1b'), "no color without a terminal");
}

#[test]
fn reports_of_all_processes_are_merged_into_each_file() {
    let script = format!(
        "{PROVEN} cp proven.json $SOFTACL_CHECK_DIR/77.json; cp advice.json $SOFTACL_CHECK_DIR/78.json; exit 3"
    );
    let fixture = Fixture::new(&script);
    let done = fixture.check(&["--json", "r.json", "--sarif", "r.sarif", "--html", "r.html"]);
    assert_eq!(done.status.code(), Some(2));
    let json = fixture.json("r.json");
    assert_eq!(json["findings"].as_array().map(Vec::len), Some(2));
    assert_eq!((&json["findings"][0]["id"], &json["findings"][0]["count"]), (&"H1".into(), &4.into()));
    assert_eq!(json["findings"][0]["operations"][0]["place"]["frames"][0]["line"], 42);
    assert_eq!(
        (&json["exit_code"], &json["schedule"], &json["soc"]),
        (&3.into(), &"late".into(), &"Ascend910B3".into())
    );
    assert_eq!(json["program"], serde_json::json!(["sh", "app.sh"]));
    let sarif = fixture.json("r.sarif");
    assert_eq!(sarif["version"], "2.1.0");
    assert_eq!(sarif["runs"][0]["results"][1]["ruleId"], "P1");
    let page = fs::read_to_string(fixture.file("r.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("the message of H1"));
}

#[test]
fn fault_rules_name_the_process_if_several_have_rules() {
    let faulty: Report = serde_json::from_str(&report(&[])).unwrap();
    let faulty = Report { faults: vec!["rule 1 copy@1=507013  1 task, fired once (task 1)".to_owned()], ..faulty };
    let one = "cp faulty.json $SOFTACL_CHECK_DIR/77.json; cp clean.json $SOFTACL_CHECK_DIR/79.json; ";
    let two = format!("{one} cp faulty.json $SOFTACL_CHECK_DIR/78.json; ");
    for (script, expected) in [
        (one, &["fault rule 1 copy@1=507013"][..]),
        (&two, &["fault process 77: rule 1 copy@1=507013", "fault process 78: rule 1 copy@1=507013"]),
    ] {
        let fixture = Fixture::new(script);
        fs::write(fixture.file("faulty.json"), serde_json::to_string(&faulty).unwrap()).unwrap();
        let shown = text(&fixture.check(&[]).stderr);
        let lines: Vec<&str> = shown.lines().filter(|line| line.starts_with("fault ")).collect();
        let is_expected = lines.iter().zip(expected).all(|(line, start)| line.starts_with(start));
        assert!(lines.len() == expected.len() && is_expected, "{shown}");
    }
}

#[test]
fn unwritable_file_is_reported_before_the_program_runs() {
    let fixture = Fixture::new("echo started");
    let done = fixture.check(&["--json", "no/such/directory/r.json", "--html", "r.html"]);
    assert_eq!(done.status.code(), Some(1));
    assert!(done.stdout.is_empty(), "{}", text(&done.stdout));
    let err = text(&done.stderr);
    assert_eq!(err, "softacl: could not write no/such/directory/r.json: No such file or directory (os error 2)\n");
}

#[test]
fn full_disk_hides_neither_findings_nor_other_files() {
    for (script, code) in [(PROVEN, 2), (CLEAN, 1)] {
        let fixture = Fixture::new(script);
        let done = fixture.check(&["--json", "/dev/full", "--html", "r.html"]);
        assert_eq!(done.status.code(), Some(code));
        assert!(text(&done.stderr).contains("could not write /dev/full: No space left"), "{}", text(&done.stderr));
        assert!(fs::read_to_string(fixture.file("r.html")).unwrap().starts_with("<!doctype html>"));
    }
}

#[test]
fn repro_command_preserves_non_utf8_arguments() {
    let fixture = Fixture::new(PROVEN);
    let odd = std::ffi::OsStr::from_bytes(b"bell\x07 and \xff");
    let mut command = softacl(fixture.directory.path(), &["check", "--", "sh", "app.sh"]);
    let err = text(&command.arg(odd).output().unwrap().stderr);
    assert!(err.contains(r"softacl check --schedule late -- sh app.sh $'bell\x07 and \xff'"), "{err}");
    assert!(!err.contains('\x07'), "{err}");
}

#[test]
fn seed_series_stops_at_the_first_finding_and_prints_the_repro_command() {
    let script = format!(
        "echo run $SOFTACL_SCHEDULE; echo $SOFTACL_SCHEDULE >> runs\n\
         case $SOFTACL_SCHEDULE in random:3) {PROVEN};; *) {ADVICE};; esac"
    );
    let fixture = Fixture::new(&script);
    let done = fixture.check(&["--seeds", "9", "--json", "r.json"]);
    assert_eq!(done.status.code(), Some(2), "{}", text(&done.stderr));
    assert_eq!(fs::read_to_string(fixture.file("runs")).unwrap(), "random:1\nrandom:2\nrandom:3\n");
    assert_eq!(text(&done.stdout), "run random:3\n", "the output of the reported run");
    let err = text(&done.stderr);
    assert!(err.contains("stopped at seed 3 of 9: it has findings"), "{err}");
    assert!(err.contains("\n  softacl check --schedule random:3 -- sh app.sh\n"), "{err}");
    let json = fixture.json("r.json");
    assert_eq!((&json["seed"], &json["schedule"]), (&3.into(), &"random:3".into()));
    assert_eq!((&json["findings"][1]["id"], &json["findings"][1]["count"]), (&"P1".into(), &4.into()));
    let again = fixture.check(&["--schedule", "random:3"]);
    assert_eq!(again.status.code(), Some(2));
}

#[test]
fn seed_series_without_findings_runs_all_seeds() {
    let fixture = Fixture::new(&format!("echo $SOFTACL_SCHEDULE >> runs; {CLEAN}"));
    let done = fixture.check(&["--seeds", "4"]);
    assert_eq!(done.status.code(), Some(0));
    assert_eq!(fs::read_to_string(fixture.file("runs")).unwrap().lines().count(), 4);
    assert_eq!(text(&done.stderr), "softacl check: 0 proven, 0 advice; schedule random, seeds 1 to 4\n");
}

#[test]
fn seed_series_with_fail_on_never_continues_after_findings() {
    let fixture = Fixture::new(&format!("echo $SOFTACL_SCHEDULE >> runs; {PROVEN}"));
    let done = fixture.check(&["--seeds", "3", "--fail-on", "never"]);
    assert_eq!(done.status.code(), Some(0));
    assert_eq!(fs::read_to_string(fixture.file("runs")).unwrap().lines().count(), 3);
    assert!(text(&done.stderr).contains("1 proven"), "{}", text(&done.stderr));
}

#[test]
fn interrupted_seed_series_is_reported() {
    let script = format!("{CLEAN} kill -TERM $PPID; exit 0");
    let done = Fixture::new(&script).check(&["--seeds", "9"]);
    assert_eq!(done.status.code(), Some(128 + 15), "{}", text(&done.stderr));
    let err = text(&done.stderr);
    assert!(err.contains("stopped at seed 1 of 9: received signal 15 (SIGTERM)\n"), "{err}");
}

#[test]
fn repro_command_contains_options_and_variables() {
    let fixture = Fixture::new(ADVICE);
    let mut command =
        softacl(fixture.directory.path(), &["check", "--fail-on", "advice", "--json", "r.json", "--", "sh", "app.sh"]);
    let done = command.env("SOFTACL_SOC", "Ascend310P").env("ASCEND_RT_VISIBLE_DEVICES", "1,0").output().unwrap();
    assert_eq!(done.status.code(), Some(2));
    let command = fixture.json("r.json")["repro_command"].as_str().unwrap().to_owned();
    assert!(
        command.contains("SOFTACL_SOC=Ascend310P") && command.contains("ASCEND_RT_VISIBLE_DEVICES=1,0"),
        "{command}"
    );
    assert!(command.ends_with(" softacl check --schedule late --fail-on advice -- sh app.sh"), "{command}");
}

#[test]
fn wrong_variable_is_reported_before_the_program_runs() {
    let fixture = Fixture::new("echo started");
    for (name, value) in [("SOFTACL_SOC", "H100"), ("SOFTACL_FAULTS", "copy=maybe"), ("SOFTACL_SCHEDULE", "soon")] {
        let done =
            softacl(fixture.directory.path(), &["check", "--", "sh", "app.sh"]).env(name, value).output().unwrap();
        assert_eq!((done.status.code(), done.stdout.len()), (Some(1), 0), "{name}");
        assert!(text(&done.stderr).starts_with(&format!("softacl: {name}: ")), "{}", text(&done.stderr));
    }
}

#[test]
fn two_reports_in_one_file_are_rejected_and_one_can_go_to_stdout() {
    let fixture = Fixture::new(CLEAN);
    assert_eq!(fixture.check(&["--json", "r", "--html", "r"]).status.code(), Some(1));
    let done = fixture.check(&["--json", "-"]);
    let json: Value = serde_json::from_slice(&done.stdout).expect("JSON on stdout");
    assert_eq!(json["schedule"], "late");
}

#[test]
fn json_on_stdout_is_not_mixed_with_program_output() {
    for options in [&["--json", "-"][..], &["--json", "-", "--seeds", "2"]] {
        let fixture = Fixture::new(&format!("echo from the program; {CLEAN}"));
        let done = fixture.check(options);
        let json: Value = serde_json::from_slice(&done.stdout).expect("nothing but JSON on stdout");
        assert_eq!(json["checked"], true);
        assert!(text(&done.stderr).contains("from the program\n"), "{}", text(&done.stderr));
        let done = fixture.check(&[options, &["--program-output", "out"]].concat());
        assert!(serde_json::from_slice::<Value>(&done.stdout).is_ok());
        assert_eq!(fs::read_to_string(fixture.file("out")).unwrap(), "from the program\n");
        assert!(!text(&done.stderr).contains("from the program"), "{}", text(&done.stderr));
    }
    let fixture = Fixture::new(CLEAN);
    assert_eq!(fixture.check(&["--json", "r", "--program-output", "r"]).status.code(), Some(1));
}

#[test]
fn timeline_can_be_left_out() {
    let fixture = Fixture::new(PROVEN);
    fixture.check(&["--json", "full.json"]);
    fixture.check(&["--json", "small.json", "--no-timeline"]);
    let length = |name: &str| fixture.json(name)["timeline"].as_array().map(Vec::len);
    assert_eq!((length("full.json"), length("small.json")), (Some(1), Some(0)));
    assert_eq!(fixture.json("small.json")["findings"], fixture.json("full.json")["findings"]);
}

#[test]
fn github_gets_annotations_and_a_job_summary() {
    let fixture = Fixture::new(PROVEN);
    fs::write(fixture.file("job.md"), "an earlier step\n").unwrap();
    let run = |options: &[&str]| {
        let arguments = [&["check", "--format", "github"], options, &["--", "sh", "app.sh"]].concat();
        let mut command = softacl(fixture.directory.path(), &arguments);
        command.env("GITHUB_STEP_SUMMARY", fixture.file("job.md")).env_remove("GITHUB_WORKSPACE").output().unwrap()
    };
    let done = run(&[]);
    assert_eq!(done.status.code(), Some(2));
    let err = text(&done.stderr);
    assert!(err.contains("softacl check: 1 proven"), "{err}");
    let annotation = err.lines().last().unwrap();
    assert!(annotation.starts_with("::error file=app.c,line=42,title=H1 source changed"), "{err}");
    let summary = fs::read_to_string(fixture.file("job.md")).unwrap();
    assert!(summary.starts_with("an earlier step\n## softacl check: 1 proven"), "{summary}");
    run(&["--summary", "own.md"]);
    assert!(fs::read_to_string(fixture.file("own.md")).unwrap().contains("| **H1** source changed"));
    assert_eq!(fs::read_to_string(fixture.file("job.md")).unwrap(), summary, "--summary replaces the default");
}

#[test]
fn missing_dashes_print_a_hint() {
    let done = softacl(Path::new("/"), &["check", "./app"]).output().unwrap();
    assert_eq!(done.status.code(), Some(1));
    assert!(text(&done.stderr).contains("comes after `--`"), "{}", text(&done.stderr));
}

#[test]
fn seed_series_stops_if_the_program_fails() {
    let fixture = Fixture::new(&format!("{CLEAN} [ $SOFTACL_SCHEDULE != random:2 ] || exit 5"));
    let done = fixture.check(&["--seeds", "4"]);
    assert_eq!(done.status.code(), Some(5));
    let err = text(&done.stderr);
    assert!(err.contains("stopped at seed 2 of 4: the program ended with exit code 5"), "{err}");
}

#[test]
fn suppressed_findings_are_hidden_and_counted() {
    let fixture = Fixture::new(PROVEN);
    fs::write(fixture.file("known"), "# known\nH1 app.c:42\n").unwrap();
    fs::write(fixture.file("wrong"), "H1 *\n\nH9 app.c\n").unwrap();
    let hidden = fixture.check(&["--suppress", "known"]);
    assert_eq!(hidden.status.code(), Some(0));
    assert_eq!(text(&hidden.stderr), "softacl check: 0 proven, 0 advice, 1 suppressed; schedule late\n");
    let series = fixture.check(&["--suppress", "known", "--seeds", "3"]);
    assert_eq!(series.status.code(), Some(0));
    assert!(text(&series.stderr).contains("1 suppressed; schedule random, seeds 1 to 3"), "{}", text(&series.stderr));
    let wrong = fixture.check(&["--suppress", "wrong"]);
    assert_eq!(wrong.status.code(), Some(1));
    let err = text(&wrong.stderr);
    assert!(err.contains("wrong: line 3: \"H9\" is not the id of a finding; known: H1, H2"), "{err}");
}

#[test]
fn suppression_of_one_caller_keeps_other_callers_of_a_helper() {
    let fixture = Fixture::new(PROVEN);
    let mut two: Report =
        serde_json::from_str(&report(&[("S1", Severity::Proven, 5), ("S1", Severity::Proven, 5)])).unwrap();
    for (finding, caller) in two.findings.iter_mut().zip(["prefetch", "evict"]) {
        let frames = &mut finding.operations[0].operation.place.frames;
        frames.push(Frame { function: Some(caller.to_owned()), ..frames[0].clone() });
    }
    fs::write(fixture.file("proven.json"), serde_json::to_string(&two).unwrap()).unwrap();
    fs::write(fixture.file("known"), "S1 prefetch\n").unwrap();
    let done = fixture.check(&["--suppress", "known"]);
    assert_eq!(done.status.code(), Some(2));
    let err = text(&done.stderr);
    assert!(err.contains("1 proven, 0 advice, 1 suppressed") && err.contains("in evict"), "{err}");
}

#[test]
fn processes_without_report_are_noted() {
    let silent = Fixture::new("exit 5");
    let done = silent.check(&["--json", "r.json", "--sarif", "r.sarif"]);
    let err = text(&done.stderr);
    assert!(err.contains("nothing was checked: no process of the program used softacl"), "{err}");
    assert!(
        err.ends_with("softacl check: nothing was checked; schedule late; the program exited with 5\n"),
        "no counts that look clean: {err}"
    );
    let json = silent.json("r.json");
    assert_eq!((&json["checked"], &json["exit_code"]), (&false.into(), &5.into()));
    assert_eq!(silent.json("r.sarif")["runs"][0]["invocations"][0]["executionSuccessful"], false);
    let allowed = text(&Fixture::new("exit 0").check(&["--allow-unchecked"]).stderr);
    assert!(allowed.contains("note  nothing was checked") && allowed.contains("0 proven, 0 advice"), "{allowed}");
    let killed = Fixture::new("kill -SEGV $$").check(&[]);
    assert_eq!(killed.status.code(), Some(128 + 11));
    assert!(text(&killed.stderr).contains("ended by signal 11 (SIGSEGV) and left no report"));
    let running = Fixture::new(&format!("{CLEAN} : > $SOFTACL_CHECK_DIR/1.json"));
    assert!(text(&running.check(&[]).stderr).contains("process 1 is still running"));
    let child =
        Fixture::new(&format!("{CLEAN} : > $SOFTACL_CHECK_DIR/77777777.json; echo '{{' > $SOFTACL_CHECK_DIR/78.json"));
    let done = child.check(&["--json", "r.json"]);
    let err = text(&done.stderr);
    assert!(err.contains("process 77777777 ended without a report"), "{err}");
    assert!(err.contains("process 78 left an incomplete report"), "{err}");
    assert_eq!(child.json("r.json")["notes"].as_array().map(Vec::len), Some(2));
}

#[test]
fn signals_are_forwarded_and_report_is_still_written() {
    let script = format!("trap '{PROVEN} exit 4' TERM\necho ready\nwhile :; do read -r line < pipe; done");
    let fixture = Fixture::new(&script);
    let made = Command::new("mkfifo").arg(fixture.file("pipe")).status().expect("mkfifo");
    assert!(made.success());
    // Kept open for reading and writing, so that the script waits in `read`, not in `open`.
    let keep_open = fs::OpenOptions::new().read(true).write(true).open(fixture.file("pipe")).unwrap();
    let mut child = softacl(fixture.directory.path(), &["check", "--fail-on", "never", "--", "sh", "app.sh"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    assert_eq!(ready, "ready\n");
    let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let done = child.wait_with_output().unwrap();
    drop(keep_open);
    assert_eq!(done.status.code(), Some(4), "{}", text(&done.stderr));
    assert!(text(&done.stderr).contains("1 proven"), "{}", text(&done.stderr));
}

#[test]
fn report_directory_is_private_and_removed() {
    let fixture = Fixture::new(&format!("{CLEAN} stat -c '%a %n' $SOFTACL_CHECK_DIR"));
    let done = fixture.check(&[]);
    let stdout = text(&done.stdout);
    let (mode, directory) = stdout.trim().split_once(' ').expect("a mode and a path");
    assert_eq!(mode, "700");
    assert!(directory.contains("softacl-check-") && !Path::new(directory).exists(), "{directory}");
}

#[test]
fn help_contains_examples_and_suppression_format() {
    let fixture = Fixture::new("");
    for option in ["-h", "--help"] {
        let done = softacl(fixture.directory.path(), &["check", option]).output().unwrap();
        assert!(done.status.success());
        let help = text(&done.stdout);
        for part in ["threads", "Examples:", "--seeds 50 -- ./app", "pytest", "H1    staging.c:42", "--soc"] {
            assert!(help.contains(part), "{part}: {help}");
        }
    }
}

#[test]
fn explain_prints_finding_pages() {
    let fixture = Fixture::new("");
    let run = |arguments: &[&str]| softacl(fixture.directory.path(), arguments).output().unwrap();
    for id in ["H1", "h1", "R1"] {
        let done = run(&["explain", id]);
        assert!(done.status.success());
        assert!(text(&done.stdout).contains(&id.to_uppercase()), "{}", text(&done.stdout));
    }
    let json: Value = serde_json::from_slice(&run(&["explain", "--json", "-", "S2"]).stdout).unwrap();
    assert_eq!(json["title"], "blocking call overlaps work pending on a stream");
    assert!(text(&run(&["explain", "--help"]).stdout).contains("S2  blocking call overlaps"));
    assert!(!run(&["explain", "H9"]).status.success());
    let all = text(&run(&["explain"]).stdout);
    assert!(all.contains("S2  blocking call overlaps") && all.contains("107003  ACL_ERROR_RT_STREAM_CONTEXT"), "{all}");
}
