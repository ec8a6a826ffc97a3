//! The report as one JSON object, for scripts. `docs/check.md` documents the keys.

use super::exploration::Exploration;
use super::{MergedFinding, Outcome, unknown_writer};
use crate::finding::{Finding, ReportedOperation};
use crate::unjudged::Unjudged;
use serde::Serialize;

#[derive(Serialize)]
struct Document<'a> {
    program: &'a [String],
    exit_code: Option<i32>,
    schedule: &'a str,
    seed: Option<u64>,
    soc: &'a str,
    version: &'a str,
    /// False if the program never used softacl.
    checked: bool,
    findings: Vec<Entry<'a>>,
    suppressed: u64,
    notes: &'a [String],
    unjudged: &'a [Unjudged],
    /// Fault-injection summary.
    faults: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    exploration: Option<&'a Exploration>,
    /// The command that repeats the run.
    repro_command: String,
    timeline: Vec<TimelineEntry<'a>>,
}

/// A finding. Its operations belong to the process `pid`.
#[derive(Serialize)]
struct Entry<'a> {
    #[serde(flatten)]
    finding: &'a Finding,
    pid: Option<u32>,
    /// Why the line of a write is unknown, and how to learn it.
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown_writer: Option<&'static str>,
}

impl<'a> Entry<'a> {
    fn new(case: &'a MergedFinding, pid: Option<u32>) -> Entry<'a> {
        let finding = &case.finding;
        Entry { finding, pid, unknown_writer: unknown_writer::reason(finding) }
    }
}

/// An operation of the timeline. Operation numbers, streams and threads are unique per process only.
#[derive(Serialize)]
struct TimelineEntry<'a> {
    pid: u32,
    #[serde(flatten)]
    operation: &'a ReportedOperation,
}

pub fn render(outcome: &Outcome) -> String {
    let pid = |case: &MergedFinding| outcome.processes.get(case.process).map(|process| process.pid);
    let document = Document {
        program: &outcome.program,
        exit_code: outcome.exit_code,
        schedule: &outcome.schedule,
        seed: outcome.seed,
        soc: &outcome.soc,
        version: &outcome.version,
        checked: outcome.unchecked.is_none(),
        findings: outcome.cases.iter().map(|case| Entry::new(case, pid(case))).collect(),
        suppressed: outcome.suppressed,
        notes: &outcome.notes,
        unjudged: &outcome.unjudged,
        faults: &outcome.faults,
        exploration: outcome.exploration.as_ref(),
        repro_command: outcome.repeat(),
        timeline: outcome
            .processes
            .iter()
            .flat_map(|process| process.timeline.iter().map(|operation| TimelineEntry { pid: process.pid, operation }))
            .collect(),
    };
    let mut text = serde_json::to_string_pretty(&document).expect("findings have text keys");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;
    use crate::finding::Report;

    #[test]
    fn json_has_the_documented_keys() {
        let mut outcome = Outcome::of(example::report());
        outcome.exit_code = Some(7);
        outcome.unjudged.push(example::unjudged());
        let json: serde_json::Value = serde_json::from_str(&render(&outcome)).unwrap();
        assert_eq!(json["exit_code"], 7);
        assert_eq!(json["schedule"], "late");
        let unjudged = serde_json::json!([
            { "findings": ["H1", "H3"], "what": "copy", "count": 3, "reason": "the memory is not watched" }
        ]);
        assert_eq!(json["unjudged"], unjudged);
        assert!(json["repro_command"].as_str().is_some_and(|command| command.starts_with("softacl check ")));
        assert!(json["seed"].is_null());
        let first = &json["findings"][0];
        assert_eq!((&first["id"], &first["severity"]), (&"H1".into(), &"PROVEN".into()));
        assert_eq!((&first["count"], &first["pid"]), (&3.into(), &1234.into()));
        let copy = &first["operations"][0];
        assert_eq!(copy["role"], "the copy");
        assert_eq!(copy["actor"]["stream"]["sequence"], 5);
        assert_eq!(copy["place"]["frames"][0]["line"], 42);
        assert_eq!(copy["ranges"][0]["mode"], "read");
        assert_eq!(json["timeline"].as_array().map(Vec::len), Some(4));
    }

    #[test]
    fn report_round_trips_through_json() {
        let report = example::report();
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
    }
}
