//! Findings as data. Rendering is in `report`.

pub use crate::finding_id::FindingId;
use crate::picture::Picture;
use crate::source_path;
use crate::unjudged::Unjudged;
use serde::{Deserialize, Serialize};

/// Findings of one process, and the run they come from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The program and its arguments.
    pub program: Vec<String>,
    pub pid: u32,
    pub version: String,
    pub soc: String,
    /// In the syntax of `SOFTACL_SCHEDULE`.
    pub schedule: String,
    /// The seed of a random schedule.
    pub seed: Option<u64>,
    pub findings: Vec<Finding>,
    /// Number of findings that suppressions hid.
    pub suppressed: u64,
    /// Limits of the report, such as memory that could not be protected.
    #[serde(default)]
    pub notes: Vec<String>,
    /// What could not be judged, one entry per reason.
    #[serde(default)]
    pub unjudged: Vec<Unjudged>,
    /// Fault-injection summary, one line per rule.
    #[serde(default)]
    pub faults: Vec<String>,
    /// Who waited for whom when the process was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Picture>,
    /// Accesses to memory that several processes share.
    #[serde(default)]
    pub shared: ProcessAccesses,
    /// Operations of the streams and threads that findings name, oldest first, for the timeline.
    pub timeline: Vec<ReportedOperation>,
}

/// Severity of a finding. Proven findings sort first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Severity {
    /// It happened in this run, or this run shows that another legal order would break it.
    Proven,
    /// Performance, deprecation and style.
    Advice,
}

/// One mistake that was found `count` times at the same locations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// A [`FindingId`] as text, because a report may come from another version.
    pub id: String,
    pub severity: Severity,
    /// One sentence with the numbers.
    pub message: String,
    /// How to fix it.
    pub fix: String,
    pub count: u64,
    /// The operations of the message, usually two.
    pub operations: Vec<Participant>,
    /// Stable id of the mistake: finding id, functions, and locations with all callers. Equal for equal mistakes.
    pub fingerprint: String,
}

/// An operation and its role in the finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Participant {
    /// Such as "the copy", "the write", "allocated here".
    pub role: String,
    #[serde(flatten)]
    pub operation: ReportedOperation,
}

/// An operation of a stream or of a host thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReportedOperation {
    /// Unique in its process, ascending in call order.
    pub number: u64,
    /// Description such as "copy of 4096 bytes".
    pub what: String,
    /// The API function, if it was a call.
    pub function: Option<String>,
    /// The stream of a task, otherwise the thread.
    pub actor: Actor,
    /// The thread that submitted it.
    pub thread: u32,
    pub ranges: Vec<Bytes>,
    /// Source location with callers.
    pub place: Backtrace,
    /// Microseconds since the start of the program.
    pub submitted: f64,
    /// Start of the task, if it ran.
    pub started: Option<f64>,
    /// End of the task, if it finished.
    pub finished: Option<f64>,
    /// Time of the first host wait that covers it, if any.
    pub waited: Option<f64>,
}

/// The stream or thread that executes an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Actor {
    Thread { thread: u32 },
    Stream { stream: u32, sequence: u64 },
}

/// A range that an operation reads or writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bytes {
    pub address: u64,
    pub len: u64,
    pub mode: Mode,
    /// Description such as "bytes 0 to 4095 of the 8192 bytes at 0x…, pinned host memory".
    pub what: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    Read,
    Write,
}

/// Accesses of one process to memory that several processes share.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessAccesses {
    /// Device and inode of the memory that the process shares.
    pub files: Vec<(u64, u64)>,
    /// Oldest first.
    pub accesses: Vec<SharedAccess>,
    /// Locations of the accesses.
    pub places: Vec<Backtrace>,
    /// Number of older accesses that are not listed.
    pub forgotten: u64,
    /// Number of ranges of listed accesses that are not listed.
    pub omitted: u64,
}

/// A task or a blocking call that accesses shared memory. Times are nanoseconds of the system's monotonic clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SharedAccess {
    pub ranges: Vec<SharedRange>,
    /// From when on the task could run: it was queued, and everything outside of its process that it waited for had
    /// happened. `None` if that never was the case.
    pub ready: Option<u64>,
    /// When something that another process may have done let it continue.
    pub gated: u64,
    /// Before the first byte is accessed.
    pub started: u64,
    /// When a host wait of its process covered it.
    pub known: u64,
    pub is_call: bool,
    /// Without its location.
    pub operation: ReportedOperation,
    /// Index into [`ProcessAccesses::places`].
    pub place: usize,
}

