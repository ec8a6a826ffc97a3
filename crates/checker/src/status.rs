//! Takes the picture of this process: who waits for whom, with the lines that the checker knows.

use crate::backtrace::SymbolCache;
use crate::call::coarse_monotonic_ns;
use crate::checker::Checker;
use crate::look::Look;
use crate::operation::Operation;
use crate::picture::{DeviceUse, Picture, Waiter};
use crate::source_path;
use crate::wait_graph::Actor;
use crate::wait_text::{Explanation, Line};
use softacl_engine::observer::BlockedOn;
use softacl_engine::{Awaited, Front, Machine, StreamState};
use std::sync::Arc;

/// Takes a picture. Without the checker, the lines of waits are unknown.
pub fn picture(machine: &Machine, checker: Option<&Checker>) -> Picture {
    let look = Look::take(machine);
    let actors = look.actors();
    let lines: Vec<Line> = match checker.and_then(Checker::last_state) {
        Some(state) => state.with_explanation(|known| actors.iter().map(|actor| known.line(&look, *actor)).collect()),
        None => {
            let nothing = Explanation { records: None, task: &|_| None };
            actors.iter().map(|actor| nothing.line(&look, *actor)).collect()
        }
    };
    let mut picture = Picture {
        pid: std::process::id(),
        program: std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect(),
        is_checked: checker.is_some(),
        is_hang: checker.is_some_and(Checker::has_hang),
        devices: machine.config().devices.len() as u32,
        usage: usage(machine, &look),
        stream_count: look.snapshot.stream_count,
        last_progress: checker.map(|checker| seconds(checker.last_progress())),
        taken: seconds(coarse_monotonic_ns()),
        waits_outside: look.waits_outside(),
        awaited_processes: awaited_processes(&look),
        ..Picture::default()
    };
    // Symbolization is slow, so it runs without the state lock.
    let mut names = SymbolCache::default();
    for (actor, line) in actors.into_iter().zip(lines) {
        let place = line.operation.and_then(|operation| place(&operation, &mut names));
        match actor {
            Actor::Thread(id) => {
                picture.threads.push(Waiter { id: id as u32, what: line.text, place, device: None, tasks: None });
            }
            Actor::Stream(id) => {
                let state = look.stream(id);
                picture.streams.push(Waiter {
                    id,
                    what: line.text,
                    place,
                    device: state.map(|state| state.device),
                    tasks: state.map(|state| state.newest - state.done),
                });
            }
        }
    }
    picture
}

/// Memory and work of each device.
fn usage(machine: &Machine, look: &Look) -> Vec<DeviceUse> {
    let devices = machine.config().devices.iter().zip(0_u32..);
    devices
        .filter_map(|(physical, device)| {
            let memory = machine.device_memory(device.into()).ok()?;
            let runs = |state: &&StreamState| state.device == device && state.front == Front::Running;
            let running = look.snapshot.streams.iter().filter(runs).count() as u32;
            Some(DeviceUse { device: *physical, used: memory.used as u64, capacity: memory.capacity as u64, running })
        })
        .collect()
}

/// The processes that created events that this process waits for.
fn awaited_processes(look: &Look) -> Vec<u32> {
    let calls = look.snapshot.threads.iter().filter_map(|wait| match wait.on {
        BlockedOn::ForeignRecord { process, .. } => Some(process),
        BlockedOn::Point(_) | BlockedOn::Reports => None,
    });
    let streams = look.snapshot.streams.iter().filter_map(|state| match &state.front {
        Front::Waits(wait) => match &wait.on {
            Awaited::ForeignRecord { name, .. } => Some(name.process),
            _ => None,
        },
        Front::Running | Front::Ready | Front::HostFunction => None,
    });
    let mut all: Vec<u32> = calls.chain(streams).filter(|process| *process != std::process::id()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// File, line and function of an operation.
fn place(operation: &Arc<Operation>, names: &mut SymbolCache) -> Option<String> {
    let place = operation.backtrace.resolve(operation.function, names);
    let frame = place.best()?;
    let function = frame.function.as_ref().map_or_else(String::new, |function| format!(" in {function}"));
    match (&frame.file, frame.line) {
        (Some(file), Some(line)) => Some(format!("{}:{line}{function}", source_path::tidy(file).display())),
        _ => frame.function.clone(),
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
