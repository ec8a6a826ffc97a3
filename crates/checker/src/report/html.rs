//! The report as a self-contained HTML page: no scripts, fonts or images from elsewhere.

use super::format::{self, escape};
use super::{MergedFinding, Outcome, finding_kind, frames, source, timeline_svg, unknown_writer};
use crate::finding::{Participant, ReportedOperation, Severity};
use std::fmt::Write as _;

const MAX_CALLERS: usize = 12;
const MAX_RANGES: usize = 8;
const MAX_PARTICIPANTS: usize = 12;
/// Number of source lines that are shown before and after the line of a frame.
const CONTEXT_LINES: u32 = 3;

pub fn render(outcome: &Outcome) -> String {
    let mut page = String::new();
    let name = escape(&outcome.program.join(" "));
    write!(
        page,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>softacl check: {name}</title>\n<style>{STYLE}</style></head>\n<body><main>\n"
    )
    .expect(TEXT);
    header(&mut page, outcome, &name);
    if let Some(exploration) = &outcome.exploration {
        page += &exploration.html();
    }
    for (number, case) in outcome.cases.iter().enumerate() {
        article(&mut page, outcome, case, number + 1);
    }
    if outcome.cases.is_empty() {
        page += "<p class=\"nothing\">No findings.</p>\n";
    }
    writeln!(page, "<footer>softacl {}</footer>\n</main></body></html>", escape(&outcome.version)).expect(TEXT);
    page
}

const TEXT: &str = "writing to a String cannot fail";

fn header(page: &mut String, outcome: &Outcome, name: &str) {
    let proven = outcome.count(Severity::Proven);
    let advice = outcome.count(Severity::Advice);
    let mark = |count: usize, class: &'static str| if count > 0 { class } else { "none" };
    let unjudged = match outcome.unjudged.len() {
        0 => String::new(),
        count => format!("<li class=\"advice\"><b>{count}</b> not judged</li>"),
    };
    write!(
        page,
        "<header><h1>softacl check</h1><p class=\"program\"><code>{name}</code></p>\n<ul class=\"facts\">\
         <li class=\"{}\"><b>{proven}</b> proven</li><li class=\"{}\"><b>{advice}</b> advice</li>\
         {unjudged}<li><b>{}</b> suppressed</li><li>schedule <b>{}</b></li>",
        mark(proven, "proven"),
        mark(advice, "advice"),
        outcome.suppressed,
        escape(&outcome.schedule),
    )
    .expect(TEXT);
    if !outcome.soc.is_empty() {
        write!(page, "<li>chip <b>{}</b></li>", escape(&outcome.soc)).expect(TEXT);
    }
    if let Some(code) = outcome.exit_code {
        write!(page, "<li>program exit code <b>{code}</b></li>").expect(TEXT);
    }
    page.push_str("</ul>\n");
    for note in outcome.limits() {
        writeln!(page, "<p class=\"note\">{}</p>", escape(&note)).expect(TEXT);
    }
    writeln!(page, "<p class=\"repeat\">Repeat with <code>{}</code></p>", escape(&outcome.repeat())).expect(TEXT);
    if outcome.cases.len() > 1 {
        filter(page, outcome);
        page.push_str("<nav><ol>");
        for (number, case) in outcome.cases.iter().enumerate() {
            let finding = &case.finding;
            write!(
                page,
                "<li class=\"{}\"><a href=\"#finding-{}\"><b class=\"{}\">{}</b> {}</a>{}</li>",
                id_class(&finding.id),
                number + 1,
                class(finding.severity),
                escape(&finding.id),
                escape(finding_kind::title(&finding.id)),
                first_location(&finding.operations)
                    .map_or(String::new(), |location| format!(" <i>{}</i>", escape(&location))),
            )
            .expect(TEXT);
        }
        page.push_str("</ol></nav>\n");
    }
    page.push_str("</header>\n");
}

