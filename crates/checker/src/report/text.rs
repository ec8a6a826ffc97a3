//! The report as text for a terminal. One finding fits on one screen.

use super::exploration::Exploration;
use super::format::{self, plain};
use super::{MergedFinding, Outcome, finding_kind, frames, source, unknown_writer};
use crate::finding::{Finding, Participant, Severity};
use std::fmt::Write as _;

/// Width of text on a terminal: its own within these limits, and the upper one elsewhere.
const MIN_WIDTH: usize = 60;
const MAX_WIDTH: usize = 100;
/// Limits per finding. The other formats show more.
const MAX_CALLERS: usize = 3;
const MAX_RANGES: usize = 3;
const MAX_PARTICIPANTS: usize = 4;
/// A longer role gets a separate line, so that the columns stay narrow.
const MAX_ROLE_WIDTH: usize = 14;
const MAX_ADVICE: usize = 10;

/// Options of [`render`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    pub color: bool,
    /// Shows all advice, in full.
    pub verbose: bool,
    /// Shows only what is proven, and nothing for a program without such findings.
    pub quiet: bool,
    /// Columns of the terminal.
    pub width: Option<usize>,
}

pub fn render(outcome: &Outcome, options: Options) -> String {
    let mut page = TextWriter { text: String::new(), options };
    let (full, brief): (Vec<&MergedFinding>, Vec<&MergedFinding>) =
        outcome.cases.iter().partition(|case| options.verbose || case.finding.severity == Severity::Proven);
    let repeat = outcome.repeat();
    for case in &full {
        page.finding(&case.finding, &repeat);
    }
    if options.quiet {
        if !full.is_empty() || outcome.unchecked.is_some() {
            page.summary(outcome);
        }
        return page.text;
    }
    for case in brief.iter().take(MAX_ADVICE) {
        page.advice(&case.finding);
    }
    if brief.len() > MAX_ADVICE {
        let more = format::more(brief.len() - MAX_ADVICE, "finding");
        page.line("", &format!("       and {more} of severity advice: softacl check --verbose"));
    }
    if !brief.is_empty() {
        page.text.push('\n');
    }
    for note in outcome.limits() {
        let label = page.paint(YELLOW, "note");
        page.wrapped(&format!("{label}  "), 6, &plain(&note));
    }
    for fault in &outcome.faults {
        page.line("", &format!("fault {}", plain(fault)));
    }
    if let Some(case) = outcome.cases.first() {
        let hint = format!("softacl explain {}", case.finding.id);
        page.line("", &format!("Details of {}, with a buggy and a fixed program: {hint}", case.finding.id));
    }
    for line in outcome.exploration.iter().flat_map(Exploration::lines) {
        page.line("", &plain(&line));
    }
    page.summary(outcome);
    page.text
}

const RED: &str = "1;31";
const YELLOW: &str = "33";
const GREEN: &str = "32";
const BOLD: &str = "1";
const DIM: &str = "2";

struct TextWriter {
    text: String,
    options: Options,
}

