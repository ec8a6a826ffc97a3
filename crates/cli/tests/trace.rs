//! `softacl trace` end to end: the trace file, the statistics, and the notes about missing traces.

mod built;

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const COPY: f64 = 1_048_576.0;

struct Traced {
    output: Output,
    stderr: String,
    file: Value,
    numbers: Value,
    page: String,
}

fn trace(program: &Path, schedule: &str, words: &[&str]) -> Traced {
    let directory = program.parent().unwrap();
    let [file, numbers, page] = ["trace.json", "numbers.json", "page.html"].map(|name| directory.join(name));
    let output = Command::new(env!("CARGO_BIN_EXE_softacl"))
        .args(["trace", "--schedule", schedule])
        .args([Path::new("-o"), &file, Path::new("--json"), &numbers, Path::new("--html"), &page, Path::new("--")])
        .arg(program)
        .args(words)
        .stdin(Stdio::null())
        .output()
        .expect("the program starts");
    let json = |path: &Path| serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Traced { output, stderr, file: json(&file), numbers: json(&numbers), page: fs::read_to_string(page).unwrap() }
}

fn events(file: &Value) -> &Vec<Value> {
    file["traceEvents"].as_array().expect("a list of events")
}

/// Groups the slices of a category by row.
fn rows<'a>(file: &'a Value, category: &str) -> BTreeMap<(u64, u64), Vec<&'a Value>> {
    let mut rows: BTreeMap<(u64, u64), Vec<&Value>> = BTreeMap::new();
    for event in events(file).iter().filter(|event| event["ph"] == "X" && event["cat"] == category) {
        rows.entry((event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap())).or_default().push(event);
    }
    rows
}

fn span(event: &Value) -> (f64, f64) {
    let start = event["ts"].as_f64().unwrap();
    (start, start + event["dur"].as_f64().unwrap())
}

fn named<'a>(slices: &[&'a Value], name: &str) -> Vec<&'a Value> {
    slices.iter().copied().filter(|slice| slice["name"] == name).collect()
}

#[test]
fn trace_file_has_every_call_and_every_task() {
    let (_directory, program) = built::program("trace");
    for schedule in ["threads", "early", "late", "random:3"] {
        let traced = trace(&program, schedule, &[]);
        assert_eq!(traced.output.status.code(), Some(3), "{}", traced.stderr);
        let (tasks, calls) = (rows(&traced.file, "task"), rows(&traced.file, "call"));
        let threads: Vec<_> = calls.keys().collect();
        assert_eq!(threads.len(), 3, "the main thread and two others: {threads:?}");
        let all: Vec<&Value> = tasks.values().flatten().copied().collect();
        let up = named(&all, "copy H2D");
        let large = up.iter().filter(|copy| copy["args"]["bytes"].as_f64() == Some(COPY)).count();
        assert_eq!((large, named(&all, "copy D2H").len()), (6, 1), "{schedule}");
        // Tasks of one stream do not overlap.
        for slices in tasks.values() {
            let mut spans: Vec<(f64, f64)> = slices.iter().map(|slice| span(slice)).collect();
            spans.sort_by(|one, other| one.0.total_cmp(&other.0));
            assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0 + 1e-3), "{schedule}: {spans:?}");
        }
        // The second stream waits until the event is recorded, and then copies.
        let waits = rows(&traced.file, "wait");
        let wait = *named(&waits.values().flatten().copied().collect::<Vec<_>>(), "event wait").first().unwrap();
        let record = *named(&all, "event record").first().unwrap();
        let down = named(&all, "copy D2H")[0];
        assert!(span(record).1 <= span(wait).1 + 1e-3 && span(wait).1 <= span(down).0 + 1e-3, "{schedule}");
        assert_eq!((wait["pid"].clone(), wait["tid"].clone()), (down["pid"].clone(), down["tid"].clone()));
        // A blocking copy is inside its call, and a failed call has its code.
        let main_thread = &calls[threads[0]];
        // Calls of one thread do not overlap.
        for slices in calls.values() {
            let mut spans: Vec<(f64, f64)> = slices.iter().map(|slice| span(slice)).collect();
            spans.sort_by(|one, other| one.0.total_cmp(&other.0));
            assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0 + 1e-3), "{schedule}: {slices:?}");
        }
        assert_eq!(
            (main_thread[0]["name"].as_str(), main_thread.last().unwrap()["name"].as_str()),
            (Some("aclInit"), Some("aclFinalize"))
        );
        let acts = rows(&traced.file, "copy");
        let act = acts.values().flatten().find(|act| act["name"] == "synchronous copy D2H").expect("aclrtMemcpy");
        let call = named(main_thread, "aclrtMemcpy")[0];
        assert!(acts.values().flatten().all(|act| !(act["args"]["GB/s"].is_number() && span(act).0 > span(call).1)));
        assert!(span(call).0 <= span(act).0 && span(act).1 <= span(call).1);
        let failed: Vec<_> = main_thread.iter().filter(|call| call["args"]["code"].is_number()).collect();
        let failed: Vec<_> = failed.iter().filter_map(|call| call["name"].as_str()).collect();
        assert_eq!(failed, ["aclrtMemcpyAsync", "aclrtMemcpy"], "{schedule}");
    }
}

