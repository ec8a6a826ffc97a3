//! The SVG timeline of a finding: rows of threads and streams, what ran on them, and the missing order.
//!
//! Time runs to the right in the order of events, not to scale, so that a copy of 3 us and a pause of a second are
//! both visible.

use super::format::{self, escape};
use crate::finding::{Actor, Finding, FindingId, ReportedOperation};
use std::fmt::Write as _;

/// Maximum number of operations that are drawn besides those of the finding.
const MAX_NEIGHBORS: usize = 16;
/// Maximum number of operations of the finding that are drawn.
const MAX_PARTICIPANTS: usize = 6;

const LEFT: f64 = 104.0;
const RIGHT: f64 = 40.0;
const TOP: f64 = 34.0;
const ROW_HEIGHT: f64 = 76.0;
const BAR_HEIGHT: f64 = 20.0;
const WIDTH: f64 = 1030.0;
/// Smallest distance between two times.
const MIN_STEP: f64 = 30.0;
const LETTER_WIDTH: f64 = 7.0;
const TEXT: &str = "writing to a String cannot fail";

/// A row of the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum DrawnRow {
    Thread(u32),
    Stream(u32),
}

struct Canvas<'a> {
    finding: &'a Finding,
    operations: Vec<&'a ReportedOperation>,
    rows: Vec<DrawnRow>,
    /// All times, sorted and without duplicates.
    times: Vec<f64>,
    step: f64,
    width: f64,
    /// Extents of the labels drawn so far: left, right, baseline.
    names: Vec<(f64, f64, f64)>,
    svg: String,
}

/// Renders a `<figure>` with the SVG.
pub fn draw(finding: &Finding, timeline: &[ReportedOperation]) -> String {
    if finding.operations.is_empty() {
        return String::new();
    }
    let mut canvas = Canvas::new(finding, timeline);
    let height = canvas.bottom() + 26.0;
    canvas.grid();
    canvas.in_flight();
    for operation in canvas.operations.clone() {
        if canvas.role(operation).is_none() {
            canvas.operation(operation);
        }
    }
    // The operations of the finding come last, on top of the others.
    for operation in canvas.operations.clone() {
        if canvas.role(operation).is_some() {
            canvas.operation(operation);
        }
    }
    canvas.event_names();
    canvas.missing_order();
    format!(
        "<figure><div><svg viewBox=\"0 0 {w:.0} {height:.0}\" width=\"{w:.0}\" height=\"{height:.0}\" role=\"img\" \
         aria-label=\"timeline: {}\">\n{}</svg></div>\
         <figcaption>Time runs to the right, event by event, not to scale. A dot is a call, a dashed line is work \
         that is queued, a bar is when it ran. Hover over one for its location and bytes.</figcaption></figure>\n",
        escape(&finding.message),
        canvas.svg,
        w = canvas.width,
    )
}

impl<'a> Canvas<'a> {
    fn new(finding: &'a Finding, timeline: &'a [ReportedOperation]) -> Self {
        let mut operations: Vec<&ReportedOperation> =
            finding.operations.iter().take(MAX_PARTICIPANTS).map(|part| &part.operation).collect();
        let mut rows: Vec<DrawnRow> = operations.iter().flat_map(|operation| rows_of(operation)).collect();
        rows.sort_unstable();
        rows.dedup();
        let own: Vec<u64> = operations.iter().map(|operation| operation.number).collect();
        let distance = |operation: &ReportedOperation| own.iter().map(|number| number.abs_diff(operation.number)).min();
        let mut near: Vec<&ReportedOperation> = timeline
            .iter()
            .filter(|operation| !own.contains(&operation.number))
            .filter(|operation| rows_of(operation).iter().any(|row| rows.contains(row)))
            .collect();
        near.sort_by_key(|operation| distance(operation));
        near.truncate(MAX_NEIGHBORS);
        // The whole drawing fits the page, so that both operations are visible without scrolling.
        let count = |operations: &[&ReportedOperation]| distinct_times(operations).len() as f64;
        let columns = ((WIDTH - LEFT - RIGHT) / MIN_STEP).floor();
        while !near.is_empty() && count(&[operations.as_slice(), near.as_slice()].concat()) > columns {
            near.pop();
        }
        rows.extend(near.iter().flat_map(|operation| rows_of(operation)));
        rows.sort_unstable();
        rows.dedup();
        operations.extend(near);
        operations.sort_by_key(|operation| operation.number);
        let times = distinct_times(&operations);
        let step = ((WIDTH - LEFT - RIGHT) / times.len() as f64).clamp(MIN_STEP, 120.0);
        let width = (LEFT + RIGHT + step * times.len() as f64).max(640.0);
        Self { finding, operations, rows, times, step, width, names: Vec::new(), svg: String::new() }
    }