impl TextWriter {
    fn paint(&self, code: &str, text: &str) -> String {
        if self.options.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn line(&mut self, indent: &str, text: &str) {
        writeln!(self.text, "{indent}{text}").expect("writing to a String cannot fail");
    }

    /// Writes the last line.
    fn summary(&mut self, outcome: &Outcome) {
        let color = match (outcome.count(Severity::Proven), outcome.limits().next().is_none()) {
            (0, true) if outcome.unchecked.is_none() => GREEN,
            // The notes state limits of the report, so green would promise too much.
            (0, _) if outcome.unchecked.is_none() => YELLOW,
            _ => RED,
        };
        let summary = self.paint(color, &outcome.summary());
        self.line("", &format!("softacl check: {summary}"));
    }

    /// Writes wrapped text after `before`, with later lines indented by `hang`.
    fn wrapped(&mut self, before: &str, hang: usize, text: &str) {
        let blank = " ".repeat(hang);
        let width = self.options.width.map_or(MAX_WIDTH, |columns| columns.clamp(MIN_WIDTH, MAX_WIDTH));
        for (number, line) in wrap(text, width.saturating_sub(hang)).iter().enumerate() {
            self.line(if number == 0 { before } else { &blank }, line);
        }
    }

    fn headline(&self, finding: &Finding) -> String {
        let (word, color) = severity(finding.severity);
        format!(
            "{}  {}",
            self.paint(color, &format!("{word} {}", finding.id)),
            self.paint(BOLD, finding_kind::title(&finding.id))
        )
    }

    fn finding(&mut self, finding: &Finding, repeat: &str) {
        let headline = self.headline(finding);
        self.line("", &headline);
        self.wrapped("  ", 2, &plain(&finding.message));
        let shown = finding.operations.len().min(MAX_PARTICIPANTS);
        let roles = finding.operations[..shown].iter().map(|part| part.role.chars().count());
        let width = roles.filter(|len| *len <= MAX_ROLE_WIDTH).max().unwrap_or(0).max("repeat".len());
        for part in &finding.operations[..shown] {
            self.text.push('\n');
            self.part(part, width);
        }
        if finding.operations.len() > shown {
            let more = format!("  and {}: see --json", format::more(finding.operations.len() - shown, "operation"));
            self.line("", &self.paint(DIM, &more));
        }
        if let Some(reason) = unknown_writer::reason(finding) {
            self.text.push('\n');
            self.labeled("the write", BOLD, width, reason);
        }
        self.text.push('\n');
        self.labeled("fix", GREEN, width, &plain(&finding.fix));
        if finding.count > 1 {
            self.labeled("seen", BOLD, width, &format::times(finding.count));
        }
        // Not wrapped, so that it can be copied.
        let gap = " ".repeat(width - "repeat".len() + 2);
        self.line("  ", &format!("{}{gap}{repeat}", self.paint(BOLD, "repeat")));
        self.text.push('\n');
    }

    fn labeled(&mut self, label: &str, color: &str, width: usize, text: &str) {
        if text.is_empty() {
            return;
        }
        let painted = self.paint(color, label);
        if label.chars().count() > width {
            self.line("  ", &painted);
            return self.wrapped(&" ".repeat(width + 4), width + 4, text);
        }
        let gap = " ".repeat(width - label.chars().count() + 2);
        self.wrapped(&format!("  {painted}{gap}"), width + 4, text);
    }

    fn part(&mut self, part: &Participant, width: usize) {
        let operation = &part.operation;
        let what = match &operation.function {
            Some(function) => format!("{function}: {}", operation.what),
            None => operation.what.clone(),
        };
        self.labeled(&plain(&part.role), BOLD, width, &plain(&what));
        let indent = " ".repeat(width + 4);
        self.line(&indent, &format!("on {}", format::actor(operation)));
        for range in operation.ranges.iter().take(MAX_RANGES) {
            self.wrapped(&indent, width + 4, &plain(&format!("{} {}", format::mode(range.mode), range.what)));
        }
        if operation.ranges.len() > MAX_RANGES {
            self.line(&indent, &format!("and {}", format::more(operation.ranges.len() - MAX_RANGES, "range")));
        }
        let Some(best) = operation.place.best() else { return };
        self.line(&indent, &format!("at {}", self.paint(BOLD, &format::location(best))));
        if let (Some(source), Some(number)) = (source::line(best), best.line) {
            self.line(&indent, &format!("{number:>5} | {source}"));
        }
        if let Some(inside) = frames::inside(&operation.place) {
            self.line(&indent, &self.paint(DIM, &format!("inside it: {inside}")));
        }
        for caller in frames::callers(&operation.place).iter().take(MAX_CALLERS) {
            self.line(&indent, &self.paint(DIM, &format!("from {}", caller.text())));
        }
    }

    /// Writes advice in two paragraphs: the message, then the location and the fix.
    fn advice(&mut self, finding: &Finding) {
        let (word, color) = severity(finding.severity);
        let label = format!("{word} {}", finding.id);
        let times = if finding.count > 1 { format!(" ({})", format::times(finding.count)) } else { String::new() };
        let painted = self.paint(color, &label);
        self.wrapped(&format!("{painted}  "), label.len() + 2, &plain(&format!("{}{times}", finding.message)));
        let place = finding.operations.iter().find_map(|part| part.operation.place.best());
        let site = place.map_or(String::new(), |frame| format!("at {}: ", format::location(frame)));
        let indent = " ".repeat(label.len() + 2);
        self.wrapped(&indent, indent.len(), &format!("{site}{}", plain(&finding.fix)));
    }
}

fn severity(severity: Severity) -> (&'static str, &'static str) {
    match severity {
        Severity::Proven => ("PROVEN", RED),
        Severity::Advice => ("ADVICE", YELLOW),
    }
}

fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;
    use crate::finding::Report;

    fn text(report: Report) -> String {
        render(&Outcome::of(report), Options::default())
    }

    #[test]
    fn finding_renders_message_operations_and_fix_in_order() {
        let expected = "\
PROVEN H1  source changed between submit and execution
  1024 of 4096 bytes of the source changed after the copy was submitted, the first at offset 12

  the copy   aclrtMemcpyAsync: copy of 4096 bytes from pinned host memory to device 0
             on stream 2, task 5, submitted by thread 1
             reads bytes 0 to 4095 of the 8192 bytes of pinned host memory at 0x7f000000
             writes bytes 0 to 4095 of the 4096 bytes of memory of device 0
             at /no/such/app.c:42 in upload
             from /no/such/app.c:90 in step
             from /no/such/app.c:120 in main

  the write  write by the program
             on thread 1
             writes bytes 12 to 1035 of the 8192 bytes of pinned host memory
             at /no/such/app.c:51 in fill<int>
             from /no/such/app.c:121 in main

  fix        call aclrtSynchronizeStream for stream 2 before the write
  seen       3 times
  repeat     softacl check --schedule late -- ./app '--name=two words'

ADVICE P1  the copy blocked for 39 us, because its source is pageable (12 times)
           at /no/such/app.c:60 in offload: allocate the buffer with aclrtMallocHost

Details of H1, with a buggy and a fixed program: softacl explain H1
softacl check: 1 proven, 1 advice; schedule late
";
        assert_eq!(text(example::report()), expected);
    }