/// Adds buttons that show the findings of one kind only. They need no script: the style tests which one is chosen.
fn filter(page: &mut String, outcome: &Outcome) {
    let mut ids: Vec<&str> = outcome.cases.iter().map(|case| case.finding.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    if ids.len() < 2 {
        return;
    }
    page.push_str("<fieldset class=\"filter\"><legend>Show</legend>");
    page.push_str("<label><input type=\"radio\" name=\"filter\" checked> all</label>");
    let mut style = String::new();
    for id in ids {
        let class = id_class(id);
        let count = outcome.cases.iter().filter(|case| case.finding.id == id).count();
        write!(
            page,
            "<label><input type=\"radio\" name=\"filter\" id=\"show-{class}\"> {} ({count})</label>",
            escape(id)
        )
        .expect(TEXT);
        write!(style, "body:has(#show-{class}:checked) :is(article, nav li):not(.{class}) {{ display: none; }}")
            .expect(TEXT);
    }
    writeln!(page, "</fieldset><style>{style}</style>").expect(TEXT);
}

/// The class of findings with an id. Ids come from reports of other versions, so only letters and digits are kept.
fn id_class(id: &str) -> String {
    let letters: String = id.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("id-{letters}")
}

fn first_location(parts: &[Participant]) -> Option<String> {
    parts.iter().find_map(|part| part.operation.place.best()).map(format::location)
}

fn class(severity: Severity) -> &'static str {
    match severity {
        Severity::Proven => "proven",
        Severity::Advice => "advice",
    }
}

fn article(page: &mut String, outcome: &Outcome, case: &MergedFinding, number: usize) {
    let finding = &case.finding;
    let class = class(finding.severity);
    let seen = if finding.count > 1 { format!("<i>seen {}</i>", format::times(finding.count)) } else { String::new() };
    write!(
        page,
        "<article class=\"{class} {}\" id=\"finding-{number}\"><h2><b class=\"{class}\">{} {}</b> {} {seen}</h2>\n\
         <p class=\"message\">{}</p>\n",
        id_class(&finding.id),
        class.to_uppercase(),
        escape(&finding.id),
        escape(finding_kind::title(&finding.id)),
        escape(&finding.message),
    )
    .expect(TEXT);
    if !finding.fix.is_empty() {
        writeln!(page, "<p class=\"fix\"><b>Fix</b> {}</p>", escape(&finding.fix)).expect(TEXT);
    }
    let process = outcome.processes.get(case.process);
    let timeline: &[ReportedOperation] = process.map_or(&[], |process| &process.timeline);
    page.push_str(&timeline_svg::draw(finding, timeline));
    page.push_str("<div class=\"parts\">\n");
    for part in finding.operations.iter().take(MAX_PARTICIPANTS) {
        operation(page, part);
    }
    if let Some(reason) = unknown_writer::reason(finding) {
        writeln!(page, "<section><h3>the write</h3><p>{}</p></section>", escape(reason)).expect(TEXT);
    }
    page.push_str("</div>\n");
    if finding.operations.len() > MAX_PARTICIPANTS {
        let more = format::more(finding.operations.len() - MAX_PARTICIPANTS, "operation");
        writeln!(page, "<p>and {more}</p>").expect(TEXT);
    }
    if let Some(process) = process.filter(|_| outcome.processes.len() > 1) {
        let program = escape(&process.program.join(" "));
        writeln!(page, "<p class=\"process\">in process {}: <code>{program}</code></p>", process.pid).expect(TEXT);
    }
    writeln!(
        page,
        "<p class=\"more\">Details, with a buggy and a fixed program: <code>softacl explain {}</code></p></article>",
        escape(&finding.id)
    )
    .expect(TEXT);
}

fn operation(page: &mut String, part: &Participant) {
    let operation = &part.operation;
    write!(page, "<section><h3>{}</h3><p>", escape(&part.role)).expect(TEXT);
    if let Some(function) = &operation.function {
        write!(page, "<code>{}</code>: ", escape(function)).expect(TEXT);
    }
    write!(page, "{}</p><p class=\"actor\">on {}</p>", escape(&operation.what), escape(&format::actor(operation)))
        .expect(TEXT);
    if !operation.ranges.is_empty() {
        page.push_str("<ul>");
        for range in operation.ranges.iter().take(MAX_RANGES) {
            write!(page, "<li><b>{}</b> {}</li>", format::mode(range.mode), escape(&range.what)).expect(TEXT);
        }
        if operation.ranges.len() > MAX_RANGES {
            write!(page, "<li>and {}</li>", format::more(operation.ranges.len() - MAX_RANGES, "range")).expect(TEXT);
        }
        page.push_str("</ul>");
    }
    let Some(best) = operation.place.best() else {
        page.push_str("<p class=\"actor\">at an unknown location</p></section>\n");
        return;
    };
    write!(page, "<p class=\"place\">{}</p>", escape(&format::location(best))).expect(TEXT);
    let lines = source::context(best, CONTEXT_LINES);
    if !lines.is_empty() {
        page.push_str("<pre>");
        for line in lines {
            let class = if line.is_frame { " class=\"frame\"" } else { "" };
            write!(page, "<span{class}><i>{:>4}</i> {}</span>", line.number, escape(&line.text)).expect(TEXT);
        }
        page.push_str("</pre>");
    }
    if let Some(inside) = frames::inside(&operation.place) {
        write!(page, "<p class=\"actor\">inside it: {}</p>", escape(&inside)).expect(TEXT);
    }
    let callers: Vec<String> = frames::callers(&operation.place)
        .iter()
        .take(MAX_CALLERS)
        .map(|caller| format!("<li>{}</li>", escape(&caller.text())))
        .collect();
    if !callers.is_empty() {
        write!(page, "<details><summary>called from</summary><ol>{}</ol></details>", callers.concat()).expect(TEXT);
    }
    page.push_str("</section>\n");
}

