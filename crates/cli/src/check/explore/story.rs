//! The story of an order: its decisions as sentences, with source lines.

use super::trace::{Place, Trace};
use softacl_checker::NARRATED_CALL;
use softacl_checker::finding::{Actor as ReportedActor, Report, ReportedOperation};
use softacl_engine::order::{Actor, Constraint, Step};
use std::path::Path;

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

fn describe(step: Step, trace: &Trace, operations: &[&ReportedOperation]) -> String {
    match step.actor {
        Actor::Stream(stream) => {
            let actor = ReportedActor::Stream { stream, sequence: step.number };
            let operation = operations.iter().find(|operation| operation.actor == actor);
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
