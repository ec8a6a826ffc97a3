//! Whether a trace holds together: it can be read, a stream does one thing after the other, calls lie in each
//! other, and arrows have two ends.

use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;

/// Facts that a run keeps: some programs make a million calls.
pub const EVENT_LIMIT: &str = "10000";
/// Times are in us, with three places.
const TOLERANCE: f64 = 0.0015;

/// What is wrong with the traces of a directory.
pub fn first_error(directory: &Path) -> Result<Option<String>> {
    for path in super::entries(directory)? {
        let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        // A process that left without running exit handlers.
        if text.is_empty() {
            continue;
        }
        let wrong = match serde_json::from_str::<Value>(&text) {
            Err(error) => Some(error.to_string()),
            Ok(trace) => judge(&trace),
        };
        if let Some(wrong) = wrong {
            return Ok(Some(format!("the trace {} is wrong: {wrong}", path.display())));
        }
    }
    Ok(None)
}

fn judge(trace: &Value) -> Option<String> {
    let Some(events) = trace["traceEvents"].as_array() else { return Some("it has no events".to_owned()) };
    let mut rows: BTreeMap<(u64, u64), Vec<Slice>> = BTreeMap::new();
    let mut arrows: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    for event in events {
        match event["ph"].as_str() {
            Some("X") => {
                let row = (event["pid"].as_u64()?, event["tid"].as_u64()?);
                rows.entry(row).or_default().push(Slice::of(event)?);
            }
            Some("s") => arrows.entry(format!("{} {}", event["cat"], event["id"])).or_default().0 += 1,
            Some("f") => arrows.entry(format!("{} {}", event["cat"], event["id"])).or_default().1 += 1,
            Some("M" | "C") => {}
            other => return Some(format!("an event of the kind {other:?}")),
        }
    }
    if let Some((arrow, ends)) = arrows.iter().find(|(_, ends)| **ends != (1, 1)) {
        return Some(format!("the arrow {arrow} has {ends:?} ends"));
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

/// Two slices of a row that overlap. Those of a thread may lie in each other.
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
    fn wrong_traces_are_seen() {
        let judged = |events: &[Value]| judge(&json!({ "traceEvents": events }));
        assert_eq!(judged(&[slice("task", 1.0, 2.0), slice("task", 3.0, 1.0)]), None);
        assert!(judged(&[slice("task", 1.0, 2.5), slice("task", 3.0, 1.0)]).is_some());
        assert_eq!(judged(&[slice("call", 1.0, 2.5), slice("copy", 1.5, 1.0), slice("call", 3.5, 0.0)]), None);
        assert!(judged(&[slice("call", 1.0, 2.5), slice("call", 3.0, 1.0)]).is_some());
        let arrow = |phase: &str| json!({ "ph": phase, "cat": "submit", "id": "1.2.3" });
        assert_eq!(judged(&[arrow("s"), arrow("f")]), None);
        assert!(judged(&[arrow("s")]).is_some() && judged(&[arrow("s"), arrow("f"), arrow("f")]).is_some());
        assert!(judge(&json!({})).is_some());
    }
}
