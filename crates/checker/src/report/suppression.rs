//! Suppressions: findings that a project accepts, by id and location, from a file.
//!
//! One per line: an id and a location. The location is `*`, `file.c`, `file.c:42` or a function. It is compared with
//! every frame of every operation of a finding. `#` starts a comment.

use super::finding_kind;
use crate::finding::{Finding, FindingId, Frame};
use std::fmt;

/// The parsed suppressions of one or more files.
#[derive(Debug, Default)]
pub struct Suppressions {
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    id: FindingId,
    location: Pattern,
}

#[derive(Debug, PartialEq)]
enum Pattern {
    Anywhere,
    /// A line of a file.
    Line(String, u32),
    /// A file or a function: the syntax does not distinguish them.
    Name(String),
}

/// Syntax error in a suppression file.
#[derive(Debug, PartialEq)]
pub struct Error {
    pub line: usize,
    pub reason: String,
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl Suppressions {
    /// Parses a suppression file.
    pub fn parse(text: &str) -> Result<Self, Error> {
        // Some editors write a byte order mark.
        let text = text.trim_start_matches('\u{feff}');
        let mut entries = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let text = strip_comment(line).trim();
            if !text.is_empty() {
                entries.push(entry(text).map_err(|reason| Error { line: index + 1, reason })?);
            }
        }
        Ok(Self { entries })
    }

    /// Adds the suppressions of another file.
    pub fn extend(&mut self, other: Self) {
        self.entries.extend(other.entries);
    }

    /// True if a suppression matches the finding.
    pub fn hides(&self, finding: &Finding) -> bool {
        self.entries.iter().any(|entry| entry.id.to_string() == finding.id && entry.location.matches(finding))
    }
}

/// Removes a comment. A `#` inside a word does not start one, because some languages use it in function names.
fn strip_comment(line: &str) -> &str {
    let begins = |&(at, _): &(usize, &str)| at == 0 || line[..at].ends_with(char::is_whitespace);
    line.match_indices('#').find(begins).map_or(line, |(at, _)| &line[..at])
}

fn entry(text: &str) -> Result<Entry, String> {
    let (id, location) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let Some(kind) = finding_kind::rule(id) else {
        return Err(format!("{id:?} is not the id of a finding; known: {}", finding_kind::ids()));
    };
    let location = location.trim();
    if location.is_empty() {
        return Err(format!("{id} has no location; write `{id} *` to suppress it everywhere, or `{id} file.c:42`"));
    }
    Ok(Entry { id: kind.id, location: pattern(location)? })
}

fn pattern(location: &str) -> Result<Pattern, String> {
    if location == "*" {
        return Ok(Pattern::Anywhere);
    }
    // In parentheses it is a pointer type of a C++ signature.
    if location.contains('*') && !location.contains('(') {
        return Err(format!("{location:?}: `*` must stand alone; write file.c, file.c:42 or a function"));
    }
    let is_cpp = location.contains(['(', '<']) || location.contains("operator");
    if location.contains(char::is_whitespace) && !is_cpp {
        return Err(format!("{location:?} is not a location; a comment starts with #"));
    }
    // C++ and Rust names contain colons too, but in pairs.
    let Some((file, line)) = location.rsplit_once(':').filter(|(file, _)| !file.ends_with(':')) else {
        return Ok(Pattern::Name(location.to_owned()));
    };
    match line.parse() {
        Ok(number) if number > 0 && !file.is_empty() => Ok(Pattern::Line(file.to_owned(), number)),
        _ => Err(format!("{location:?}: {line:?} is not a line number")),
    }
}

impl Pattern {
    fn matches(&self, finding: &Finding) -> bool {
        let mut frames = finding.operations.iter().flat_map(|part| &part.operation.place.frames);
        match self {
            Pattern::Anywhere => true,
            Pattern::Line(file, line) => frames.any(|frame| frame.line == Some(*line) && in_file(frame, file)),
            Pattern::Name(name) => frames.any(|frame| in_file(frame, name) || in_function(frame, name)),
        }
    }
}