#[test]
fn arrows_connect_existing_slices() {
    let (_directory, program) = built::program("trace");
    let traced = trace(&program, "threads", &[]);
    let key = |event: &Value| format!("{} {}", event["cat"], event["id"]);
    let ends = |phase: &str| {
        let some = events(&traced.file).iter().filter(|event| event["ph"] == *phase);
        some.map(|event| (key(event), event)).collect::<BTreeMap<_, _>>()
    };
    let (starts, finishes) = (ends("s"), ends("f"));
    assert_eq!(starts.keys().collect::<BTreeSet<_>>(), finishes.keys().collect::<BTreeSet<_>>());
    assert!(starts.keys().any(|key| key.starts_with("\"after\"")), "{:?}", starts.keys());
    let slices: Vec<&Value> = events(&traced.file).iter().filter(|event| event["ph"] == "X").collect();
    for (key, end) in starts.iter().chain(&finishes) {
        let time = end["ts"].as_f64().unwrap();
        let holds = |slice: &&&Value| {
            let (start, stop) = span(slice);
            slice["pid"] == end["pid"] && slice["tid"] == end["tid"] && start <= time + 2e-3 && time <= stop + 2e-3
        };
        assert!(slices.iter().any(|slice| holds(&slice)), "{key} is not inside a slice: {end}");
    }
    for (key, start) in &starts {
        assert!(start["ts"].as_f64() <= finishes[key]["ts"].as_f64(), "{key} points back in time");
    }
    // Memory in use rises and returns to zero.
    let memory: Vec<u64> = events(&traced.file)
        .iter()
        .filter(|event| event["ph"] == "C")
        .map(|event| event["args"]["bytes"].as_u64().unwrap())
        .collect();
    assert!(memory.iter().max() >= Some(&(COPY as u64)) && memory.last() == Some(&0), "{memory:?}");
}