const STYLE: &str = include_str!("page.css");

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;
    use crate::finding::Report;

    #[test]
    fn page_is_self_contained() {
        let page = render(&Outcome::of(example::report()));
        assert!(page.starts_with("<!doctype html>"));
        for word in ["http:", "https:", "<script", "<link", "url(", "@import", "src="] {
            assert!(!page.contains(word), "{word}");
        }
        assert!(page.contains("prefers-color-scheme: dark"));
    }

    #[test]
    fn html_contains_everything_the_text_report_has() {
        let mut outcome = Outcome::of(example::report());
        outcome.exit_code = Some(3);
        outcome.notes.push("process 9 ended without a report".into());
        outcome.unjudged.push(example::unjudged());
        let page = render(&outcome);
        for part in [
            "<b>1</b> proven",
            "program exit code <b>3</b>",
            "PROVEN H1",
            "1024 of 4096 bytes of the source changed",
            "seen 3 times",
            "/no/such/app.c:42 in upload",
            "fill&lt;int&gt;",
            "on stream 2, task 5, submitted by thread 1",
            "call aclrtSynchronizeStream for stream 2",
            "softacl check --schedule late -- ./app &#39;--name=two words&#39;",
            "process 9 ended without a report",
            "<b>1</b> not judged",
            "H1, H3 not judged for 3 copies",
            "softacl explain P1",
        ] {
            assert!(page.contains(part), "{part}");
        }
    }

    #[test]
    fn source_is_shown_around_the_line() {
        let mut report = example::report();
        let frame = &mut report.findings[0].operations[0].operation.place.frames[0];
        frame.file = Some(concat!(env!("CARGO_MANIFEST_DIR"), "/src/report/html.rs").into());
        frame.line = Some(1);
        let page = render(&Outcome::of(report));
        assert!(page.contains("<pre><span class=\"frame\"><i>   1</i> //! The report as a self-contained"), "{page}");
        assert!(page.contains("<span><i>   3</i> use super::format"));
    }

    #[test]
    fn findings_can_be_filtered_by_kind() {
        let page = render(&Outcome::of(example::report()));
        assert!(page.contains("id=\"show-id-H1\"> H1 (1)</label>") && page.contains("id=\"show-id-P1\""));
        assert!(page.contains("<article class=\"proven id-H1\""));
        assert!(page.contains("body:has(#show-id-H1:checked) :is(article, nav li):not(.id-H1) { display: none; }"));
        let mut report = example::report();
        report.findings.truncate(1);
        assert!(!render(&Outcome::of(report)).contains("<fieldset"));
    }

    #[test]
    fn program_text_is_escaped() {
        let mut report = example::report();
        let evil = "<img onerror=\"x\">&";
        report.program = vec![evil.into()];
        let finding = &mut report.findings[0];
        finding.message = evil.into();
        finding.fix = evil.into();
        finding.id = evil.into();
        let part = &mut finding.operations[0];
        part.role = evil.into();
        part.operation.what = evil.into();
        part.operation.function = Some(evil.into());
        part.operation.ranges[0].what = evil.into();
        part.operation.place.frames[0].function = Some(evil.into());
        part.operation.place.frames[1].file = Some(evil.into());
        report.timeline[1] = part.operation.clone();
        let mut outcome = Outcome::of(report);
        outcome.notes.push(evil.into());
        assert!(!render(&outcome).contains("<img"));
    }

    #[test]
    fn empty_report_renders() {
        let page = render(&Outcome::of(Report::default()));
        assert!(page.contains("No findings.") && page.contains("<b>0</b> proven"));
    }
}