    fn bottom(&self) -> f64 {
        TOP + ROW_HEIGHT * self.rows.len() as f64
    }

    fn x(&self, time: f64) -> f64 {
        let before = self.times.partition_point(|other| *other < time);
        LEFT + self.step * (before as f64 + 0.5)
    }

    fn y(&self, row: DrawnRow) -> f64 {
        let index = self.rows.iter().position(|other| *other == row).unwrap_or(0);
        TOP + ROW_HEIGHT * (index as f64 + 0.5)
    }

    fn role(&self, operation: &ReportedOperation) -> Option<&'a str> {
        let part = self
            .finding
            .operations
            .iter()
            .take(MAX_PARTICIPANTS)
            .find(|part| part.operation.number == operation.number);
        part.map(|part| part.role.as_str())
    }

    /// Draws the rows with their names, and the time axis.
    fn grid(&mut self) {
        for (index, row) in self.rows.iter().enumerate() {
            let y = TOP + ROW_HEIGHT * (index as f64 + 0.5);
            let name = match row {
                DrawnRow::Thread(thread) => format!("thread {thread}"),
                DrawnRow::Stream(stream) => format!("stream {stream}"),
            };
            writeln!(
                self.svg,
                "<line class=\"lane\" x1=\"{LEFT}\" y1=\"{y}\" x2=\"{:.0}\" y2=\"{y}\"/>\
                 <text class=\"lane-name\" x=\"8\" y=\"{:.0}\">{name}</text>",
                self.width - 8.0,
                y + 4.0,
            )
            .expect(TEXT);
        }
        let bottom = self.bottom();
        let mut free = 0.0;
        for time in &self.times {
            let x = self.x(*time);
            writeln!(self.svg, "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom}\"/>")
                .expect(TEXT);
            let text = format_time(*time);
            let half = text.chars().count() as f64 * LETTER_WIDTH / 2.0;
            if x - half > free {
                free = x + half + 10.0;
                let y = bottom + 16.0;
                writeln!(self.svg, "<text class=\"tick\" x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{text}</text>")
                    .expect(TEXT);
            }
        }
    }

    /// Marks the time in which the first task of the finding is in flight.
    fn in_flight(&mut self) {
        if !is_unordered(self.finding) {
            return;
        }
        let task = self.finding.operations.iter().find(|part| matches!(part.operation.actor, Actor::Stream { .. }));
        let Some(task) = task.map(|part| &part.operation) else { return };
        let (from, to) = (self.x(task.submitted), task.finished.map_or(self.width - RIGHT / 2.0, |end| self.x(end)));
        if to <= from {
            return;
        }
        let name = "in flight";
        let middle = (from + to) / 2.0;
        writeln!(
            self.svg,
            "<rect class=\"flight\" x=\"{from:.1}\" y=\"{:.0}\" width=\"{:.1}\" height=\"{:.0}\"/>\
             <text class=\"flight-name\" x=\"{middle:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{name}</text>",
            TOP - 6.0,
            to - from,
            self.bottom() - TOP + 6.0,
            TOP - 12.0,
        )
        .expect(TEXT);
    }

    fn operation(&mut self, operation: &ReportedOperation) {
        let role = self.role(operation);
        let (left, right, y) = self.bar(operation);
        let class = match (role, self.unordered()) {
            (None, _) if event_name(operation).is_some() => "op event",
            (None, _) => "op",
            // Context, such as an allocation: not one of the two conflicting operations.
            (_, Some((first, second))) if ![first.number, second.number].contains(&operation.number) => "op side",
            _ => "op hot",
        };
        writeln!(self.svg, "<g class=\"{class}\" tabindex=\"0\"><title>{}</title>", escape(&tooltip(operation, role)))
            .expect(TEXT);
        if let Actor::Stream { sequence, .. } = operation.actor {
            let (x, caller) = (self.x(operation.submitted), self.y(DrawnRow::Thread(operation.thread)));
            let end = if operation.started.is_some() { left } else { right };
            writeln!(
                self.svg,
                "<path class=\"queued\" d=\"M{x:.1} {caller} V{y} H{end:.1}\"/><circle cx=\"{x:.1}\" cy=\"{caller}\" \
                 r=\"5\"/>"
            )
            .expect(TEXT);
            if operation.started.is_some() {
                self.rectangle(left, right, y);
                let number = sequence.to_string();
                if right - left > number.len() as f64 * LETTER_WIDTH + 4.0 {
                    writeln!(
                        self.svg,
                        "<text class=\"number\" x=\"{:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{number}</text>",
                        (left + right) / 2.0,
                        y + 4.0,
                    )
                    .expect(TEXT);
                }
            } else {
                self.name(right, y, true, "never ran", "role");
            }
        } else {
            self.rectangle(left, right, y);
        }
        if let Some(role) = role {
            self.name((left + right) / 2.0, y, self.is_above(operation), role, "role");
        }
        self.svg.push_str("</g>\n");
        if let Some(time) = operation.waited.filter(|_| role.is_some()) {
            self.waited(time, self.y(DrawnRow::Thread(operation.thread)));
        }
    }

    /// Names the records and waits among the neighbors, where there is room: they are the order that exists.
    fn event_names(&mut self) {
        for operation in self.operations.clone() {
            let Some(name) = event_name(operation).filter(|_| self.role(operation).is_none()) else { continue };
            let (left, right, y) = self.bar(operation);
            let (middle, half) = ((left + right) / 2.0, name.len() as f64 * LETTER_WIDTH / 2.0 + 4.0);
            if [y + 23.0, y - 16.0].iter().any(|baseline| self.is_free(middle, half, *baseline, 13.0)) {
                self.name(middle, y, false, name, "event-name");
            }
        }
    }

    /// Marks the first wait that covers an operation of the finding.
    fn waited(&mut self, time: f64, y: f64) {
        let x = self.x(time);
        writeln!(
            self.svg,
            "<g class=\"waited\"><title>first host wait that covers it, at {}</title>\
             <line x1=\"{x:.1}\" y1=\"{:.0}\" x2=\"{x:.1}\" y2=\"{:.0}\"/>",
            format_time(time),
            y - 12.0,
            y + 12.0,
        )
        .expect(TEXT);
        self.name(x, y, true, "waited", "wait");
        self.svg.push_str("</g>\n");
    }

    /// Left and right end of the bar, and the y coordinate of its row.
    fn bar(&self, operation: &ReportedOperation) -> (f64, f64, f64) {
        let (from, to) = match (operation.started, operation.finished) {
            (Some(start), Some(end)) => (self.x(start), self.x(end)),
            (Some(start), None) => (self.x(start), self.x(start) + 14.0),
            _ if matches!(operation.actor, Actor::Stream { .. }) => {
                (self.x(operation.submitted), self.width - RIGHT - 20.0)
            }
            _ => (self.x(operation.submitted), self.x(operation.submitted)),
        };
        let row = match operation.actor {
            Actor::Thread { thread } => DrawnRow::Thread(thread),
            Actor::Stream { stream, .. } => DrawnRow::Stream(stream),
        };
        if to - from < 14.0 { (from - 7.0, from + 7.0, self.y(row)) } else { (from, to, self.y(row)) }
    }

    fn rectangle(&mut self, left: f64, right: f64, y: f64) {
        writeln!(
            self.svg,
            "<rect x=\"{left:.1}\" y=\"{:.0}\" width=\"{:.1}\" height=\"{BAR_HEIGHT}\" rx=\"4\"/>",
            y - BAR_HEIGHT / 2.0,
            right - left,
        )
        .expect(TEXT);
    }

    /// Draws a label next to its row, where it overlaps no other. `up` is the preferred side.
    fn name(&mut self, middle: f64, y: f64, up: bool, text: &str, class: &str) {
        let text: String = text.chars().take(40).collect();
        let half = text.chars().count() as f64 * LETTER_WIDTH / 2.0 + 4.0;
        let middle = middle.clamp(LEFT + half, (self.width - half).max(LEFT + half));
        let (above, below) = ([y - 16.0, y - 29.0], [y + 23.0, y + 36.0]);
        let baselines = if up { [above, below] } else { [below, above] }.concat();
        let free = |baseline: &&f64| self.is_free(middle, half, **baseline, 13.0);
        let baseline = *baselines.iter().find(free).unwrap_or(&baselines[0]);
        self.names.push((middle - half, middle + half, baseline));
        writeln!(
            self.svg,
            "<text class=\"{class}\" x=\"{middle:.1}\" y=\"{baseline:.0}\" text-anchor=\"middle\">{}</text>",
            escape(&text)
        )
        .expect(TEXT);
    }

    fn is_free(&self, middle: f64, half: f64, baseline: f64, height: f64) -> bool {
        let (left, right) = (middle - half, middle + half);
        !self.names.iter().any(|(l, r, b)| *l < right && left < *r && (b - baseline).abs() < height)
    }

    /// The two unordered operations.
    fn unordered(&self) -> Option<(&'a ReportedOperation, &'a ReportedOperation)> {
        let [first, second, ..] = self.finding.operations.as_slice() else { return None };
        let different = first.operation.number != second.operation.number;
        let known = is_unordered(self.finding);
        (known && different).then_some((&first.operation, &second.operation))
    }

    /// True if the label goes above the operation, away from the arrow.
    fn is_above(&self, operation: &ReportedOperation) -> bool {
        let Some((first, second)) = self.unordered() else { return true };
        let (_, _, y) = self.bar(operation);
        let other = if operation.number == first.number { second } else { first };
        self.bar(other).2 >= y
    }

    /// Draws the missing order as an arrow between the two operations.
    fn missing_order(&mut self) {
        let Some((first, second)) = self.unordered() else { return };
        let (from, to) = (self.bar(first), self.bar(second));
        // The end of a bar that faces the other one.
        let facing = |(left, right, _): (f64, f64, f64), other: f64| match other {
            other if other < left => left + 7.0,
            other if other > right => right - 7.0,
            _ => (left + right) / 2.0,
        };
        let (x1, x2) = (facing(from, (to.0 + to.1) / 2.0), facing(to, (from.0 + from.1) / 2.0));
        // On one row the arrow bends below it; otherwise it connects the rows directly.
        let (leave, arrive) = if from.2 < to.2 {
            (1.0, -1.0)
        } else if from.2 > to.2 {
            (-1.0, 1.0)
        } else {
            (1.0, 1.0)
        };
        let (y1, y2) = (from.2 + leave * BAR_HEIGHT / 2.0, to.2 + arrive * BAR_HEIGHT / 2.0);
        let bend = if leave == arrive { y1 + 26.0 } else { (y1 + y2) / 2.0 };
        let text = "no wait orders these two";
        let half = text.len() as f64 * LETTER_WIDTH / 2.0;
        let on_curve = |t: f64| {
            let s = 1.0 - t;
            let (a, b, c, d) = (s * s * s, 3.0 * s * s * t, 3.0 * s * t * t, t * t * t);
            (a * x1 + b * x1 + c * x2 + d * x2, a * y1 + (b + c) * bend + d * y2)
        };
        let inside = |(x, y): (f64, f64)| (x.clamp(LEFT + half, self.width - half - 4.0), y);
        let positions = [0.5, 0.4, 0.6, 0.3, 0.7].map(|t| inside(on_curve(t)));
        let free = |position: &&(f64, f64)| self.is_free(position.0, half, position.1 + 4.0, 19.0);
        let (x, y) = *positions.iter().find(free).unwrap_or(&positions[0]);
        writeln!(
            self.svg,
            "<g class=\"missing\"><path class=\"gap\" d=\"M{x1:.1} {y1:.1} C{x1:.1} {bend:.1} {x2:.1} {bend:.1} \
             {x2:.1} {y2:.1}\"/>\
             <path class=\"gap-head\" d=\"M{x2:.1} {y2:.1} l-5 {:.0} h10 z\"/>\
             <rect class=\"plate\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"20\" rx=\"10\"/>\
             <text class=\"gap-name\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text></g>",
            arrive * 8.0,
            x - half,
            y - 10.0,
            2.0 * half,
            y + 4.0,
        )
        .expect(TEXT);
    }
}