/// A range of a memory file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedRange {
    /// Device and inode, the same in all processes.
    pub file: (u64, u64),
    pub start: u64,
    pub end: u64,
    /// Address in the process.
    pub address: u64,
    pub is_write: bool,
}

/// A source location with its callers, innermost frame first. Empty if unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backtrace {
    pub frames: Vec<Frame>,
}

/// A frame of a backtrace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    pub function: Option<String>,
    pub file: Option<String>,
    pub line: Option<u32>,
    /// The executable or library, for code without debug information.
    pub module: Option<String>,
    /// Offset in the module.
    pub offset: u64,
}

impl Report {
    /// True if at least one finding is proven.
    pub fn is_proven(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity == Severity::Proven)
    }
}

impl Participant {
    /// Stable text of the call site: the function, since a line may call several, and all callers, since one helper
    /// serves many.
    pub(crate) fn site(&self) -> String {
        let ReportedOperation { function, place, .. } = &self.operation;
        let frames: Vec<String> = place.frames.iter().map(Frame::site).collect();
        let frames = if frames.is_empty() { "?".to_owned() } else { frames.join("<") };
        function.as_ref().map_or(frames.clone(), |function| format!("{function}@{frames}"))
    }
}

/// Beginnings of the file names of system libraries, and of the operator interface: reports show the program that called
/// them.
const SYSTEM_LIBRARIES: [&str; 13] = [
    "libc.so",
    "libc-2",
    "libm.so",
    "libpthread",
    "librt.so",
    "libdl.so",
    "ld-linux",
    "libstdc++",
    "libc++",
    "libgcc_s",
    "libpython",
    "linux-vdso",
    "libopapi",
];

impl Frame {
    /// The name of the system library or standard library that the frame belongs to. `None` for code of the program.
    pub fn library(&self) -> Option<String> {
        let is_below = |directory: &str| self.file.as_deref().is_some_and(|file| file.starts_with(directory));
        if is_below("/rustc/") {
            return Some("the Rust standard library".to_owned());
        }
        if is_below("/usr/include/c++/") {
            return Some("the C++ standard library".to_owned());
        }
        let name = self.module.as_deref()?.rsplit('/').next()?;
        SYSTEM_LIBRARIES.iter().any(|library| name.starts_with(library)).then(|| name.to_owned())
    }

    /// Stable text of the frame, equal in every process that runs this code.
    fn site(&self) -> String {
        match (&self.file, self.line, &self.module) {
            (Some(file), Some(line), _) => format!("{}:{line}", source_path::tidy(file).display()),
            (_, _, Some(module)) => format!("{module}+{:#x}", self.offset),
            // Code that was generated at run time has a different address in each process.
            (_, _, None) => "?".to_owned(),
        }
    }
}

impl Backtrace {
    /// The frame that leads: the innermost one of the program, with a line if there is one. A frame of a system library
    /// leads only if there is no other.
    pub fn best(&self) -> Option<&Frame> {
        let program = || self.frames.iter().filter(|frame| frame.library().is_none());
        let has_line = |frame: &&Frame| frame.line.is_some();
        let lead = program().find(has_line).or_else(|| program().next());
        lead.or_else(|| self.frames.iter().find(has_line)).or(self.frames.first())
    }
}

#[cfg(test)]
mod tests {
    use crate::report::example;

    #[test]
    fn site_distinguishes_callers_and_functions() {
        let participant = &example::report().findings[0].operations[0];
        let mut other = participant.clone();
        other.operation.place.frames[1].line = Some(91);
        assert_ne!(participant.site(), other.site(), "another caller of the same helper");
        let mut other = participant.clone();
        other.operation.function = Some("aclrtMemsetAsync".into());
        assert_ne!(participant.site(), other.site(), "another call on the same line");
        let mut other = participant.clone();
        other.operation.number += 1;
        other.operation.place.frames.iter_mut().for_each(|frame| frame.offset += 16);
        assert_eq!(participant.site(), other.site(), "equal lines after recompilation");
    }

    #[test]
    fn site_without_lines_uses_module_offsets() {
        let mut participant = example::report().findings[0].operations[0].clone();
        participant.operation.place.frames.truncate(2);
        participant.operation.place.frames.iter_mut().for_each(|frame| frame.line = None);
        participant.operation.place.frames[1].module = None;
        assert_eq!(participant.site(), "aclrtMemcpyAsync@/no/such/app+0x1000<?");
        participant.operation.place.frames.clear();
        assert_eq!(participant.site(), "aclrtMemcpyAsync@?");
    }
}
