//! Fuzz targets that parse external text: configuration files, names and versions of chips, chip profiles,
//! suppressions, reports of the checker, fault rules, environment variables.
//!
//! Inputs are mutated examples. In builds with edge counters (`cargo xtask fuzz` enables them), an input that reaches
//! new coverage becomes an example. An input fails if the parser panics or takes too long.

use crate::coverage;
use ascendcl_capi as acl;
use fastrand::Rng;
use softacl_checker::finding::Report;
use softacl_checker::report::suppression::Suppressions;
use softacl_checker::report::{Outcome, html, json, sarif, text};
use softacl_faults::{Injection, MatchContext, Resource};
use std::ffi::CString;
use std::panic::catch_unwind;
use std::time::{Duration, Instant};

/// CPU time after which an input counts as too slow.
const MAX_CPU_TIME: Duration = Duration::from_secs(2);
const MAX_INPUT_LEN: usize = 16 << 10;

/// A fuzz target.
#[derive(Clone, Copy)]
pub struct Parser {
    name: &'static str,
    examples: &'static [&'static str],
    /// Tokens of the format, which mutations insert.
    words: &'static [&'static str],
    parse: fn(&str),
}

static PARSERS: &[Parser] = &[
    Parser {
        name: "json",
        examples: &[
            "{\"defaultDevice\":{\"default_device\":\"0\"}}",
            "{\"err_msg_mode\":\"1\",\"dump\":{\"dump_list\":[]}}",
            "{\"a\":[1,2.5e3,true,null,\"\\u0041\"]}",
        ],
        words: &[
            "err_msg_mode",
            "defaultDevice",
            "default_device",
            "\"",
            "{",
            "}",
            "[",
            "]",
            ":",
            "-1",
            "1e999",
            "4294967296",
        ],
        parse: parse_config,
    },
    Parser {
        name: "profiles",
        examples: &[
            "Ascend910B3",
            "Ascend310P",
            "9.2.0",
            "8.5",
            include_str!("../../crates/profiles/chips/ascend910b.toml"),
        ],
        words: &[
            "Ascend",
            "910",
            "B",
            "950",
            "_",
            "EP",
            "RC",
            ".",
            "9",
            "[copy]",
            "streams",
            " = ",
            "true",
            "18446744073709551616",
        ],
        parse: parse_profile,
    },
    Parser {
        name: "suppressions",
        examples: &["H1 file.c:42\n# comment\nS1 *\n", "L3 operator()(int*)", "D1 a::b"],
        words: &["H1", "S1", "L4", "M1", " ", "*", ":", "::", "#", "\n", "operator", "(", "<", "4294967296", ".c:1"],
        parse: parse_suppressions,
    },
    Parser {
        name: "report",
        examples: &[include_str!("../examples/report.json")],
        words: &[
            "findings",
            "null",
            "\"",
            "{",
            "}",
            "[]",
            "[",
            "]",
            ",",
            "-1",
            "18446744073709551615",
            "\\u0000",
            "<script>",
        ],
        parse: parse_report,
    },
    Parser {
        name: "faults",
        examples: &[
            "aclrtMalloc@3=207001; copy[stream=2, size>=1MiB]@2+=507013\ntask@10%:42=slow 20ms # now and then",
            "link[device=0, peer=1]@50+ = lost\nallocation[size<64KiB]@3-5=ecc 4KiB+64\nmmap@1=fail",
            "acl*@7=ACL_ERROR_RT_STREAM_SYNC_TIMEOUT; batch=stuck; reduce@1=ecc; fill=lost",
        ],
        words: &[
            "aclrtMemcpyAsync",
            "acl*",
            "task",
            "copy",
            "plane",
            "allocation",
            "link",
            "thread",
            "buffer",
            "[size>=1GiB]",
            "[device=0,peer=1]",
            "@3",
            "@3+",
            "@1-2",
            "@0.5%:7",
            "=",
            "507899",
            "slow 1us",
            "stuck",
            "ecc 0+1",
            "lost",
            "fail",
            ";",
            "\n",
            "\t",
            "#",
            "18446744073709551616",
            "\u{e9}",
            "\u{2028}",
        ],
        parse: parse_faults,
    },
    Parser {
        name: "environment",
        examples: &[
            "Ascend910B\nEP\n9.2\n2\n64GiB\nthreads\n250\nalign\n0,1",
            "Ascend310P\nRC\n7.0\n64\n2MiB\nrandom:7\n1\n\n1,0",
        ],
        words: &["\n", "GiB", "K", "1024", "random:", "late", "18446744073709551615", "-", ",", "é", "\0", "0x"],
        parse: parse_environment,
    },
];