#[test]
fn statistics_match_the_program() {
    let (_directory, program) = built::program("trace");
    let traced = trace(&program, "threads", &[]);
    let numbers = &traced.numbers[0];
    let line = |list: &str, key: &str, value: &str| {
        let lines = numbers[list].as_array().unwrap();
        lines.iter().find(|line| line[key] == value).unwrap_or_else(|| panic!("{value} in {numbers}")).clone()
    };
    assert_eq!(line("calls", "function", "aclrtMemcpyAsync")["calls"], 5 + 1 + 1 + 1 + 1 + 1);
    assert_eq!(line("calls", "function", "aclrtMemcpyAsync")["failed"], 1);
    assert_eq!(line("blocked_calls", "function", "aclrtMemcpyAsync")["calls"], 1);
    assert_eq!(numbers["streams"].as_array().unwrap().len(), 2);
    assert_eq!(
        (&numbers["failed"], &numbers["never_started"], &numbers["dropped_events"]),
        (&0.into(), &0.into(), &0.into())
    );
    // Six up, one down, one from pageable memory, one of a thread, one synchronous copy down, and a memset.
    assert_eq!(numbers["bytes"].as_f64(), Some(7.0 * COPY + 4.0 * 4096.0), "{numbers}");
    let (copying, overlap, whole) = (&numbers["copying_ns"], &numbers["overlap_ns"], &numbers["ns"]);
    assert!(overlap.as_u64() <= copying.as_u64() && copying.as_u64() <= whole.as_u64(), "{numbers}");
    // The terminal shows the longest calls, which vary between runs; the page shows all.
    let longest = numbers["calls"][0]["function"].as_str().unwrap();
    for part in ["main thread (", "stream 1, device 0", "copy, host to device 0", longest, "7.0 MiB moved"] {
        assert!(traced.stderr.contains(part), "{part}: {}", traced.stderr);
    }
    for line in numbers["calls"].as_array().unwrap() {
        assert!(traced.page.contains(line["function"].as_str().unwrap()), "{line}: {}", traced.page);
    }
    assert!(traced.stderr.contains("1 call of aclrtMemcpyAsync blocked on the stream"), "{}", traced.stderr);
    assert!(traced.page.contains("<canvas") && traced.page.contains("copy, host to device 0"), "{}", traced.page);
    assert_eq!(traced.page.matches("<script").count(), traced.page.matches("</script>").count());
    assert!(!traced.page.contains("http://") && !traced.page.contains("https://"), "the page loads nothing");
}

#[test]
fn trace_file_can_be_opened_again_and_compared() {
    let (directory, program) = built::program("trace");
    let traced = trace(&program, "early", &[]);
    let path = |name: &str| directory.path().join(name);
    let softacl = |words: &[&Path]| Command::new(env!("CARGO_BIN_EXE_softacl")).args(words).output().unwrap();
    let [file, page, numbers, perfetto] = ["trace.json", "again.html", "again.json", "again.pftrace"].map(path);
    let opened = softacl(&[
        Path::new("trace"),
        Path::new("--open"),
        &file,
        Path::new("--html"),
        &page,
        Path::new("--json"),
        &numbers,
        Path::new("--perfetto"),
        &perfetto,
    ]);
    let stderr = String::from_utf8_lossy(&opened.stderr).into_owned();
    assert!(opened.status.success() && stderr.contains("stream 1, device 0"), "{stderr}");
    let again: Value = serde_json::from_slice(&fs::read(&numbers).unwrap()).unwrap();
    assert_eq!(again, traced.numbers, "the statistics are those of the run");
    // The timeline of the file is the one of the run: same rows, same slices.
    let data =
        |text: &str| text.split_once("id=\"columns\">").and_then(|(_, rest)| rest.split_once('<')).unwrap().0.len();
    let [before, after] = [&traced.page, &fs::read_to_string(&page).unwrap()].map(|text| data(text));
    assert!(before.abs_diff(after) < before / 10, "{before} and {after} bytes");
    assert!(fs::metadata(&perfetto).unwrap().len() > 1000);
    let same = softacl(&[Path::new("trace"), Path::new("diff"), &file, &file]);
    let text = String::from_utf8_lossy(&same.stdout).into_owned();
    assert!(text.contains("copy, host to device 0") && text.contains("+0 %") && !text.contains("new"), "{text}");
    let missing = softacl(&[Path::new("trace"), Path::new("--open"), &path("none.json")]);
    assert!(!missing.status.success());
    let other = softacl(&[Path::new("trace"), Path::new("--open"), &page]);
    assert!(String::from_utf8_lossy(&other.stderr).contains("this is not a trace of softacl"));
}

