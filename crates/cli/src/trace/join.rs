//! The traces of several processes as one. They are joined line by line: an event is a line.

use anyhow::{Context, Result};
use softacl_tracer::{Summary, TAIL};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write};
use std::path::Path;

/// What the traces have come to.
pub struct Joined {
    pub summaries: Vec<Summary>,
    /// Processes that left nothing.
    pub notes: Vec<String>,
}

/// Writes all traces of a directory as one.
pub fn join(directory: &Path, to: &mut impl Write) -> Result<Joined> {
    let mut joined = Joined { summaries: Vec::new(), notes: Vec::new() };
    let mut traces = Vec::new();
    for entry in fs::read_dir(directory).context("could not read the directory of traces")? {
        let path = entry?.path();
        let process = path.file_stem().and_then(|name| name.to_str()).and_then(|name| name.parse::<u32>().ok());
        traces.extend(process.map(|process| (process, path)));
    }
    traces.sort_unstable();
    write!(to, "{}", softacl_tracer::HEAD)?;
    let mut separator = "\n";
    for (process, path) in traces {
        let file = File::open(&path).with_context(|| format!("could not read {}", path.display()))?;
        let (mut summary, mut before) = (None, None::<String>);
        for line in BufReader::new(file).lines().skip(1) {
            let line = line.with_context(|| format!("could not read {}", path.display()))?;
            // A line is whole when there is another one.
            if let Some(event) = before.take() {
                write!(to, "{separator}{}", event.trim_end_matches(','))?;
                separator = ",\n";
            }
            match line.strip_prefix(TAIL).and_then(|tail| tail.strip_suffix('}')) {
                Some(tail) => summary = serde_json::from_str(tail).ok(),
                None => before = Some(line),
            }
        }
        match summary {
            Some(summary) => joined.summaries.push(summary),
            None => joined.notes.push(format!(
                "process {process} left no whole trace: it was killed, became another program, left with _exit, or still runs"
            )),
        }
    }
    writeln!(to, "\n{TAIL}{}}}", serde_json::to_string(&joined.summaries)?)?;
    Ok(joined)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn traces_are_joined_and_what_is_missing_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
        let tracer = softacl_tracer::Tracer::new(10);
        let mut whole = Vec::new();
        tracer.write(&mut whole).unwrap();
        let whole = String::from_utf8(whole).unwrap();
        put("12.json", &whole);
        put("7.json", &whole);
        put("3.json", "");
        put("notes.txt", "nothing of ours");
        let mut text = Vec::new();
        let joined = join(directory.path(), &mut text).unwrap();
        assert_eq!((joined.summaries.len(), joined.notes.len()), (2, 1));
        assert!(joined.notes[0].starts_with("process 3 left no whole trace"), "{:?}", joined.notes);
        let value: Value = serde_json::from_slice(&text).unwrap();
        let one: Value = serde_json::from_str(&whole).unwrap();
        let count = |value: &Value| value["traceEvents"].as_array().unwrap().len();
        assert_eq!(count(&value), 2 * count(&one));
        assert_eq!(value["softacl"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn a_trace_that_was_cut_short_is_told_and_the_file_stays_whole() {
        let directory = tempfile::tempdir().unwrap();
        let line = r#"{"ph":"X","name":"half"#;
        fs::write(directory.path().join("5.json"), format!("{}\n{{\"ph\":\"M\"}},\n{line}", softacl_tracer::HEAD))
            .unwrap();
        let mut text = Vec::new();
        let joined = join(directory.path(), &mut text).unwrap();
        assert_eq!(joined.notes.len(), 1);
        let value: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(value["traceEvents"].as_array().unwrap().len(), 1);
    }
}