/// Returns the target with this name.
pub fn parser(name: &str) -> Option<Parser> {
    PARSERS.iter().find(|parser| parser.name == name).copied()
}

/// Returns the names of all targets.
pub fn names() -> String {
    PARSERS.iter().map(|parser| parser.name).collect::<Vec<_>>().join(", ")
}

/// Runs mutated examples until the time is up or one fails.
pub fn fuzz(parser: Parser, time: Duration, seed: u64) -> Result<(), String> {
    std::panic::set_hook(Box::new(|_| ()));
    let mut rng = Rng::with_seed(seed);
    let mut examples: Vec<Vec<u8>> = parser.examples.iter().map(|text| text.as_bytes().to_vec()).collect();
    let start = Instant::now();
    let mut runs = 0u64;
    for example in examples.clone() {
        attempt(parser, &example)?;
        coverage::is_new();
    }
    while start.elapsed() < time {
        let input = mutate(&mut rng, &examples, parser.words);
        runs += 1;
        if let Err(why) = attempt(parser, &input) {
            let small = shrink(&input, |candidate| attempt(parser, candidate).is_err());
            return Err(format!(
                "{} after {runs} runs from seed {seed}: {why}\nsmallest input found: {:?}",
                parser.name,
                String::from_utf8_lossy(&small)
            ));
        }
        if coverage::is_new() && examples.len() < 20_000 {
            examples.push(input);
        }
    }
    println!(
        "fuzz {}: {runs} runs, {} examples at the end, {} of {} edges reached, {:.0} s, seed {seed}",
        parser.name,
        examples.len(),
        coverage::reached(),
        coverage::edges(),
        start.elapsed().as_secs_f64()
    );
    Ok(())
}

/// Runs the parser on an input. The error describes the failure.
fn attempt(parser: Parser, input: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(input);
    let start = cpu_time();
    let result = catch_unwind(|| (parser.parse)(&text));
    if let Err(panic) = result {
        let message =
            panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
        return Err(format!("panicked: {}", message.unwrap_or_default()));
    }
    let used = cpu_time().saturating_sub(start);
    if used > MAX_CPU_TIME { Err(format!("took {used:?}")) } else { Ok(()) }
}