/// The label of a task that orders streams: `record` or `wait`. `None` for other operations.
fn event_name(operation: &ReportedOperation) -> Option<&'static str> {
    let is_task = matches!(operation.actor, Actor::Stream { .. });
    ["record", "wait"].into_iter().find(|name| is_task && operation.what.split(' ').any(|word| word == *name))
}

/// All times of some operations, sorted and without duplicates.
fn distinct_times(operations: &[&ReportedOperation]) -> Vec<f64> {
    let mut times: Vec<f64> = operations.iter().flat_map(|operation| times_of(operation)).collect();
    times.sort_by(f64::total_cmp);
    times.dedup();
    times
}

fn rows_of(operation: &ReportedOperation) -> Vec<DrawnRow> {
    match operation.actor {
        Actor::Thread { thread } => vec![DrawnRow::Thread(thread)],
        Actor::Stream { stream, .. } => vec![DrawnRow::Thread(operation.thread), DrawnRow::Stream(stream)],
    }
}

fn times_of(operation: &ReportedOperation) -> Vec<f64> {
    [Some(operation.submitted), operation.started, operation.finished, operation.waited].into_iter().flatten().collect()
}

fn tooltip(operation: &ReportedOperation, role: Option<&str>) -> String {
    let mut text = String::new();
    if let Some(role) = role {
        writeln!(text, "{role}").expect(TEXT);
    }
    if let Some(function) = &operation.function {
        write!(text, "{function}: ").expect(TEXT);
    }
    writeln!(text, "{}\non {}", operation.what, format::actor(operation)).expect(TEXT);
    for range in operation.ranges.iter().take(4) {
        writeln!(text, "{} {}", format::mode(range.mode), range.what).expect(TEXT);
    }
    if let Some(frame) = operation.place.best() {
        writeln!(text, "at {}", format::location(frame)).expect(TEXT);
    }
    let mut when = format!("submitted at {}", format_time(operation.submitted));
    if let Some(start) = operation.started {
        write!(when, ", started at {}", format_time(start)).expect(TEXT);
    }
    if let Some(end) = operation.finished {
        write!(when, ", finished at {}", format_time(end)).expect(TEXT);
    }
    text + &when
}

