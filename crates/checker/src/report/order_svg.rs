//! The SVG drawing of an order: a lane for the host and for each stream, the steps from top to bottom, and the decisions
//! that make the order.
//!
//! A decision is an arrow from a step to the task that runs only after it. Both ends carry its number, which is that of
//! its sentence.

use super::format::escape;
use serde::Serialize;
use std::fmt::Write as _;

const LEFT: f64 = 16.0;
const TOP: f64 = 44.0;
const LANE_WIDTH: f64 = 256.0;
const BOX_WIDTH: f64 = 216.0;
const BOX_HEIGHT: f64 = 40.0;
const ROW_HEIGHT: f64 = 64.0;
/// Letters that fit into a box.
const MAX_LETTERS: usize = 31;
const TEXT: &str = "writing to a String cannot fail";

/// What is drawn of an order.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct OrderDrawing {
    /// Steps in the order in which they were made.
    pub steps: Vec<DrawnStep>,
    pub decisions: Vec<DrawnDecision>,
}

/// A step of the host or of a stream.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct DrawnStep {
    /// Such as `host` or `stream 2`.
    pub lane: String,
    /// Such as `task 1: copy of 64 bytes`.
    pub title: String,
    /// File and line.
    pub place: Option<String>,
    /// Index of the drawn step that queued this task.
    pub queued_by: Option<usize>,
    /// Number of steps before this one that are not drawn.
    pub skipped: u64,
}

/// A task that runs only after another step, by their indexes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct DrawnDecision {
    /// Number of the sentence, counted from 1.
    pub number: usize,
    pub task: usize,
    pub after: usize,
}

/// Renders a `<figure>` with the SVG. Empty if there is nothing to draw.
pub fn draw(drawing: &OrderDrawing) -> String {
    if drawing.steps.is_empty() {
        return String::new();
    }
    let canvas = Canvas::new(drawing);
    let (width, height) = (LEFT + LANE_WIDTH * canvas.lanes.len() as f64, canvas.bottom());
    let mut svg = String::new();
    canvas.grid(&mut svg);
    canvas.queues(&mut svg);
    for decision in &drawing.decisions {
        canvas.arrow(&mut svg, decision);
    }
    for index in 0..drawing.steps.len() {
        canvas.step(&mut svg, index);
    }
    for decision in &drawing.decisions {
        canvas.numbers(&mut svg, decision);
    }
    format!(
        "<figure class=\"order\"><div><svg viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" role=\"img\" aria-label=\"the order of the steps\">\n{svg}</svg></div>\
         <figcaption>Steps run from top to bottom. A dashed line leads from the call that queued a task to its run. An \
         arrow with a number is a decision: the task runs only after the step at its start.</figcaption></figure>\n"
    )
}

struct Canvas<'a> {
    drawing: &'a OrderDrawing,
    /// The host first, then the streams in ascending order.
    lanes: Vec<&'a str>,
    /// Vertical middle of each step.
    rows: Vec<f64>,
}

impl<'a> Canvas<'a> {
    fn new(drawing: &'a OrderDrawing) -> Self {
        let mut lanes: Vec<&str> = drawing.steps.iter().map(|step| step.lane.as_str()).collect();
        // Names differ in their numbers only, so shorter ones come first.
        lanes.sort_by_key(|lane| (lane.len(), *lane));
        lanes.dedup();
        let mut y = TOP + BOX_HEIGHT / 2.0 + 8.0;
        let mut rows = Vec::new();
        for (index, step) in drawing.steps.iter().enumerate() {
            y += if index == 0 { 0.0 } else { ROW_HEIGHT };
            y += if step.skipped > 0 { ROW_HEIGHT / 3.0 } else { 0.0 };
            rows.push(y);
        }
        Self { drawing, lanes, rows }
    }

    fn bottom(&self) -> f64 {
        self.rows.last().copied().unwrap_or(TOP) + BOX_HEIGHT / 2.0 + 16.0
    }

    /// Horizontal middle of the lane of a step.
    fn x(&self, index: usize) -> f64 {
        let lane = &self.drawing.steps[index].lane;
        LEFT + LANE_WIDTH * (self.lanes.iter().position(|other| other == lane).unwrap_or(0) as f64 + 0.5)
    }

    fn grid(&self, svg: &mut String) {
        for (index, lane) in self.lanes.iter().enumerate() {
            let x = LEFT + LANE_WIDTH * (index as f64 + 0.5);
            writeln!(
                svg,
                "<line class=\"lane\" x1=\"{x:.0}\" y1=\"{TOP:.0}\" x2=\"{x:.0}\" y2=\"{:.0}\"/>\
                 <text class=\"lane-name\" x=\"{x:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
                self.bottom() - 6.0,
                TOP - 16.0,
                escape(lane)
            )
            .expect(TEXT);
        }
        for (step, y) in self.drawing.steps.iter().zip(&self.rows).filter(|(step, _)| step.skipped > 0) {
            let plural = if step.skipped == 1 { "" } else { "s" };
            writeln!(
                svg,
                "<text class=\"tick\" x=\"4\" y=\"{:.0}\">{} step{plural} not drawn</text>",
                y - BOX_HEIGHT / 2.0 - 12.0,
                step.skipped
            )
            .expect(TEXT);
        }
    }

    /// Draws how long each task was queued.
    fn queues(&self, svg: &mut String) {
        for (index, step) in self.drawing.steps.iter().enumerate() {
            let Some(caller) = step.queued_by else { continue };
            let (x, end) = (self.x(index) - 40.0, self.rows[index] - BOX_HEIGHT / 2.0);
            let (from, y) = (self.facing(caller, index), self.rows[caller] + 10.0);
            writeln!(svg, "<path class=\"queued\" d=\"M{from:.0} {y:.0} H{x:.0} V{end:.0}\"/>").expect(TEXT);
        }
    }