#[test]
fn existing_trace_is_kept_if_there_is_nothing_to_write() {
    let directory = tempfile::tempdir().unwrap();
    let [old, new] = ["old.json", "new.json"].map(|name| directory.path().join(name));
    fs::write(&old, "precious").unwrap();
    for file in [&old, &new] {
        let words = [Path::new("trace"), Path::new("-o"), file, Path::new("--"), Path::new("true")];
        let output = Command::new(env!("CARGO_BIN_EXE_softacl")).args(words).output().unwrap();
        assert!(String::from_utf8_lossy(&output.stderr).contains("no trace was written"));
    }
    assert_eq!(fs::read_to_string(&old).unwrap(), "precious");
    assert!(!new.exists(), "no empty file stays");
}

#[test]
fn killed_process_that_traces_itself_leaves_its_log() {
    let (directory, program) = built::program("trace");
    let file = directory.path().join("own.json");
    fs::write(&file, "precious").unwrap();
    let run = |way: &str| {
        let words = [Path::new("run"), Path::new("--"), &program, Path::new(way)];
        let mut child = Command::new(env!("CARGO_BIN_EXE_softacl"));
        child.args(words).env("SOFTACL_TRACE", &file).status().unwrap()
    };
    assert!(!run("killed").success());
    assert_eq!(fs::read_to_string(&file).unwrap(), "precious", "not replaced by an empty file");
    let logs = || {
        let entries = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "log")).collect::<Vec<_>>()
    };
    let [log] = &logs()[..] else { panic!("{:?}", logs()) };
    let words = [Path::new("trace"), Path::new("--open"), log];
    let opened = Command::new(env!("CARGO_BIN_EXE_softacl")).args(words).output().unwrap();
    let stderr = String::from_utf8_lossy(&opened.stderr).into_owned();
    assert!(opened.status.success() && stderr.contains("aclInit"), "{stderr}");
    fs::remove_file(log).unwrap();
    run("");
    assert!(logs().is_empty(), "a log beside a finished trace: {:?}", logs());
    assert!(!events(&serde_json::from_slice(&fs::read(&file).unwrap()).unwrap()).is_empty());
}

#[test]
fn only_ranges_are_recorded_if_wanted() {
    let (directory, program) = built::program("trace");
    let file = directory.path().join("ranges.json");
    let words = [Path::new("trace"), Path::new("--ranges"), Path::new("-o"), &file, Path::new("--"), &program];
    let output = Command::new(env!("CARGO_BIN_EXE_softacl")).args(words).arg("ranges").output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(9), "{stderr}");
    assert!(!stderr.contains("never started"), "{stderr}");
    let value: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let calls = rows(&value, "call");
    let calls: Vec<&str> = calls.values().flatten().filter_map(|call| call["name"].as_str()).collect();
    assert_eq!(calls, ["aclrtMemcpyAsync", "aclrtSynchronizeStream"], "only what is inside the range");
    let ranges: Vec<&str> =
        events(&value).iter().filter(|event| event["ph"] == "b").filter_map(|event| event["name"].as_str()).collect();
    assert_eq!(ranges, ["step 1"]);
    let words =
        [Path::new("trace"), Path::new("--duration"), Path::new("1us"), Path::new("-o"), &file, Path::new("--")];
    let output = Command::new(env!("CARGO_BIN_EXE_softacl")).args(words).arg(&program).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!stderr.contains("never started") && !stderr.contains("beyond the limit"), "{stderr}");
}

#[test]
fn unfinished_wait_is_shown() {
    let (_directory, program) = built::program("trace");
    for schedule in ["threads", "late"] {
        let traced = trace(&program, schedule, &["exits while waiting"]);
        assert_eq!(traced.output.status.code(), Some(6), "{}", traced.stderr);
        let waits = rows(&traced.file, "wait");
        let waits: Vec<&Value> = waits.values().flatten().copied().collect();
        assert_eq!((waits.len(), &waits[0]["args"]["not finished"]), (1, &true.into()), "{schedule}: {waits:?}");
        let end = events(&traced.file).iter().filter(|event| event["ph"] == "X").map(|event| span(event).1);
        assert!(span(waits[0]).1 >= end.fold(0.0, f64::max), "{schedule}: {waits:?}");
        assert!(traced.stderr.contains("2 tasks never started"), "{}", traced.stderr);
    }
}