/// CPU time of this process. Wall-clock time would depend on the load of the host.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes to `time`.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Applies a few random mutations to a random example.
fn mutate(rng: &mut Rng, examples: &[Vec<u8>], words: &[&str]) -> Vec<u8> {
    // Prefer the newest examples: they reached new coverage.
    let pick =
        if rng.bool() { rng.usize(..examples.len()) } else { examples.len() - 1 - rng.usize(..examples.len().min(20)) };
    let mut input = examples[pick].clone();
    for _ in 0..rng.usize(1..6) {
        let at = rng.usize(..=input.len());
        let end = (at + rng.usize(1..20)).min(input.len());
        match rng.u32(0..8) {
            0 => drop(input.drain(at..end)),
            1 => input.insert(at, rng.u8(..)),
            2 if at < input.len() => input[at] ^= 1 << rng.u32(0..8),
            3..=4 => drop(input.splice(at..at, words[rng.usize(..words.len())].bytes())),
            5 => drop(input.splice(at..end, words[rng.usize(..words.len())].bytes())),
            6 => {
                let piece = input[at..end].to_vec();
                let to = rng.usize(..=input.len());
                let many = piece.repeat(rng.usize(1..5));
                input.splice(to..to, many);
            }
            _ => {
                let other = &examples[rng.usize(..examples.len())];
                let from = rng.usize(..=other.len());
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
        }
    }
    input.truncate(MAX_INPUT_LEN);
    input
}

/// Removes bytes as long as the input still fails.
fn shrink(input: &[u8], fails: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut best = input.to_vec();
    let mut chunk = best.len() / 2;
    while chunk > 0 {
        let mut start = 0;
        while start < best.len() {
            let mut candidate = best.clone();
            candidate.drain(start..(start + chunk).min(best.len()));
            if fails(&candidate) { best = candidate } else { start += chunk }
        }
        chunk /= 2;
    }
    best
}

/// Configuration files of `aclInit` and `aclmdlSetDump`.
fn parse_config(text: &str) {
    let path = std::env::temp_dir().join(format!("softacl-fuzz-{}.json", std::process::id()));
    std::fs::write(&path, text).expect("the temporary directory can be written");
    let name = CString::new(path.to_str().expect("the path is UTF-8")).expect("the path has no zero");
    // SAFETY: the name is zero-terminated.
    let codes = unsafe {
        [acl::init::aclInit(name.as_ptr()), acl::dump::aclmdlInitDump(), acl::dump::aclmdlSetDump(name.as_ptr())]
    };
    // SAFETY: these functions take no arguments.
    unsafe {
        acl::dump::aclmdlFinalizeDump();
        acl::init::aclFinalize();
    }
    let _ = std::fs::remove_file(&path);
    // The entry layer catches panics and returns this code.
    assert!(!codes.contains(&500_000), "aclInit or aclmdlSetDump panicked");
}

/// Names of chips and CANN versions, and chip profiles.
fn parse_profile(text: &str) {
    let (first, second) = text.split_once('\n').unwrap_or((text, "EP"));
    for form in [None, Some(second)] {
        if let Err(why) = softacl_profiles::profile(Some(first), form) {
            assert!(!why.to_string().is_empty());
        }
    }
    if let Err(why) = softacl_profiles::cann(Some(first)) {
        assert!(!why.to_string().is_empty());
    }
    let _ = toml::from_str::<softacl_profiles::Chip>(text);
}

/// Suppression files, applied to the example report.
fn parse_suppressions(text: &str) {
    match Suppressions::parse(text) {
        Err(why) => assert!(why.line > 0 && !why.reason.is_empty()),
        Ok(suppressions) => {
            let report: Report =
                serde_json::from_str(include_str!("../examples/report.json")).expect("the example is a report");
            assert!(!report.findings.is_empty());
            for finding in &report.findings {
                suppressions.hides(finding);
            }
        }
    }
}

/// Reports of the checker, rendered in every format.
fn parse_report(text: &str) {
    let Ok(report) = serde_json::from_str::<Report>(text) else { return };
    let outcome = Outcome::of(report);
    for rendered in [text::render(&outcome, text::Options::default()), html::render(&outcome), sarif::render(&outcome)]
    {
        assert!(!rendered.is_empty());
    }
    serde_json::from_str::<serde_json::Value>(&json::render(&outcome)).expect("the rendered report is JSON");
}

/// Fault rules: parses, formats, matches and summarizes them. An error must contain its column.
fn parse_faults(text: &str) {
    // A leading @ names a file, which is not the subject of this target.
    let text = text.trim_start_matches(|c: char| c == '@' || c.is_whitespace());
    let rules = match acl::fault_rules(text) {
        Ok(rules) => rules,
        Err(why) => return assert!(why.contains("column "), "{why}"),
    };
    for rule in &rules {
        // A formatted rule parses to an equal rule.
        let again = acl::fault_rules(&rule.to_string()).expect("a formatted rule parses");
        let [again] = again.as_slice() else { panic!("{rule} is {} rules", again.len()) };
        assert_eq!((&again.point, &again.filters, again.effect), (&rule.point, &rule.filters, rule.effect));
    }
    let count = rules.len();
    let injection = Injection::new(rules, 2);
    let context = |number: u64| MatchContext {
        size: Some(number << 12),
        stream: Some(number % 3),
        device: Some(number % 2),
        peer: None,
    };
    for number in 0..4 {
        injection.call("aclrtMalloc", || context(number));
        injection.refuses(Resource::Map, number as usize);
    }
    assert_eq!(injection.summary().len(), count);
}

/// Environment variables, one value per line.
fn parse_environment(text: &str) {
    const NAMES: [&str; 10] = [
        "SOFTACL_SOC",
        "SOFTACL_FORM",
        "SOFTACL_CANN",
        "SOFTACL_DEVICES",
        "SOFTACL_MEMORY",
        "SOFTACL_HOST_MEMORY",
        "SOFTACL_SCHEDULE",
        "SOFTACL_PROGRESS_TIMEOUT_MS",
        "SOFTACL_STRICT",
        "ASCEND_RT_VISIBLE_DEVICES",
    ];
    let mut lines = text.split('\n');
    for name in NAMES {
        let value = lines.next().unwrap_or_default().replace('\0', "");
        // SAFETY: this process has one thread.
        unsafe { std::env::set_var(name, value) };
    }
    match acl::from_environment() {
        Ok(config) => assert!(config.memory >= 2 << 20 && config.devices.len() <= 64),
        Err(why) => assert!(why.contains("SOFTACL_"), "{why} does not name the variable"),
    }
}
