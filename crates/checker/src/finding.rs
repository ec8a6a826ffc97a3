//! Findings: what the checker says, as data. Rendering is the business of `report`.

use crate::report::format;
use serde::{Deserialize, Serialize};

/// What one process did wrong, and on which schedule.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The program and its arguments.
    pub program: Vec<String>,
    pub pid: u32,
    pub version: String,
    pub soc: String,
    /// As `SOFTACL_SCHEDULE` takes it.
    pub schedule: String,
    /// The seed of a random schedule.
    pub seed: Option<u64>,
    pub findings: Vec<Finding>,
    /// Findings that a suppression hid.
    pub suppressed: u64,
    /// What else the reader must know, such as memory that could not be watched.
    #[serde(default)]
    pub notes: Vec<String>,
    /// What became of the fault rules, a line for each.
    #[serde(default)]
    pub faults: Vec<String>,
    /// Operations of the streams and threads that findings name, oldest first, for the drawing.
    pub timeline: Vec<ReportedOperation>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Severity {
    /// It happened in this run, or this run shows that another legal order breaks it.
    Proven,
    /// Performance, deprecation, style.
    Advice,
}

/// One mistake, found `count` times at the same places.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// `H1` to `R1`.
    pub id: String,
    pub severity: Severity,
    /// One sentence, with the numbers.
    pub message: String,
    /// What would fix it.
    pub fix: String,
    pub count: u64,
    /// The operations that the sentence is about, usually two.
    pub operations: Vec<Participant>,
    /// The same, as one stable text: id, functions and places with all callers. Equal for findings that are the
    /// same mistake.
    pub fingerprint: String,
}

/// An operation and what it has to do with the finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Participant {
    /// Such as "the copy", "the write", "allocated here".
    pub role: String,
    #[serde(flatten)]
    pub operation: ReportedOperation,
}

/// Something that a stream or a host thread did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReportedOperation {
    /// Unique in its process, in the order of the calls.
    pub number: u64,
    /// In words: "copy of 4096 bytes from pinned host memory to device 0".
    pub what: String,
    /// The function of the interface, if it was a call.
    pub function: Option<String>,
    /// Who does it: for a task its stream, otherwise the thread.
    pub actor: Actor,
    /// The thread that asked for it.
    pub thread: u32,
    pub ranges: Vec<Bytes>,
    pub place: Backtrace,
    /// Microseconds since the start of the program.
    pub submitted: f64,
    /// When a task ran, if it did.
    pub started: Option<f64>,
    pub finished: Option<f64>,
    /// When a wait of the host covered it, if one did.
    pub waited: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Actor {
    Thread { thread: u32 },
    Stream { stream: u32, sequence: u64 },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bytes {
    pub address: u64,
    pub len: u64,
    pub mode: Mode,
    /// In words: "bytes 0 to 4095 of the 8192 bytes of pinned host memory at 0x…".
    pub what: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    Read,
    Write,
}

/// Where in the program, innermost frame first; empty when unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backtrace {
    pub frames: Vec<Frame>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    pub function: Option<String>,
    pub file: Option<String>,
    pub line: Option<u32>,
    /// The executable or library, and the offset in it, for code without debug information.
    pub module: Option<String>,
    pub offset: u64,
}

impl Report {
    /// Whether anything was proven.
    pub fn is_proven(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity == Severity::Proven)
    }
}

impl Participant {
    /// What was called, and from where: all callers, since one helper serves many, and the function, since a
    /// line may call several.
    pub(crate) fn site(&self) -> String {
        let ReportedOperation { function, place, .. } = &self.operation;
        let frames: Vec<String> = place.frames.iter().map(Frame::site).collect();
        let frames = if frames.is_empty() { "?".to_owned() } else { frames.join("<") };
        function.as_ref().map_or(frames.clone(), |function| format!("{function}@{frames}"))
    }
}

impl Frame {
    /// The same in every process that runs this code.
    fn site(&self) -> String {
        match (&self.file, self.line, &self.module) {
            (Some(file), Some(line), _) => format!("{}:{line}", format::tidy(file).display()),
            (_, _, Some(module)) => format!("{module}+{:#x}", self.offset),
            // Code that was made at run time lies elsewhere in each process.
            (_, _, None) => "?".to_owned(),
        }
    }
}

impl Backtrace {
    /// The innermost frame that says a file and a line, or else the innermost.
    pub fn best(&self) -> Option<&Frame> {
        self.frames.iter().find(|frame| frame.line.is_some()).or(self.frames.first())
    }
}

#[cfg(test)]
mod tests {
    use crate::report::example;

    #[test]
    fn callers_and_functions_tell_mistakes_apart() {
        let part = &example::report().findings[0].operations[0];
        let mut other = part.clone();
        other.operation.place.frames[1].line = Some(91);
        assert_ne!(part.site(), other.site(), "another caller of the same helper");
        let mut other = part.clone();
        other.operation.function = Some("aclrtMemsetAsync".into());
        assert_ne!(part.site(), other.site(), "another call in the same line");
        let mut other = part.clone();
        other.operation.number += 1;
        other.operation.place.frames.iter_mut().for_each(|frame| frame.offset += 16);
        assert_eq!(part.site(), other.site(), "the same lines, compiled again");
    }

    #[test]
    fn code_without_lines_goes_by_where_it_lies() {
        let mut part = example::report().findings[0].operations[0].clone();
        part.operation.place.frames.truncate(2);
        part.operation.place.frames.iter_mut().for_each(|frame| frame.line = None);
        part.operation.place.frames[1].module = None;
        assert_eq!(part.site(), "aclrtMemcpyAsync@/no/such/app+0x1000<?");
        part.operation.place.frames.clear();
        assert_eq!(part.site(), "aclrtMemcpyAsync@?");
    }
}
