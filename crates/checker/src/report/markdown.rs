//! The report as Markdown, for the summary of a CI job.

use super::{MergedFinding, Outcome, finding_kind, format, frames, source, unknown_writer};
use crate::finding::{Participant, Severity};
use std::fmt::Write as _;

/// GitHub refuses a summary of more than 1 MiB.
const MAX_FINDINGS: usize = 100;
const MAX_CALLERS: usize = 5;

pub fn render(outcome: &Outcome) -> String {
    let mut page = String::new();
    writeln!(page, "## softacl check: {}\n", escape(&outcome.summary())).expect(TEXT);
    for limit in outcome.limits() {
        writeln!(page, "> ⚠️ {}\n", escape(&limit)).expect(TEXT);
    }
    if !outcome.cases.is_empty() {
        page.push_str("| | finding | location | seen |\n| --- | --- | --- | --- |\n");
    }
    for case in outcome.cases.iter().take(MAX_FINDINGS) {
        let finding = &case.finding;
        let lead = finding.operations.iter().find_map(|part| part.operation.place.best());
        writeln!(
            page,
            "| {} | **{}** {} | {} | {} |",
            severity(finding.severity),
            escape(&finding.id),
            escape(finding_kind::title(&finding.id)),
            lead.map_or(String::new(), |frame| code(&format::location(frame))),
            format::times(finding.count),
        )
        .expect(TEXT);
    }
    for case in outcome.cases.iter().take(MAX_FINDINGS) {
        details(&mut page, case);
    }
    if outcome.cases.len() > MAX_FINDINGS {
        writeln!(page, "\nand {}", format::more(outcome.cases.len() - MAX_FINDINGS, "finding")).expect(TEXT);
    }
    writeln!(page, "\nRepeat with {}", code(&outcome.repeat())).expect(TEXT);
    page
}

const TEXT: &str = "writing to a String cannot fail";

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Proven => "🔴 proven",
        Severity::Advice => "🟡 advice",
    }
}

fn details(page: &mut String, case: &MergedFinding) {
    let finding = &case.finding;
    writeln!(
        page,
        "\n<details><summary>{} {}: {}</summary>\n",
        severity(finding.severity),
        escape(&finding.id),
        escape(&finding.message)
    )
    .expect(TEXT);
    for part in &finding.operations {
        participant(page, part);
    }
    if let Some(reason) = unknown_writer::reason(finding) {
        writeln!(page, "- **the write**: {}", escape(reason)).expect(TEXT);
    }
    if !finding.fix.is_empty() {
        writeln!(page, "- **fix**: {}", escape(&finding.fix)).expect(TEXT);
    }
    writeln!(page, "\nMore: {}\n\n</details>", code(&format!("softacl explain {}", finding.id))).expect(TEXT);
}

fn participant(page: &mut String, part: &Participant) {
    let operation = &part.operation;
    let function = operation.function.as_deref().map_or(String::new(), |name| format!("{} ", code(name)));
    write!(
        page,
        "- **{}**: {function}{}, on {}",
        escape(&part.role),
        escape(&operation.what),
        escape(&format::actor(operation))
    )
    .expect(TEXT);
    let Some(lead) = operation.place.best() else {
        page.push('\n');
        return;
    };
    writeln!(page, ", at {}", code(&format::location(lead))).expect(TEXT);
    if let Some(line) = source::line(lead) {
        writeln!(page, "  - {}", code(&line)).expect(TEXT);
    }
    for caller in frames::callers(&operation.place).iter().take(MAX_CALLERS) {
        writeln!(page, "  - from {}", code(&caller.text())).expect(TEXT);
    }
}

/// Escapes what Markdown or HTML would interpret. Texts come from the program.
fn escape(text: &str) -> String {
    let mut safe = String::new();
    for c in format::escape(text).chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' => safe.extend(['\\', c]),
            '\n' => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

/// A code span. HTML, because a backtick in the text would end the Markdown form.
fn code(text: &str) -> String {
    format!("<code>{}</code>", escape(text))
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    #[test]
    fn summary_has_a_table_and_details() {
        let mut outcome = Outcome::of(example::report());
        outcome.unjudged.push(example::unjudged());
        let page = render(&outcome);
        for part in [
            "## softacl check: 1 proven, 1 advice, 1 not judged; schedule late\n",
            "> ⚠️ H1, H3 not judged for 3 copies: the memory is not watched\n",
            "| 🔴 proven | **H1** source changed between submit and execution | <code>/no/such/app.c:42 in upload</code> | \
             3 times |\n",
            "- **the write**: write by the program, on thread 1, at <code>/no/such/app.c:51 in fill&lt;int&gt;</code>\n",
            "- **fix**: call aclrtSynchronizeStream for stream 2 before the write\n",
            "Repeat with <code>softacl check --schedule late -- ./app &#39;--name=two words&#39;</code>",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
    }

    #[test]
    fn program_text_is_escaped() {
        let mut report = example::report();
        report.findings[0].message = "a|b <img> `c`\n# d".into();
        let page = render(&Outcome::of(report));
        assert!(page.contains("a\\|b &lt;img&gt; \\`c\\` # d"), "{page}");
    }
}