/// `app.c` and `src/app.c` name `/home/me/src/app.c`; `p.c` does not.
fn in_file(frame: &Frame, name: &str) -> bool {
    let Some(rest) = frame.file.as_deref().and_then(|file| file.strip_suffix(name)) else { return false };
    rest.is_empty() || rest.ends_with('/') || name.starts_with('/')
}

/// `upload` names `upload`, `app::upload` and `upload(int, char*)`.
fn in_function(frame: &Frame, name: &str) -> bool {
    let Some(function) = frame.function.as_deref() else { return false };
    let bare = function.split('(').next().unwrap_or(function);
    [function, bare].iter().any(|whole| {
        whole.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with("::") || rest.ends_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Outcome, example};
    use super::*;
    use crate::finding::Severity;

    fn hides(text: &str) -> bool {
        Suppressions::parse(text).unwrap().hides(&example::report().findings[0])
    }

    #[test]
    fn locations_match_files_lines_and_functions() {
        for text in [
            "H1 *",
            "h1  app.c",
            "H1 app.c:42",
            "H1\tapp.c:51 # the write",
            "H1 such/app.c",
            "H1 upload",
            "\u{feff}H1 *",
        ] {
            assert!(hides(text), "{text}");
        }
        for text in ["H2 *", "H1 p.c", "H1 app.c:43", "H1 load", "H1 other.c:42", "# H1 *", ""] {
            assert!(!hides(text), "{text}");
        }
    }

    #[test]
    fn cpp_functions_match_by_trailing_path_segments() {
        let mut finding = example::report().findings.remove(0);
        finding.operations[0].operation.place.frames[0].function = Some("kv::Cache::upload(int, char*)".into());
        for (text, expected) in [
            ("H1 kv::Cache::upload(int, char*)", true),
            ("H1 Cache::upload", true),
            ("H1 upload", true),
            ("H1 ache::upload", false),
        ] {
            assert_eq!(Suppressions::parse(text).unwrap().hides(&finding), expected, "{text}");
        }
    }

    #[test]
    fn syntax_errors_name_their_line() {
        let error = |text: &str| Suppressions::parse(text).unwrap_err().to_string();
        let unknown = error("# header\n\nH1 *\nX9 app.c\n");
        assert!(unknown.starts_with("line 4: \"X9\" is not the id of a finding; known: H1, H2,"), "{unknown}");
        assert!(unknown.ends_with("W1, W2, I1"), "{unknown}");
        assert!(error("H1").starts_with("line 1: H1 has no location"));
        assert!(error("S1 # everywhere").starts_with("line 1: S1 has no location"));
        assert!(error("H1 app.c:x").contains("\"x\" is not a line number"));
        assert!(error("H1 app.c:0").contains("not a line number"));
        assert!(error("H1 src/*").contains("must stand alone"));
        assert!(error("H1 app.c the old one").contains("a comment starts with #"));
    }

    #[test]
    fn suppressed_findings_are_counted_once() {
        let known = Suppressions::parse("H1 upload").unwrap();
        let mut outcome = Outcome::default();
        outcome.add(example::report(), &known);
        assert_eq!((outcome.count(Severity::Proven), outcome.count(Severity::Advice)), (0, 1));
        assert_eq!(outcome.suppressed, 1);
        // An equal finding of another process.
        outcome.add(example::report(), &known);
        assert_eq!(outcome.summary(), "0 proven, 1 advice, 1 suppressed; schedule late");
    }

    #[test]
    fn suppression_hides_only_matching_findings() {
        let mut report = example::report();
        report.findings.truncate(1);
        let mut other = report.findings[0].clone();
        for part in &mut other.operations {
            part.operation.place.frames.iter_mut().for_each(|frame| frame.function = Some("evict".into()));
        }
        report.findings.push(other);
        for name in ["upload", "evict"] {
            let mut outcome = Outcome::default();
            outcome.add(report.clone(), &Suppressions::parse(&format!("H1 {name}")).unwrap());
            assert_eq!((outcome.count(Severity::Proven), outcome.suppressed), (1, 1), "{name}");
        }
    }
}
