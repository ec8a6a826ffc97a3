//! The command line end to end: output, streams and exit codes.

use std::process::{Command, Output};

fn softacl(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_softacl"));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("SOFTACL_") || text.starts_with("ASCEND_") {
            command.env_remove(&name);
        }
    }
    command.args(arguments).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

#[test]
fn explain_accepts_codes_and_names() {
    let by_number = softacl(&["explain", "107003"]);
    assert!(by_number.status.success());
    assert!(text(&by_number.stdout).starts_with("107003 ACL_ERROR_RT_STREAM_CONTEXT\n"));
    assert_eq!(softacl(&["explain", "ACL_ERROR_RT_STREAM_CONTEXT"]).stdout, by_number.stdout);
    let json: serde_json::Value =
        serde_json::from_slice(&softacl(&["explain", "--json", "-", "207000"]).stdout).expect("JSON");
    assert_eq!(json["name"], "ACL_ERROR_RT_FEATURE_NOT_SUPPORT");
    let unknown = softacl(&["explain", "107999"]);
    assert!(!unknown.status.success() && unknown.stdout.is_empty());
    assert!(text(&unknown.stderr).contains("similar: "));
}

#[test]
fn chips_and_env_print_json() {
    let chips: serde_json::Value = serde_json::from_slice(&softacl(&["chips", "--json", "-"]).stdout).expect("JSON");
    assert_eq!(chips.as_array().map(Vec::len), Some(6));
    let one: serde_json::Value =
        serde_json::from_slice(&softacl(&["chips", "--json", "-", "Ascend910_9392"]).stdout).expect("JSON");
    assert_eq!(one[0]["family"], "Ascend910C");
    let variables: serde_json::Value = serde_json::from_slice(&softacl(&["env", "--json", "-"]).stdout).expect("JSON");
    let names: Vec<&str> = variables.as_array().expect("a list").iter().filter_map(|v| v["name"].as_str()).collect();
    assert!(names.contains(&"SOFTACL_SCHEDULE") && names.contains(&"ASCEND_RT_VISIBLE_DEVICES"), "{names:?}");
}

#[test]
fn run_sets_the_environment_and_replaces_itself_with_the_program() {
    let script = "echo $SOFTACL_SOC $SOFTACL_SCHEDULE; ls ${LD_LIBRARY_PATH%%:*}; exit 7";
    let done = softacl(&["run", "--soc", "Ascend310P", "--schedule", "random:5", "--", "sh", "-c", script]);
    assert_eq!(done.status.code(), Some(7), "{}", text(&done.stderr));
    let output = text(&done.stdout);
    assert!(output.starts_with("Ascend310P random:5\n"), "{output}");
    assert!(output.contains("libascendcl.so") && output.contains("libacl_rt.so"), "{output}");
}

#[test]
fn stubs_follow_the_library_on_the_path_and_only_on_request() {
    let script = "echo $LD_LIBRARY_PATH; ls $(echo $LD_LIBRARY_PATH | tr : ' ')";
    let with = text(&softacl(&["run", "--with-stubs", "--", "sh", "-c", script]).stdout);
    let (paths, files) = with.split_once('\n').expect("a line of paths");
    assert!(paths.split(':').nth(1).is_some_and(|second| second.contains("stubs")), "{paths}");
    for library in ["libacl_op_compiler.so", "libge_runner.so", "libgraph.so"] {
        assert!(files.contains(library), "{files}");
    }
    let without = text(&softacl(&["run", "--", "sh", "-c", script]).stdout);
    assert!(!without.contains("libge_runner.so"), "{without}");
    for library in ["libhccl.so", "libhcomm.so"] {
        assert!(without.contains(library), "{without}");
    }
}