    fn arrow(&self, svg: &mut String, decision: &DrawnDecision) {
        let (x, end) = (self.x(decision.task) + 40.0, self.rows[decision.task] - BOX_HEIGHT / 2.0);
        let (from, y) = (self.facing(decision.after, decision.task), self.rows[decision.after]);
        writeln!(
            svg,
            "<path class=\"decision\" d=\"M{from:.0} {y:.0} H{x:.0} V{:.0}\"/>\
             <path class=\"decision-head\" d=\"M{x:.0} {end:.0} l-5 -9 h10 z\"/>",
            end - 6.0
        )
        .expect(TEXT);
    }

    /// The side of a box that faces another one.
    fn facing(&self, index: usize, other: usize) -> f64 {
        let direction = if self.x(other) >= self.x(index) { 1.0 } else { -1.0 };
        self.x(index) + direction * BOX_WIDTH / 2.0
    }

    fn step(&self, svg: &mut String, index: usize) {
        let step = &self.drawing.steps[index];
        let is_decided = self.drawing.decisions.iter().any(|decision| decision.task == index);
        let class = if is_decided { "step decided" } else { "step" };
        let (x, y) = (self.x(index), self.rows[index]);
        let place = step.place.as_deref().unwrap_or_default();
        writeln!(
            svg,
            "<g class=\"{class}\"><title>{} {}</title><rect x=\"{:.0}\" y=\"{:.0}\" width=\"{BOX_WIDTH:.0}\" \
             height=\"{BOX_HEIGHT:.0}\" rx=\"5\"/>",
            escape(&step.title),
            escape(place),
            x - BOX_WIDTH / 2.0,
            y - BOX_HEIGHT / 2.0,
        )
        .expect(TEXT);
        let lines = [(step.title.as_str(), "what"), (place, "place")];
        let shown: Vec<_> = lines.into_iter().filter(|(text, _)| !text.is_empty()).collect();
        let first = if shown.len() == 1 { 4.0 } else { -3.0 };
        for (row, (text, class)) in shown.iter().enumerate() {
            writeln!(
                svg,
                "<text class=\"{class}\" x=\"{x:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
                y + first + 16.0 * row as f64,
                escape(&shortened(text))
            )
            .expect(TEXT);
        }
        svg.push_str("</g>\n");
    }

    /// Draws the number of a decision at both ends of its arrow.
    fn numbers(&self, svg: &mut String, decision: &DrawnDecision) {
        let before = self.drawing.decisions.iter().take_while(|other| *other != decision);
        let taken = before.filter(|other| other.after == decision.after).count() as f64;
        let from = self.facing(decision.after, decision.task);
        let ends = [
            (from - 22.0 * taken * (from - self.x(decision.after)).signum(), self.rows[decision.after]),
            (self.x(decision.task) + BOX_WIDTH / 2.0, self.rows[decision.task]),
        ];
        for (x, y) in ends {
            writeln!(
                svg,
                "<circle class=\"badge\" cx=\"{x:.0}\" cy=\"{y:.0}\" r=\"10\"/>\
                 <text class=\"number badge-number\" x=\"{x:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
                y + 4.0,
                decision.number
            )
            .expect(TEXT);
        }
    }
}

fn shortened(text: &str) -> String {
    match text.chars().count() > MAX_LETTERS {
        true => text.chars().take(MAX_LETTERS - 1).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn example() -> OrderDrawing {
        let step = |lane: &str, title: &str, line: u32| DrawnStep {
            lane: lane.to_owned(),
            title: title.to_owned(),
            place: (line > 0).then(|| format!("app.c:{line}")),
            ..DrawnStep::default()
        };
        let mut steps = vec![
            step("host", "aclrtMemcpyAsync", 10),
            step("host", "aclrtMemsetAsync", 12),
            step("stream 2", "task 1: fill of 64 bytes", 12),
            step("host", "continues behind aclrtSynchronizeStream", 14),
            step("stream 10", "task 3: copy of <64> bytes", 10),
        ];
        (steps[2].queued_by, steps[4].queued_by) = (Some(1), Some(0));
        steps[3].skipped = 4;
        let decisions =
            vec![DrawnDecision { number: 1, task: 4, after: 2 }, DrawnDecision { number: 2, task: 4, after: 3 }];
        OrderDrawing { steps, decisions }
    }

    #[test]
    fn lanes_steps_and_decisions_are_drawn() {
        let svg = draw(&example());
        let names: Vec<usize> =
            [">host<", ">stream 2<", ">stream 10<"].iter().map(|name| svg.find(name).unwrap()).collect();
        assert!(names.is_sorted(), "the host first, streams by number");
        assert_eq!(svg.matches("class=\"step").count(), 5);
        assert_eq!(svg.matches("class=\"step decided\"").count(), 1);
        assert_eq!(svg.matches("class=\"decision\"").count(), 2);
        assert_eq!(svg.matches("class=\"queued\"").count(), 2);
        assert_eq!(svg.matches("class=\"badge\"").count(), 4, "each number stands at both ends");
        assert!(svg.contains("4 steps not drawn") && svg.contains(">app.c:14<"));
        assert!(svg.contains("&lt;64&gt;") && !svg.contains("<64>"));
        assert!(svg.contains("continues behind aclrtSynchron…"));
        assert_eq!(draw(&OrderDrawing::default()), "");
    }
}