#[test]
fn wait_has_an_arrow_from_the_record_that_ended_it() {
    let (_directory, program) = built::program("trace");
    for schedule in ["threads", "early", "late"] {
        let traced = trace(&program, schedule, &["notify"]);
        assert_eq!(traced.output.status.code(), Some(8), "{}", traced.stderr);
        let row = |category: &str, name: &str| {
            let rows = rows(&traced.file, category);
            let slice = rows.values().flatten().find(|slice| slice["name"] == *name);
            let slice = slice.unwrap_or_else(|| panic!("{name} in {rows:?}"));
            (slice["pid"].clone(), slice["tid"].clone())
        };
        let arrow = |phase: &str| {
            let ends: Vec<&Value> =
                events(&traced.file).iter().filter(|event| event["ph"] == *phase && event["cat"] == "after").collect();
            assert_eq!(ends.len(), 1, "{schedule}: {ends:?}");
            (ends[0]["pid"].clone(), ends[0]["tid"].clone())
        };
        assert_eq!(arrow("s"), row("task", "notify record"), "{schedule}");
        assert_eq!(arrow("f"), row("wait", "notify wait"), "{schedule}");
    }
}

#[test]
fn reused_stream_id_gets_a_new_row() {
    let (_directory, program) = built::program("trace");
    let traced = trace(&program, "threads", &["devices"]);
    assert_eq!(traced.output.status.code(), Some(7), "{}", traced.stderr);
    let mut devices: BTreeMap<u64, u64> = BTreeMap::new();
    for line in traced.numbers[0]["streams"].as_array().unwrap() {
        *devices.entry(line["device"].as_u64().unwrap()).or_default() += line["bytes"].as_u64().unwrap();
    }
    assert_eq!(devices, BTreeMap::from([(0, 8192), (1, 8192)]), "{}", traced.stderr);
    let names: BTreeSet<u64> = events(&traced.file)
        .iter()
        .filter(|event| event["name"] == "process_name")
        .map(|event| event["pid"].as_u64().unwrap())
        .collect();
    assert!(rows(&traced.file, "task").keys().all(|(process, _)| names.contains(process)), "{names:?}");
}

#[test]
fn exit_from_a_signal_handler_neither_hangs_nor_loses_the_trace() {
    let (directory, program) = built::program("trace");
    let file = directory.path().join("trace.json");
    for _ in 0..10 {
        let output = Command::new(env!("CARGO_BIN_EXE_softacl"))
            .args([Path::new("trace"), Path::new("-o"), &file, Path::new("--")])
            .args(["timeout", "30"])
            .arg(&program)
            .arg("interrupted")
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(9), "{stderr}");
        assert!(stderr.contains("aclrtGetDeviceCount"), "{stderr}");
    }
}

#[test]
fn trace_file_contains_every_process() {
    let (_directory, program) = built::program("trace");
    let traced = trace(&program, "threads", &["parent"]);
    assert_eq!(traced.output.status.code(), Some(3), "{}", traced.stderr);
    let processes: BTreeSet<u64> =
        traced.numbers.as_array().unwrap().iter().map(|numbers| numbers["process"].as_u64().unwrap()).collect();
    assert_eq!(processes.len(), 2, "{}", traced.stderr);
    let rows: BTreeSet<u64> = rows(&traced.file, "call").into_keys().map(|(process, _)| process).collect();
    assert_eq!(rows, processes);
    // The child ran while its parent waited for it: both use the same clock.
    let starts: Vec<f64> = processes
        .iter()
        .map(|process| {
            let own = events(&traced.file).iter().filter(|event| event["pid"] == *process && event["ph"] == "X");
            own.map(|event| event["ts"].as_f64().unwrap()).fold(f64::MAX, f64::min)
        })
        .collect();
    assert!((starts[0] - starts[1]).abs() < 60e6, "{starts:?}");
}