#[test]
fn npu_smi_is_on_path_and_identifies_as_softacl() {
    let run = |words: &str| softacl(&["run", "--soc", "Ascend310P", "--devices", "3", "--", "sh", "-c", words]);
    let table = text(&run("npu-smi info").stdout);
    assert!(table.contains("softacl") && table.contains("simulated chips, no card"), "{table}");
    assert_eq!(table.matches("310P").count(), 3, "{table}");
    let width = table.lines().next().map(str::len);
    assert!(table.lines().all(|line| Some(line.len()) == width), "{table}");
    let list = text(&run("npu-smi info -l").stdout);
    assert!(list.contains("Total Count                    : 3"), "{list}");
    assert_eq!(list.matches("NPU ID").count(), 3, "{list}");
    let other = run("npu-smi set -t reset");
    assert!(!other.status.success() && text(&other.stderr).contains("npu-smi info"), "{}", text(&other.stderr));
    assert_eq!(softacl(&["npu-smi", "info", "-l"]).status.code(), Some(0));
}

#[test]
fn wrong_options_are_reported_before_the_program_starts() {
    for (arguments, word) in [
        (["--soc", "H100"], "H100"),
        (["--form", "XY"], "XY"),
        (["--cann", "1.0"], "1.0"),
        (["--devices", "0"], "from 1 to 64"),
        (["--memory", "5 apples"], "apples"),
        (["--host-memory", "1KiB"], "1KiB"),
        (["--schedule", "soon"], "soon"),
        (["--strict", "everything"], "everything"),
        (["--strict", "align,nothing"], "nothing"),
        (["--faults", "copi=lost"], "did you mean copy?"),
        (["--faults", "copy=slow 20"], "a time needs a unit, such as 20ms"),
        (["--faults", "copy[device=99]=lost"], "device 99 does not exist"),
        (["--faults", "@"], "--faults: @ must be followed by the name of a rule file"),
    ] {
        let done = softacl(&["run", arguments[0], arguments[1], "--", "echo", "started"]);
        assert!(!done.status.success() && done.stdout.is_empty(), "{arguments:?}");
        assert!(text(&done.stderr).contains(word), "{arguments:?}: {}", text(&done.stderr));
    }
    let missing = softacl(&["run", "--", "/no/such/program"]);
    assert!(text(&missing.stderr).contains("/no/such/program"));
}

