//! The story of an order: its decisions as sentences with source lines, and as a drawing.

use super::trace::{Place, Trace};
use softacl_checker::NARRATED_CALL;
use softacl_checker::finding::{Actor as ReportedActor, Report, ReportedOperation};
use softacl_checker::report::order_svg::{DrawnDecision, DrawnStep, OrderDrawing};
use softacl_engine::order::{Actor, Constraint, Step};
use std::collections::BTreeSet;
use std::path::Path;

/// Decisions that are drawn. The sentences name all.
const MAX_DECISIONS: usize = 8;
/// Steps that are drawn besides those that decisions name and those that queued their tasks.
const MAX_OTHERS: usize = 6;

/// Describes constraints. `trace` and `reports` belong to a run of them in which every call was kept.
pub fn describe_order(constraints: &[Constraint], trace: &Trace, reports: &[Report]) -> Vec<String> {
    let operations: Vec<&ReportedOperation> = reports.iter().flat_map(|report| &report.timeline).collect();
    let sentence = |constraint: &Constraint| {
        let task = describe(constraint.task, trace, &operations);
        match constraint.after.actor {
            Actor::Host => {
                let host = describe(constraint.after, trace, &operations);
                format!("{task} runs after the host has {host}")
            }
            Actor::Stream(_) => format!("{task} runs after {}", describe(constraint.after, trace, &operations)),
        }
    };
    constraints.iter().map(sentence).collect()
}

/// Draws constraints among the steps around them, from the same run.
pub fn draw_order(constraints: &[Constraint], trace: &Trace, reports: &[Report]) -> OrderDrawing {
    let operations: Vec<&ReportedOperation> = reports.iter().flat_map(|report| &report.timeline).collect();
    let index = |step: Step| trace.steps.iter().position(|taken| taken.step == step);
    let caller = |step: Step| trace.queued.get(&step).map(|(by, _)| *by);
    let found: Vec<(usize, usize, usize)> = constraints
        .iter()
        .enumerate()
        .filter_map(|(number, constraint)| Some((number + 1, index(constraint.task)?, index(constraint.after)?)))
        .take(MAX_DECISIONS)
        .collect();
    let mut shown: BTreeSet<usize> = found.iter().flat_map(|(_, task, after)| [*task, *after]).collect();
    if shown.is_empty() {
        return OrderDrawing::default();
    }
    // Tasks next to those of the decisions show what the order changes.
    let is_task = |step: usize| matches!(trace.steps[step].step.actor, Actor::Stream(_));
    let distance =
        |step: &usize| found.iter().flat_map(|(_, task, after)| [task, after]).map(|at| at.abs_diff(*step)).min();
    let mut others: Vec<usize> =
        (0..trace.steps.len()).filter(|step| is_task(*step) && !shown.contains(step)).collect();
    others.sort_by_key(distance);
    shown.extend(others.into_iter().take(MAX_OTHERS));
    let callers: Vec<usize> = shown.iter().filter_map(|step| caller(trace.steps[*step].step)).collect();
    shown.extend(callers);
    let shown: Vec<usize> = shown.into_iter().collect();
    let place_of = |step: usize| shown.binary_search(&step).ok();
    let mut steps = Vec::new();
    let mut next = shown[0];
    for at in &shown {
        let step = trace.steps[*at].step;
        let (lane, title, place) = draw_step(step, trace, &operations);
        let queued_by = caller(step).and_then(place_of);
        steps.push(DrawnStep { lane, title, place, queued_by, skipped: (at - next) as u64 });
        next = at + 1;
    }
    let decision = |(number, task, after): (usize, usize, usize)| {
        Some(DrawnDecision { number, task: place_of(task)?, after: place_of(after)? })
    };
    OrderDrawing { steps, decisions: found.into_iter().filter_map(decision).collect() }
}

/// Lane, title and location of a step.
fn draw_step(step: Step, trace: &Trace, operations: &[&ReportedOperation]) -> (String, String, Option<String>) {
    match step.actor {
        Actor::Stream(stream) => {
            let operation = operation(stream, step.number, operations);
            let what = operation.map_or(String::new(), |operation| format!(": {}", operation.what));
            (format!("stream {stream}"), format!("task {}{what}", step.number), operation.and_then(location))
        }
        Actor::Host => {
            let taken = trace.steps.iter().find(|taken| taken.step == step);
            let place = taken.map_or(Place::default(), |taken| taken.place);
            let (name, at) = call(place.call, trace, operations);
            let title = if place.is_inside { name } else { format!("after {name}") };
            ("host".to_owned(), title, at.strip_prefix(" at ").map(str::to_owned))
        }
    }
}

/// The operation of a task.
fn operation<'a>(stream: u32, sequence: u64, operations: &[&'a ReportedOperation]) -> Option<&'a ReportedOperation> {
    let actor = ReportedActor::Stream { stream, sequence };
    operations.iter().find(|operation| operation.actor == actor).copied()
}

fn describe(step: Step, trace: &Trace, operations: &[&ReportedOperation]) -> String {
    match step.actor {
        Actor::Stream(stream) => {
            let operation = operation(stream, step.number, operations);
            let facts = operation.map_or(String::new(), |operation| {
                let place = location(operation).map_or(String::new(), |place| format!(", {place}"));
                format!(" ({}{place})", operation.what)
            });
            format!("task {} of stream {stream}{facts}", step.number)
        }
        Actor::Host => {
            let taken = trace.steps.iter().find(|taken| taken.step == step);
            let place = taken.map_or(Place::default(), |taken| taken.place);
            let (name, at) = call(place.call, trace, operations);
            match place.is_inside {
                true => format!("called {name}{at}"),
                false => format!("continued behind {name}{at}"),
            }
        }
    }
}

/// Name and location of a call.
fn call(number: u64, trace: &Trace, operations: &[&ReportedOperation]) -> (String, String) {
    // The timeline keeps the last calls, so they are counted from the end.
    let is_call = |operation: &&&ReportedOperation| operation.what.starts_with(NARRATED_CALL);
    let back = usize::try_from(trace.calls.saturating_sub(number)).unwrap_or(usize::MAX);
    match operations.iter().filter(is_call).nth_back(back) {
        Some(operation) => {
            let name = operation.function.clone().unwrap_or_else(|| format!("call {number}"));
            (name, location(operation).map_or(String::new(), |place| format!(" at {place}")))
        }
        None => (format!("call {number}"), String::new()),
    }
}

/// File and line of an operation.
fn location(operation: &ReportedOperation) -> Option<String> {
    let frame = operation.place.best()?;
    let name = Path::new(frame.file.as_ref()?).file_name()?.to_string_lossy().into_owned();
    Some(format!("{name}:{}", frame.line?))
}
