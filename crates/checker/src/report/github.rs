//! The report as annotations of GitHub Actions: one workflow command per finding.
//!
//! The runner reads them from the output of a step and shows them next to the source lines of a pull request. It shows
//! ten per step and level; the job summary (`markdown`) has them all.

use super::{MergedFinding, Outcome, finding_kind};
use crate::finding::Severity;
use crate::source_path;
use std::fmt::Write as _;
use std::path::Path;

/// Renders the annotations. `root` is the root of the checkout; files below it are named relative to it.
pub fn render(outcome: &Outcome, root: &Path) -> String {
    let mut text = String::new();
    for case in &outcome.cases {
        writeln!(text, "{}", annotation(case, root)).expect(TEXT);
    }
    let level = if outcome.unchecked.is_some() { "error" } else { "warning" };
    for limit in outcome.limits() {
        writeln!(text, "::{level} title=softacl check::{}", data(&limit)).expect(TEXT);
    }
    text
}

const TEXT: &str = "writing to a String cannot fail";

fn annotation(case: &MergedFinding, root: &Path) -> String {
    let finding = &case.finding;
    let level = match finding.severity {
        Severity::Proven => "error",
        Severity::Advice => "notice",
    };
    let mut properties = Vec::new();
    let lead = finding.operations.iter().find_map(|part| part.operation.place.best());
    if let Some((file, line)) = lead.and_then(|frame| Some((frame.file.as_deref()?, frame.line?))) {
        let path = source_path::tidy(file);
        let path = path.strip_prefix(root).unwrap_or(&path);
        properties.push(format!("file={}", property(&path.display().to_string())));
        properties.push(format!("line={line}"));
    }
    let title = format!("{} {}", finding.id, finding_kind::title(&finding.id));
    properties.push(format!("title={}", property(&title)));
    let mut message = finding.message.clone();
    for part in &finding.operations {
        if let Some(frame) = part.operation.place.best() {
            write!(message, "\n{}: {}", part.role, super::format::location(frame)).expect(TEXT);
        }
    }
    if !finding.fix.is_empty() {
        write!(message, "\nfix: {}", finding.fix).expect(TEXT);
    }
    format!("::{level} {}::{}", properties.join(","), data(&message))
}

/// Escapes the message of a workflow command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    #[test]
    fn finding_is_an_annotation_at_its_line() {
        let mut outcome = Outcome::of(example::report());
        outcome.unjudged.push(example::unjudged());
        let text = render(&outcome, Path::new("/no/such"));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "::error file=app.c,line=42,title=H1 source changed between submit and execution::1024 of 4096 bytes of \
             the source changed after the copy was submitted, the first at offset 12%0Athe copy: /no/such/app.c:42 in \
             upload%0Athe write: /no/such/app.c:51 in fill<int>%0Afix: call aclrtSynchronizeStream for stream 2 \
             before the write"
        );
        assert!(lines[1].starts_with("::notice file=app.c,line=60,title=P1 "), "{}", lines[1]);
        assert_eq!(
            lines[2],
            "::warning title=softacl check::H1, H3 not judged for 3 copies: the memory is not watched"
        );
        assert_eq!(lines.len(), 3);
    }

    #[test]
    fn program_text_cannot_form_a_command() {
        let mut report = example::report();
        report.findings.truncate(1);
        report.findings[0].message = "50%\n::error::injected".into();
        report.findings[0].operations[0].operation.place.frames[0].file = Some("/a,line=9::b.c".into());
        let text = render(&Outcome::of(report), Path::new("/"));
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.starts_with("::error file=a%2Cline=9%3A%3Ab.c,line=42,"), "{text}");
        assert!(text.contains("50%25%0A::error::injected"), "{text}");
    }
}
