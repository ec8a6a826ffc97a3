//! Validates traces: the JSON parses, tasks of a stream do not overlap, calls of a thread nest, and every arrow has two
//! ends.

use crate::files::entries;
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;

/// Maximum number of trace events per run. Some programs make a million calls.
pub const EVENT_LIMIT: &str = "10000";
/// Tolerance of comparisons in us. Times have three decimal places.
const TOLERANCE: f64 = 0.0015;

/// Returns the first error in the traces of a directory.
pub fn first_error(directory: &Path) -> Result<Option<String>> {
    let is_log = |path: &Path| path.extension().is_some_and(|extension| extension == "log");
    for path in entries(directory)? {
        // The log of a process that could not write its trace, for example because it had no descriptors left.
        if is_log(&path) {
            continue;
        }
        let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        // The process ended without running exit handlers.
        if text.is_empty() {
            continue;
        }
        let error = match serde_json::from_str::<Value>(&text) {
            Err(error) => Some(error.to_string()),
            Ok(trace) => validate(&trace),
        };
        if let Some(error) = error {
            return Ok(Some(format!("the trace {} is invalid: {error}", path.display())));
        }
    }
    Ok(None)
}

fn validate(trace: &Value) -> Option<String> {
    let Some(events) = trace["traceEvents"].as_array() else { return Some("no traceEvents".to_owned()) };
    let mut rows: BTreeMap<(u64, u64), Vec<Slice>> = BTreeMap::new();
    let mut arrows: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    let mut ranges: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    for event in events {
        match event["ph"].as_str() {
            Some("X") => {
                let row = (event["pid"].as_u64()?, event["tid"].as_u64()?);
                rows.entry(row).or_default().push(Slice::of(event)?);
            }
            Some("s") => arrows.entry(format!("{} {}", event["cat"], event["id"])).or_default().0 += 1,
            Some("f") => arrows.entry(format!("{} {}", event["cat"], event["id"])).or_default().1 += 1,
            Some("b") => ranges.entry(format!("{} {}", event["name"], event["id"])).or_default().0 += 1,
            Some("e") => ranges.entry(format!("{} {}", event["name"], event["id"])).or_default().1 += 1,
            Some("M" | "C" | "i") => {}
            other => return Some(format!("an event with phase {other:?}")),
        }
    }
    if let Some((arrow, ends)) = arrows.iter().find(|(_, ends)| **ends != (1, 1)) {
        return Some(format!("the arrow {arrow} has {ends:?} ends"));
    }
    if let Some((range, ends)) = ranges.iter().find(|(_, (begins, ends))| begins != ends) {
        return Some(format!("the range {range} has {ends:?} ends"));
    }
    rows.into_iter().find_map(|(row, slices)| Some(format!("row {row:?}: {}", overlap(slices)?)))
}

struct Slice {
    name: String,
    is_call: bool,
    start: f64,
    end: f64,
}

impl fmt::Display for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} to {})", self.name, self.start, self.end)
    }
}

impl Slice {
    fn of(event: &Value) -> Option<Slice> {
        let start = event["ts"].as_f64()?;
        Some(Slice {
            name: event["name"].as_str()?.to_owned(),
            is_call: matches!(event["cat"].as_str()?, "call" | "copy"),
            start,
            end: start + event["dur"].as_f64().filter(|time| *time >= 0.0)?,
        })
    }
}

/// Returns two slices of a row that overlap. Calls of a thread may nest.
fn overlap(mut slices: Vec<Slice>) -> Option<String> {
    slices.sort_by(|one, other| one.start.total_cmp(&other.start).then(other.end.total_cmp(&one.end)));
    let mut open: Vec<Slice> = Vec::new();
    for slice in slices {
        open.retain(|outer| outer.end > slice.start + TOLERANCE);
        if let Some(outer) = open.last() {
            let is_inside = slice.is_call && slice.end <= outer.end + TOLERANCE;
            if !is_inside {
                return Some(format!("{slice} begins during {outer}"));
            }
        }
        open.push(slice);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn slice(cat: &str, ts: f64, dur: f64) -> Value {
        json!({ "ph": "X", "name": "some", "cat": cat, "pid": 1, "tid": 2, "ts": ts, "dur": dur })
    }

    #[test]
    fn overlapping_slices_and_incomplete_arrows_are_errors() {
        let error = |events: &[Value]| validate(&json!({ "traceEvents": events }));
        assert_eq!(error(&[slice("task", 1.0, 2.0), slice("task", 3.0, 1.0)]), None);
        assert!(error(&[slice("task", 1.0, 2.5), slice("task", 3.0, 1.0)]).is_some());
        assert_eq!(error(&[slice("call", 1.0, 2.5), slice("copy", 1.5, 1.0), slice("call", 3.5, 0.0)]), None);
        assert!(error(&[slice("call", 1.0, 2.5), slice("call", 3.0, 1.0)]).is_some());
        let arrow = |phase: &str| json!({ "ph": phase, "cat": "submit", "id": "1.2.3" });
        assert_eq!(error(&[arrow("s"), arrow("f")]), None);
        assert!(error(&[arrow("s")]).is_some() && error(&[arrow("s"), arrow("f"), arrow("f")]).is_some());
        let range = |phase: &str| json!({ "ph": phase, "cat": "range", "name": "some", "id": "1.2" });
        assert_eq!(error(&[range("b"), range("b"), range("e"), range("e"), json!({ "ph": "i" })]), None);
        assert!(error(&[range("b")]).is_some());
        assert!(validate(&json!({})).is_some());
    }
}