#[test]
fn demo_verifies_its_bytes() {
    let done = softacl(&["demo", "--blocks", "64", "--json", "-"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let report: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
    assert_eq!(report["verified_bytes"], 2 * 64 * (32 << 10));
    assert_eq!(report["steps"].as_array().map(Vec::len), Some(5));
}

#[test]
fn write_errors_on_stdout_are_reported() {
    for arguments in [
        &["chips"][..],
        &["chips", "Ascend910B"],
        &["chips", "--json", "-"],
        &["env"],
        &["explain", "107003"],
        &["explain", "H1"],
        &["npu-smi", "info"],
        &["demo", "--blocks", "16"],
        &["--help"],
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
        let done = Command::new(env!("CARGO_BIN_EXE_softacl")).args(arguments).stdout(full).output().unwrap();
        let stderr = text(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{arguments:?}: {stderr}");
        assert!(
            stderr.starts_with("softacl: could not write to standard output: No space left"),
            "{arguments:?}: {stderr}"
        );
        assert_eq!(stderr.lines().count(), 1, "{arguments:?}: {stderr}");
    }
}

#[test]
fn completions_and_man_pages_know_every_command() {
    for (shell, word) in
        [("bash", "complete -F _softacl"), ("zsh", "#compdef softacl"), ("fish", "complete -c softacl")]
    {
        let script = text(&softacl(&["completions", shell]).stdout);
        assert!(script.contains(word) && script.contains("doctor"), "{shell}: {script}");
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("man1");
    assert!(softacl(&["completions", "man", path.to_str().unwrap()]).status.success());
    let page = std::fs::read_to_string(path.join("softacl-trace.1")).expect("a man page");
    assert!(page.contains("perfetto") && page.contains("softacl"), "{page}");
    assert!(!softacl(&["completions", "man"]).status.success());
}

#[test]
fn doctor_finds_a_working_installation() {
    let done = softacl(&["doctor", env!("CARGO_BIN_EXE_softacl"), "--json", "-"]);
    let all: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
    let state = |subject: &str| {
        let found = all.as_array().unwrap().iter().find(|one| one["subject"] == subject);
        found.unwrap_or_else(|| panic!("{subject}: {all}"))["state"].as_str().unwrap().to_owned()
    };
    for subject in ["library", "settings", "chip", "copies", "/proc"] {
        assert_eq!(state(subject), "good", "{subject}: {all}");
    }
    let missing = softacl(&["doctor", "/no/such/program"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(text(&missing.stdout).contains("problem  program"), "{}", text(&missing.stdout));
}

#[test]
fn settings_file_gives_defaults_that_options_and_variables_override() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("softacl.toml");
    let run = |text: &str, words: &[&str]| {
        std::fs::write(&path, text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_softacl"));
        command.arg("run").args(words).args(["--", "sh", "-c", "echo $SOFTACL_SOC $SOFTACL_DEVICES"]);
        command.current_dir(directory.path()).env_remove("SOFTACL_SOC").env_remove("SOFTACL_DEVICES").output().unwrap()
    };
    let file = "soc = \"310p\"\ndevices = 3\n";
    assert_eq!(text(&run(file, &[]).stdout), "310p 3\n");
    assert_eq!(text(&run(file, &["--soc", "910b"]).stdout), "910b 3\n");
    let wrong = run("soc = \"H100\"\n", &[]);
    assert!(text(&wrong.stderr).contains("softacl.toml: soc"), "{}", text(&wrong.stderr));
    let unknown = run("chip = 1\n", &[]);
    assert!(text(&unknown.stderr).contains("unknown field `chip`"), "{}", text(&unknown.stderr));
}

#[test]
fn version_names_commit_target_and_library() {
    assert_eq!(text(&softacl(&["-V"]).stdout).lines().count(), 1);
    let long = text(&softacl(&["--version"]).stdout);
    for word in ["commit: ", "target: ", "library: /"] {
        assert!(long.contains(word), "{long}");
    }
}

#[test]
fn mistakes_are_answered_with_suggestions() {
    let stderr = |words: &[&str]| text(&softacl(words).stderr);
    assert!(stderr(&["chek", "--", "true"]).contains("'check'"));
    assert!(stderr(&["chips", "Ascned910B"]).contains("did you mean Ascend910B?"));
    assert!(stderr(&["run", "--soc", "901b", "--", "true"]).contains("did you mean Ascend910B?"));
    assert!(stderr(&["explain", "ACL_EROR_RT_STREAM_CONTEXT"]).contains("did you mean ACL_ERROR_RT_STREAM_CONTEXT?"));
    assert!(stderr(&["run", "--faults", "aclrtMalloc=999999", "--", "true"]).contains("code 999999 does not exist"));
    // The hint about `--` appears only where a program is missing.
    assert!(stderr(&["run", "./app", "--my-flag"]).contains("the program comes after `--`"));
    assert!(!stderr(&["chips", "--wrong"]).contains("the program comes after"));
    assert!(stderr(&["run"]).contains("no program was given"));
    let rendered = softacl(&["--color", "always", "explain", "H1"]);
    assert!(text(&rendered.stdout).starts_with("\x1b[1mH1: "));
    assert!(text(&softacl(&["explain", "H1"]).stdout).starts_with("# H1: "));
}

#[test]
fn color_and_quiet_hold_for_every_command() {
    let check = |words: &[&str], more: &[&str]| {
        let done = softacl(&[words, &["check"], more, &["--", "true"]].concat());
        (done.status.code(), text(&done.stderr))
    };
    let accepted = ["--allow-unchecked"];
    let (code, plain) = check(&[], &accepted);
    assert!(code == Some(0) && plain.contains("softacl check: ") && !plain.contains('\x1b'), "{plain}");
    let (_, colored) = check(&["--color", "always"], &accepted);
    assert!(colored.contains("\x1b["), "{colored}");
    let (code, unchecked) = check(&["-q"], &[]);
    assert_eq!((code, unchecked.lines().count()), (Some(3), 1), "{unchecked}");
    assert_eq!(text(&softacl(&["-q", "doctor"]).stdout), "");
    assert!(text(&softacl(&["--color", "always", "doctor"]).stdout).contains("\x1b[32m"));
    assert!(!softacl(&["-q", "-v", "chips"]).status.success(), "one excludes the other");
}