    #[test]
    fn colored_output_differs_only_in_escape_codes() {
        let outcome = Outcome::of(example::report());
        let colored = render(&outcome, Options { color: true, ..Options::default() });
        assert!(colored.contains("\x1b[1;31mPROVEN H1\x1b[0m"));
        let mut bare = colored;
        while let Some(start) = bare.find("\x1b[") {
            let end = start + bare[start..].find('m').unwrap();
            bare.replace_range(start..=end, "");
        }
        assert_eq!(bare, render(&outcome, Options::default()));
    }

    #[test]
    fn source_line_is_shown() {
        let mut report = example::report();
        let frame = &mut report.findings[0].operations[0].operation.place.frames[0];
        frame.file = Some(concat!(env!("CARGO_MANIFEST_DIR"), "/src/report/text.rs").into());
        frame.line = Some(1);
        let text = text(report);
        assert!(text.contains("    1 | //! The report as text for a terminal"), "{text}");
    }

    #[test]
    fn long_role_gets_a_separate_line() {
        let mut report = example::report();
        report.findings[0].operations[0].role = "the conflicting operation".into();
        let text = text(report);
        let expected = "\n  the conflicting operation\n             aclrtMemcpyAsync: copy of 4096 bytes";
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("\n  the write  write by the program\n"), "{text}");
    }

    #[test]
    fn large_finding_fits_on_a_screen() {
        let mut report = example::report();
        let finding = &mut report.findings[0];
        let mut part = finding.operations[0].clone();
        part.operation.ranges = vec![part.operation.ranges[0].clone(); 100];
        part.operation.place.frames = vec![part.operation.place.frames[0].clone(); 60];
        finding.operations = vec![part; 50];
        finding.id = "S1".into();
        finding.message = "many words ".repeat(60);
        report.findings.truncate(1);
        let text = text(report);
        assert!(text.lines().count() < 65, "{} lines", text.lines().count());
        assert!(text.contains("and 46 more operations") && text.contains("and 97 more ranges"));
        assert!(text.lines().all(|line| line.chars().count() <= MAX_WIDTH), "{text}");
    }

    #[test]
    fn quiet_reports_have_proven_findings_only() {
        let quiet = Options { quiet: true, ..Options::default() };
        let text = render(&Outcome::of(example::report()), quiet);
        assert!(text.starts_with("PROVEN H1") && !text.contains("ADVICE") && !text.contains("Details of"), "{text}");
        assert!(text.ends_with("softacl check: 1 proven, 1 advice; schedule late\n"), "{text}");
        let mut report = example::report();
        report.findings.retain(|finding| finding.severity == Severity::Advice);
        assert_eq!(render(&Outcome::of(report), quiet), "");
    }

    #[test]
    fn text_is_wrapped_to_the_terminal() {
        let narrow = render(&Outcome::of(example::report()), Options { width: Some(70), ..Options::default() });
        let is_copied = |line: &&str| line.trim_start().starts_with("repeat");
        let longest = narrow.lines().filter(|line| !is_copied(line)).map(|line| line.chars().count()).max();
        assert!(longest.is_some_and(|longest| (60..=78).contains(&longest)), "{longest:?}\n{narrow}");
        assert!(narrow.lines().count() > text(example::report()).lines().count());
    }

    #[test]
    fn advice_is_brief_unless_verbose() {
        let mut report = example::report();
        let advice = report.findings.remove(1);
        report.findings =
            (0..15).map(|number| Finding { fingerprint: format!("P1 {number}"), ..advice.clone() }).collect();
        let outcome = Outcome::of(report);
        let brief = render(&outcome, Options::default());
        assert!(brief.contains("and 5 more findings of severity advice"));
        assert!(!brief.contains("repeat"));
        let long = render(&outcome, Options { verbose: true, ..Options::default() });
        assert_eq!(long.matches("ADVICE P1  asynchronous copy that blocked").count(), 15);
    }

    #[test]
    fn empty_report_is_one_line() {
        let report = Report { schedule: "random:3".into(), seed: Some(3), ..Report::default() };
        assert_eq!(text(report), "softacl check: 0 proven, 0 advice; schedule random:3\n");
    }

    #[test]
    fn operations_that_were_not_judged_are_counted() {
        let report = Report { schedule: "late".into(), unjudged: vec![example::unjudged()], ..Report::default() };
        let expected = "note  H1, H3 not judged for 3 copies: the memory is not watched\n\
                        softacl check: 0 proven, 0 advice, 1 not judged; schedule late\n";
        assert_eq!(text(report.clone()), expected);
        let colored = render(&Outcome::of(report), Options { color: true, ..Options::default() });
        assert!(colored.contains("\x1b[33m0 proven"), "yellow, not green: {colored}");
    }

    #[test]
    fn control_characters_in_names_are_escaped() {
        let mut report = example::report();
        report.findings[0].message = "a\x1b]0;title\x07b".into();
        assert!(!text(report).contains('\x1b'));
    }
}