#[test]
fn processes_that_do_not_exit_leave_their_trace() {
    let (_directory, program) = built::program("trace");
    for (way, code) in [("_exit", 5), ("killed", 128 + 9)] {
        let traced = trace(&program, "threads", &[way]);
        assert_eq!(traced.output.status.code(), Some(code), "{}", traced.stderr);
        assert!(traced.stderr.contains("did not exit as usual"), "{}", traced.stderr);
        let calls = rows(&traced.file, "call");
        let calls: Vec<&Value> = calls.values().flatten().copied().collect();
        assert_eq!(named(&calls, "aclInit").len(), 1, "{way}: {calls:?}");
        assert_eq!(traced.numbers.as_array().unwrap().len(), 1);
    }
    let traced = trace(&program, "threads", &["nothing"]);
    assert_eq!(traced.output.status.code(), Some(4));
    assert!(traced.stderr.contains("no process of the program called AscendCL"), "{}", traced.stderr);
}

#[test]
fn trace_is_compressed_if_its_name_ends_in_gz() {
    let (directory, program) = built::program("trace");
    let file = directory.path().join("trace.json.gz");
    let output = Command::new(env!("CARGO_BIN_EXE_softacl"))
        .args([Path::new("trace"), Path::new("-o"), &file, Path::new("--"), &program])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    let unpacked = Command::new("gzip").arg("-dc").arg(&file).output().unwrap();
    assert!(unpacked.status.success());
    let value: Value = serde_json::from_slice(&unpacked.stdout).unwrap();
    assert!(rows(&value, "task").len() > 1);
}

#[test]
fn events_beyond_the_limit_are_dropped_and_reported() {
    let (directory, program) = built::program("trace");
    let file = directory.path().join("cut.json");
    let output = Command::new(env!("CARGO_BIN_EXE_softacl"))
        .args([Path::new("trace"), Path::new("-o"), &file, Path::new("--"), &program])
        .env("SOFTACL_TRACE_LIMIT", "20")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("beyond the limit"), "{stderr}");
    let value: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert!(!events(&value).is_empty() && events(&value).len() < 60);
}

#[test]
fn invalid_arguments_are_reported_before_the_program_runs() {
    let softacl = |words: &[&str], variable: (&str, &str)| {
        let output =
            Command::new(env!("CARGO_BIN_EXE_softacl")).args(words).env(variable.0, variable.1).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let none = ("SOFTACL_LOG", "");
    let (code, stderr) = softacl(&["trace", "-o", "/nowhere/trace.json", "--", "true"], none);
    assert!(code == Some(1) && stderr.contains("could not write /nowhere/trace.json"), "{stderr}");
    let (code, stderr) = softacl(&["trace", "-o", "-", "--json", "-", "--", "true"], none);
    assert!(code == Some(1) && stderr.contains("two reports in the same file"), "{stderr}");
    let directory = tempfile::tempdir().unwrap();
    let [file, same] = ["trace.json", "./trace.json"].map(|name| directory.path().join(name).display().to_string());
    let (code, stderr) = softacl(&["trace", "-o", &file, "--json", &same, "--", "true"], none);
    assert!(code == Some(1) && stderr.contains("two reports in the same file"), "{stderr}");
    let (code, stderr) = softacl(&["trace", "-o", "/dev/null", "--", "/nowhere/program"], none);
    assert!(code == Some(1) && stderr.contains("could not run /nowhere/program"), "{stderr}");
    let (_directory, program) = built::program("trace");
    let program = program.to_str().unwrap();
    let (_, stderr) = softacl(&["trace", "-o", "/dev/null", "--", program], ("SOFTACL_TRACE_LIMIT", "many"));
    assert!(stderr.contains("SOFTACL_TRACE_LIMIT: \"many\" is not a number from 1 to 1000000000"), "{stderr}");
    let both = Command::new(env!("CARGO_BIN_EXE_softacl"))
        .args(["run", "--", program])
        .envs([("SOFTACL_TRACE", "/dev/null"), ("SOFTACL_CHECK", "1")])
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&both.stderr);
    assert!(stderr.contains("a process is either checked or traced"), "{stderr}");
}
