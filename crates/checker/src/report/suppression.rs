//! Suppressions: findings that a project has decided to live with, by id and place, from a file.
//!
//! One per line: an id and a place. The place is `*`, `file.c`, `file.c:42` or a function; it is
//! compared with every frame of every operation of a finding. `#` begins a comment.

use super::finding_kind;
use crate::finding::{Finding, Frame};
use std::fmt;

#[derive(Debug, Default)]
pub struct Suppressions {
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    id: &'static str,
    place: Pattern,
}

#[derive(Debug, PartialEq)]
enum Pattern {
    Anywhere,
    /// A line of a file.
    Line(String, u32),
    /// A file or a function: a name alone does not say which.
    Name(String),
}

/// What is wrong with a line of the file.
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
    pub fn parse(text: &str) -> Result<Self, Error> {
        // Some editors begin every file with a mark.
        let text = text.trim_start_matches('\u{feff}');
        let mut entries = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let told = strip_comment(line).trim();
            if !told.is_empty() {
                entries.push(entry(told).map_err(|reason| Error { line: index + 1, reason })?);
            }
        }
        Ok(Self { entries })
    }

    /// Adds those of another file.
    pub fn extend(&mut self, other: Self) {
        self.entries.extend(other.entries);
    }

    pub fn hides(&self, finding: &Finding) -> bool {
        self.entries.iter().any(|entry| entry.id == finding.id && entry.place.matches(finding))
    }
}

/// A `#` inside a word is part of it: some languages name functions so.
fn strip_comment(line: &str) -> &str {
    let begins = |&(at, _): &(usize, &str)| at == 0 || line[..at].ends_with(char::is_whitespace);
    line.match_indices('#').find(begins).map_or(line, |(at, _)| &line[..at])
}

fn entry(text: &str) -> Result<Entry, String> {
    let (id, place) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let Some(rule) = finding_kind::rule(id) else {
        return Err(format!("{id:?} is not the id of a finding; known: {}", finding_kind::ids()));
    };
    let place = place.trim();
    if place.is_empty() {
        return Err(format!("{id} has no place; write `{id} *` to silence it everywhere, or `{id} file.c:42`"));
    }
    Ok(Entry { id: rule.id, place: pattern(place)? })
}

fn pattern(place: &str) -> Result<Pattern, String> {
    if place == "*" {
        return Ok(Pattern::Anywhere);
    }
    // In brackets it is a pointer among the arguments of a function.
    if place.contains('*') && !place.contains('(') {
        return Err(format!("{place:?}: `*` stands alone; otherwise write file.c, file.c:42 or a function"));
    }
    let is_cpp = place.contains(['(', '<']) || place.contains("operator");
    if place.contains(char::is_whitespace) && !is_cpp {
        return Err(format!("{place:?} is more than a place; a comment begins with #"));
    }
    // The names of C++ and Rust have colons too, but in pairs.
    let Some((file, line)) = place.rsplit_once(':').filter(|(file, _)| !file.ends_with(':')) else {
        return Ok(Pattern::Name(place.to_owned()));
    };
    match line.parse() {
        Ok(number) if number > 0 && !file.is_empty() => Ok(Pattern::Line(file.to_owned(), number)),
        _ => Err(format!("{place:?}: {line:?} is not the number of a line")),
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
    fn places_are_files_lines_and_functions() {
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
    fn functions_of_cpp_go_by_their_short_names() {
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
    fn mistakes_are_told_with_their_line() {
        let told = |text: &str| Suppressions::parse(text).unwrap_err().to_string();
        let unknown = told("# header\n\nH1 *\nX9 app.c\n");
        assert!(unknown.starts_with("line 4: \"X9\" is not the id of a finding; known: H1, H2,"), "{unknown}");
        assert!(unknown.ends_with("D1, R1"), "{unknown}");
        assert!(told("H1").starts_with("line 1: H1 has no place"));
        assert!(told("S1 # everywhere").starts_with("line 1: S1 has no place"));
        assert!(told("H1 app.c:x").contains("\"x\" is not the number of a line"));
        assert!(told("H1 app.c:0").contains("not the number"));
        assert!(told("H1 src/*").contains("stands alone"));
        assert!(told("H1 app.c the old one").contains("a comment begins with #"));
    }

    #[test]
    fn hidden_findings_are_counted() {
        let known = Suppressions::parse("H1 upload").unwrap();
        let mut outcome = Outcome::default();
        outcome.add(example::report(), &known);
        assert_eq!((outcome.count(Severity::Proven), outcome.count(Severity::Advice)), (0, 1));
        assert_eq!(outcome.suppressed, 1);
        // The same mistake in another process.
        outcome.add(example::report(), &known);
        assert_eq!(outcome.summary(), "0 proven, 1 advice, 1 suppressed; schedule late");
    }

    #[test]
    fn hiding_one_mistake_does_not_hide_another() {
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
