//! Tests of the HTML report in a real browser: they measure what it renders.
//!
//! Skipped if no browser is installed. `SOFTACL_BROWSER` names one; then a missing browser is a failure.

use super::exploration::{Exploration, OrderFinding};
use super::{Outcome, example, html, order_svg};
use crate::finding::{Actor, Finding, Report, ReportedOperation};
use serde_json::Value;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn browser() -> Option<PathBuf> {
    if let Some(named) = env::var_os("SOFTACL_BROWSER").filter(|name| !name.is_empty()) {
        return Some(named.into());
    }
    let paths: Vec<PathBuf> = env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect();
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let found = names.iter().flat_map(|name| paths.iter().map(move |path| path.join(name))).find(|path| path.is_file());
    if found.is_none() {
        eprintln!("skipped: no browser is installed (apt-get install chromium, or set SOFTACL_BROWSER)");
    }
    found
}

fn start(browser: &Path, home: &Path, size: &str, dark: bool) -> Command {
    let mut command = Command::new(browser);
    command
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"])
        .arg(format!("--user-data-dir={}", home.join("profile").display()))
        .arg(format!("--window-size={size}"))
        .stdin(Stdio::null());
    if dark {
        command.arg("--blink-settings=preferredColorScheme=0");
    }
    command
}

/// Loads the page with `probe.js` and returns its measurements.
fn measure(browser: &Path, page: &str, size: &str, dark: bool) -> Value {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("page.html");
    let probe = format!("<script>{}</script></body>", include_str!("probe.js"));
    fs::write(&path, page.replace("</body>", &probe)).unwrap();
    let output = start(browser, home.path(), size, dark)
        .arg("--dump-dom")
        .arg(format!("file://{}", path.display()))
        .output()
        .expect("the browser starts");
    let dom = String::from_utf8(output.stdout).expect("text");
    let tag = "<script type=\"application/json\" id=\"probe\">";
    let found = dom.split_once(tag).and_then(|(_, rest)| rest.split_once("</script>"));
    let Some((json, _)) = found else {
        panic!("the page has no measurements: {}", String::from_utf8_lossy(&output.stderr));
    };
    serde_json::from_str(json).expect("the probe writes JSON")
}

/// A report with several shapes of findings: a host write, two streams, two threads on one stream, a task that never
/// ran.
fn shapes() -> Report {
    let mut report = example::report();
    let copy = report.findings[0].operations[0].clone();
    let mut add = |id: &str, roles: [&str; 2], change: fn(&mut ReportedOperation, &mut ReportedOperation)| {
        let (mut one, mut two) = (copy.clone(), copy.clone());
        two.operation.number = 8;
        change(&mut one.operation, &mut two.operation);
        (one.role, two.role) = (roles[0].into(), roles[1].into());
        report.findings.push(Finding {
            id: id.into(),
            fingerprint: id.into(),
            message: format!("a sentence about {id}"),
            operations: vec![one, two],
            ..report.findings[0].clone()
        });
    };
    add("S1", ["the first copy", "the second copy"], |_, two| {
        two.actor = Actor::Stream { stream: 3, sequence: 1 };
        (two.submitted, two.started, two.finished, two.waited) = (110.0, Some(300.0), Some(320.0), None);
    });
    add("S3", ["submitted here", "submitted there"], |_, two| {
        two.actor = Actor::Stream { stream: 2, sequence: 6 };
        two.thread = 2;
        (two.submitted, two.started, two.finished) = (101.0, Some(930.0), Some(931.0));
    });
    add("L3", ["the copy", "the free"], |one, two| {
        (one.started, one.finished, one.waited) = (None, None, None);
        two.actor = Actor::Thread { thread: 1 };
        (two.submitted, two.started, two.finished, two.waited) = (23_000_000.0, None, None, None);
    });
    report
}

#[test]
fn page_shows_operations_and_missing_order() {
    let Some(browser) = browser() else { return };
    let page = html::render(&Outcome::of(shapes()));
    let mut backgrounds = Vec::new();
    for (size, dark) in [("1280,1000", false), ("1280,1000", true), ("600,900", false)] {
        let seen = measure(&browser, &page, size, dark);
        assert_eq!(seen["errors"], serde_json::json!([]), "window {size}, dark {dark}");
        let drawings = seen["drawings"].as_array().unwrap();
        assert_eq!(drawings.len(), 5);
        let first = &drawings[0];
        assert_eq!(first["lanes"], serde_json::json!(["thread 1", "stream 1", "stream 2"]));
        let hot = first["hot"].as_array().unwrap();
        assert_eq!((&hot[0]["role"], &hot[1]["role"]), (&"the copy".into(), &"the write".into()));
        for operation in hot {
            assert!(operation["width"].as_f64().unwrap() >= 8.0, "{operation}");
            assert!(operation["hover"].as_str().unwrap().contains("app.c:"), "{operation}");
            assert_eq!(operation["fill"], first["gap"]["stroke"], "both have the color of the finding");
        }
        // Proven findings come first; the last one is advice and has no arrow.
        for drawing in &drawings[..4] {
            assert!(drawing["gap"]["length"].as_f64().unwrap() > 20.0, "{drawing}");
        }
        assert!(drawings[4]["gap"].is_null());
        backgrounds.push(seen["background"].clone());
    }
    assert_ne!(backgrounds[0], backgrounds[1], "dark mode changes the background");
}

#[test]
fn drawn_order_fits_the_page() {
    let Some(browser) = browser() else { return };
    let finding = OrderFinding { is_failure: true, drawing: order_svg::tests::example(), ..OrderFinding::default() };
    let exploration = Exploration { findings: vec![finding], ..Exploration::default() };
    let page = html::render(&Outcome { exploration: Some(exploration), ..Outcome::of(Report::default()) });
    for (size, dark) in [("1280,1000", false), ("1280,1000", true)] {
        let seen = measure(&browser, &page, size, dark);
        assert_eq!(seen["errors"], serde_json::json!([]), "window {size}, dark {dark}");
        assert_eq!(seen["drawings"][0]["lanes"], serde_json::json!(["host", "stream 2", "stream 10"]));
    }
}

#[test]
fn page_renders_in_light_dark_and_narrow_layouts() {
    let Some(browser) = browser() else { return };
    let home = tempfile::tempdir().unwrap();
    let keep = env::var_os("SOFTACL_SCREENSHOTS").map(PathBuf::from);
    for (name, size, dark) in
        [("light", "1180,2600", false), ("dark", "1180,2600", true), ("narrow", "600,2600", false)]
    {
        let page = home.path().join("page.html");
        let picture = home.path().join(format!("{name}.png"));
        fs::write(&page, html::render(&Outcome::of(shapes()))).unwrap();
        let output = start(&browser, home.path(), size, dark)
            .arg(format!("--screenshot={}", picture.display()))
            .arg(format!("file://{}", page.display()))
            .output()
            .expect("the browser starts");
        let bytes = fs::read(&picture).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
        assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 20_000, "{} bytes", bytes.len());
        if let Some(keep) = &keep {
            fs::copy(&picture, keep.join(format!("{name}.png"))).unwrap();
        }
    }
}