/// Formats microseconds with a suitable unit.
fn format_time(micros: f64) -> String {
    match micros {
        m if m >= 10_000_000.0 => format!("{:.2} s", m / 1e6),
        m if m >= 10_000.0 => format!("{:.2} ms", m / 1e3),
        m if m >= 100.0 || m.fract() == 0.0 => format!("{m:.0} µs"),
        m => format!("{m:.1} µs"),
    }
}

/// True if the finding is about two unordered operations. Only such findings get the arrow of the missing order.
fn is_unordered(finding: &Finding) -> bool {
    use FindingId::{H1, H2, H3, L1, L3, S1, S2, S3};
    [H1, H2, H3, S1, S2, S3, L1, L3].iter().any(|id| id.to_string() == finding.id)
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    #[test]
    fn both_operations_and_the_missing_order_are_drawn() {
        let report = example::report();
        let svg = draw(&report.findings[0], &report.timeline);
        assert_eq!(svg.matches("class=\"op hot\"").count(), 2);
        assert_eq!(svg.matches("class=\"op\"").count(), 2, "neighbors");
        assert_eq!(svg.matches("class=\"lane-name\"").count(), 3);
        for part in [">thread 1<", ">stream 2<", ">the copy<", ">the write<", "no wait orders these two", ">waited<"] {
            assert!(svg.contains(part), "{part}");
        }
        assert!(svg.contains("reads bytes 0 to 4095 of the 8192 bytes"), "tooltip");
    }

    #[test]
    fn context_operations_are_drawn_less_prominently() {
        let mut report = example::report();
        let mut third = report.findings[0].operations[1].clone();
        third.role = "allocated here".into();
        third.operation.number = 2;
        third.operation.submitted = 5.0;
        report.findings[0].operations.push(third);
        let svg = draw(&report.findings[0], &report.timeline);
        assert_eq!((svg.matches("class=\"op hot\"").count(), svg.matches("class=\"op side\"").count()), (2, 1));
        assert!(svg.contains(">allocated here<"));
    }

    #[test]
    fn advice_has_no_missing_order() {
        let report = example::report();
        let svg = draw(&report.findings[1], &report.timeline);
        assert!(!svg.contains("no wait") && !svg.contains("in flight"));
        assert_eq!(svg.matches("class=\"op hot\"").count(), 1);
    }

    #[test]
    fn task_that_never_ran_is_labeled() {
        let mut report = example::report();
        let operation = &mut report.findings[0].operations[0].operation;
        (operation.started, operation.finished, operation.waited) = (None, None, None);
        assert!(draw(&report.findings[0], &[]).contains(">never ran<"));
        report.findings[0].operations.clear();
        assert_eq!(draw(&report.findings[0], &report.timeline), "");
    }

    #[test]
    fn long_timeline_is_cut_around_the_finding() {
        let mut report = example::report();
        let filler = report.timeline[1].clone();
        report.timeline = (100..1100)
            .map(|number| ReportedOperation { number, submitted: number as f64 * 10.0, ..filler.clone() })
            .collect();
        let svg = draw(&report.findings[0], &report.timeline);
        let neighbors = svg.matches("class=\"op\"").count();
        assert!((5..=MAX_NEIGHBORS).contains(&neighbors), "{neighbors}");
        assert!(svg.len() < 40_000, "{}", svg.len());
    }

    #[test]
    fn drawing_with_many_neighbors_fits_the_page() {
        let mut report = example::report();
        let filler = report.timeline[1].clone();
        let neighbor = |number: u64| {
            let time = number as f64 * 10.0;
            let (submitted, started, finished) = (time, Some(time + 1.0), Some(time + 2.0));
            ReportedOperation { number, submitted, started, finished, ..filler.clone() }
        };
        report.timeline = (100..200).map(neighbor).collect();
        let svg = draw(&report.findings[0], &report.timeline);
        let width: f64 = svg.split("width=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap().parse().unwrap();
        assert!(width <= WIDTH, "{width}");
        assert_eq!(svg.matches("class=\"op hot\"").count(), 2);
    }

    #[test]
    fn records_and_waits_are_named() {
        let mut report = example::report();
        let mut record = report.timeline[1].clone();
        (record.number, record.what) = (3, "event record".into());
        (record.submitted, record.started, record.finished) = (10.0, Some(20.0), Some(30.0));
        record.waited = None;
        record.actor = Actor::Stream { stream: 4, sequence: 1 };
        report.timeline.push(record);
        let svg = draw(&report.findings[0], &report.timeline);
        assert!(svg.contains("class=\"op event\"") && svg.contains(">record<"), "{svg}");
    }
}
