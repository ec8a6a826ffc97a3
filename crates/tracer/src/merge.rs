//! Merges the traces of several processes, line by line: each entry of a trace is one line.

use crate::chrome::{HEAD, TAIL};
use crate::summary::Summary;
use std::io;

/// Writes one trace that consists of several.
pub struct TraceMerger<W> {
    to: W,
    separator: &'static str,
    summaries: Vec<Summary>,
}

impl<W: io::Write> TraceMerger<W> {
    pub fn new(mut to: W) -> io::Result<TraceMerger<W>> {
        write!(to, "{HEAD}")?;
        Ok(TraceMerger { to, separator: "\n", summaries: Vec::new() })
    }

    /// Adds the entries of a trace. Returns `false` if the trace is truncated; its complete entries are added.
    pub fn add(&mut self, trace: impl io::BufRead) -> io::Result<bool> {
        let mut before: Option<String> = None;
        for line in trace.lines().skip(1) {
            let line = line?;
            // A line is known to be complete only when another one follows.
            if let Some(event) = before.take() {
                write!(self.to, "{}{}", self.separator, event.trim_end_matches(','))?;
                self.separator = ",\n";
            }
            if let Some(end) = line.strip_prefix(TAIL).and_then(|end| end.strip_suffix('}')) {
                let summary = serde_json::from_str(end).ok();
                let is_whole = summary.is_some();
                self.summaries.extend(summary);
                return Ok(is_whole);
            }
            before = Some(line);
        }
        Ok(false)
    }

    /// Ends the trace and returns the summary of each process.
    pub fn finish(mut self) -> io::Result<Vec<Summary>> {
        writeln!(self.to, "\n{TAIL}{}}}", serde_json::to_string(&self.summaries)?)?;
        self.to.flush()?;
        Ok(self.summaries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tracer;
    use serde_json::Value;

    fn merged(traces: &[&str]) -> (Vec<bool>, Value) {
        let mut text = Vec::new();
        let mut merger = TraceMerger::new(&mut text).unwrap();
        let whole: Vec<bool> = traces.iter().map(|trace| merger.add(trace.as_bytes()).unwrap()).collect();
        assert_eq!(merger.finish().unwrap().len(), whole.iter().filter(|whole| **whole).count());
        (whole, serde_json::from_slice(&text).unwrap())
    }

    fn count(value: &Value) -> usize {
        value["traceEvents"].as_array().unwrap().len()
    }

    #[test]
    fn empty_traces_are_reported_and_the_others_merged() {
        let mut one = Vec::new();
        Tracer::new(10).write(&mut one).unwrap();
        let one = String::from_utf8(one).unwrap();
        let (whole, value) = merged(&[&one, "", &one]);
        assert_eq!(whole, [true, false, true]);
        assert_eq!(count(&value), 2 * count(&serde_json::from_str(&one).unwrap()));
        assert_eq!(value["softacl"].as_array().unwrap().len(), 2);
        assert_eq!(count(&merged(&[]).1), 0);
    }

    #[test]
    fn truncated_trace_is_reported_and_the_file_stays_valid() {
        let cut = format!("{HEAD}\n{{\"ph\":\"M\"}},\n{{\"ph\":\"X\",\"name\":\"half");
        let (whole, value) = merged(&[&cut]);
        assert_eq!((whole, count(&value)), (vec![false], 1));
    }
}
