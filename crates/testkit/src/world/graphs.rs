//! Graphs: a few steps on two captured streams, ordered by events and launched several times.
//!
//! Outside the graph, a run is one task of the stream that launches it.

use super::kernels::KERNEL_ACCESSES;
use super::outcome::{Failure, GRAPH_FAILURE, ok};
use super::state::{BufferKind, BufferRange, World};
use crate::faults::{Effect, Oracle, TaskKind};
use crate::memory;
use fastrand::Rng;
use softacl_engine::{CaptureMode, EventKind, FillRequest, ReduceRequest, kinds};
use std::sync::Arc;

/// A step of a graph: its effect on the model and the buffer ranges it uses.
struct GraphOp {
    action: Action,
    to: BufferRange,
    from: Option<BufferRange>,
}

enum Action {
    Copy,
    /// A staged copy, with the bytes that the source had at capture.
    Staged(Vec<u8>),
    Fill(u8),
    Reduce(i32),
    Increment,
    Kernel,
}

impl GraphOp {
    /// Returns the accessed ranges; `true` marks writes.
    fn parts(&self) -> impl Iterator<Item = (&BufferRange, bool)> {
        let from = if let Action::Staged(_) = self.action { None } else { self.from.as_ref() };
        [(&self.to, true)].into_iter().chain(from.map(|part| (part, false)))
    }

    /// Predicts the effect of the rules on the step.
    fn injected(&self, oracle: &mut Oracle) -> Option<Effect> {
        let kind = match self.action {
            Action::Copy | Action::Staged(_) => TaskKind::Copy,
            Action::Fill(_) => TaskKind::Fill,
            Action::Reduce(_) => TaskKind::Reduce,
            Action::Kernel => return oracle.task(TaskKind::Kernel, KERNEL_ACCESSES * self.to.range.len(), false),
            Action::Increment => return None,
        };
        oracle.task(kind, self.to.range.len(), false)
    }

    fn conflicts(&self, other: &GraphOp) -> bool {
        let overlap = |a: &BufferRange, b: &BufferRange| {
            a.buffer == b.buffer && a.range.start < b.range.end && b.range.start < a.range.end
        };
        self.parts().any(|(a, writes)| other.parts().any(|(b, also)| (writes || also) && overlap(a, b)))
    }
}

impl World<'_> {
    pub(super) fn graph(&mut self, seed: u32, steps: u32, runs: u32, stream: u32, side: u32) -> Result<(), Failure> {
        let (Some(origin), Some(side)) = (self.stream(stream), self.stream(side)) else { return Ok(()) };
        // A graph belongs to one context.
        let context = self.streams[origin].context;
        let side = if self.streams[side].context == context { side } else { origin };
        let branches = if side == origin { vec![origin] } else { vec![origin, side] };
        let mut rng = Rng::with_seed(seed.into());
        let mut drawn = Vec::new();
        for _ in 0..steps {
            if let Some(step) = self.draw_step(&mut rng)? {
                drawn.push((step, rng.usize(..branches.len())));
            }
        }
        let graph = self.capture(&branches, &drawn)?;
        let calls_host = drawn.iter().any(|(step, _)| matches!(step.action, Action::Increment));
        for _ in 0..runs {
            let Some(launch) = self.stream(rng.u32(..)).filter(|stream| self.streams[*stream].context == context)
            else {
                continue;
            };
            for (step, _) in &drawn {
                for (part, writes) in step.parts() {
                    self.order_stream(launch, part, writes)?;
                }
            }
            // Rules apply at launch, to each step in the order of the capture.
            let mut oracle = self.oracle.clone();
            let effects: Vec<_> = drawn.iter().map(|(step, _)| step.injected(&mut oracle)).collect();
            let fails = |effect: &Option<Effect>| matches!(effect, Some(Effect::Code(_)));
            let is_disruptive = |effect: &Effect| !matches!(effect, Effect::Code(_) | Effect::SlowUs(_));
            if effects.iter().flatten().any(is_disruptive)
                || (self.contexts[context].stops && effects.iter().any(fails))
            {
                // The schedule would decide what the other branches still do.
                continue;
            }
            self.oracle = oracle;
            let handle = self.enter_stream(launch)?;
            ok(self.caller.launch_graph(graph, handle))?;
            let parts: Vec<_> = drawn.iter().flat_map(|(step, _)| step.parts()).collect();
            self.task(launch, &parts);
            // A failed step moves nothing and the other steps continue. The run returns one code for all failures.
            let succeeding = drawn.iter().zip(&effects).filter(|(_, effect)| !fails(effect));
            succeeding.for_each(|((step, _), _)| self.apply(step));
            if effects.iter().any(fails) {
                self.streams[launch].expect_failure(&[GRAPH_FAILURE]);
            }
            if calls_host {
                // Wait, as after a host function: it could write freed memory.
                self.synchronize(launch)?;
            }
        }
        self.graphs.push(graph);
        Ok(())
    }

    /// Generates a step. `None` if no buffers fit.
    fn draw_step(&mut self, rng: &mut Rng) -> Result<Option<GraphOp>, Failure> {
        let (target, source, at, len) = (rng.u32(..), rng.u32(..), rng.u32(..), rng.u32(1..9000));
        let device = self.buffer(target, &[BufferKind::Device]);
        let sources = [BufferKind::Device, BufferKind::Pinned];
        let step = |action, pair: Option<(BufferRange, BufferRange)>| {
            pair.map(|(to, from)| GraphOp { action, to, from: Some(from) })
        };
        Ok(match rng.u32(0..10) {
            0..=2 => {
                // Chosen by a bit that is otherwise unused, so that recorded seeds keep their graphs apart from it.
                let action = if at & (1 << 31) == 0 { Action::Copy } else { Action::Kernel };
                step(action, self.pair(device, self.buffer(source, &sources), at, len, 1))
            }
            3..=4 => {
                let host = self.buffer(target, &[BufferKind::Pinned]);
                step(Action::Copy, self.pair(host, self.buffer(source, &[BufferKind::Device]), at, len, 1))
            }
            5 => {
                let host = self.buffer(source, &[BufferKind::Pinned, BufferKind::Pageable]);
                let Some((to, from)) = self.pair(device, host, at, len, 1) else { return Ok(None) };
                self.order_host(&from, false)?;
                let bytes = self.buffers[from.buffer].model[from.range.clone()].to_vec();
                Some(GraphOp { action: Action::Staged(bytes), to, from: Some(from) })
            }
            6 => device.and_then(|buffer| self.part(buffer, at, len, 1)).map(|to| GraphOp {
                action: Action::Fill(at as u8),
                to,
                from: None,
            }),
            7..=8 => {
                let kind = 10 + (source % 4) as i32;
                step(Action::Reduce(kind), self.pair(device, self.buffer(source, &[BufferKind::Device]), at, len, 4))
            }
            _ => {
                let pinned = self.buffer(target, &[BufferKind::Pinned]);
                pinned.and_then(|buffer| self.part(buffer, at, len % 500, 1)).map(|to| GraphOp {
                    action: Action::Increment,
                    to,
                    from: None,
                })
            }
        })
    }

    /// Captures the steps. An event orders conflicting steps of different branches.
    fn capture(&self, branches: &[usize], drawn: &[(GraphOp, usize)]) -> Result<usize, Failure> {
        let caller = self.caller;
        let handles: Vec<usize> = branches.iter().map(|stream| self.streams[*stream].handle).collect();
        self.enter_stream(branches[0])?;
        let event = ok(caller.create_event(EventKind::Extended(1)))?.raw();
        let follow = |to: usize, from: usize| {
            ok(caller.record_event(event, handles[from]))?;
            ok(caller.stream_wait_event(handles[to], event))
        };
        ok(caller.begin_capture(handles[0], CaptureMode::ThreadLocal))?;
        if handles.len() > 1 {
            follow(1, 0)?;
        }
        // Steps of each branch that are unordered with the other branch.
        let mut unordered: [Vec<&GraphOp>; 2] = [Vec::new(), Vec::new()];
        for (step, branch) in drawn {
            if unordered[1 - branch].iter().any(|other| step.conflicts(other)) {
                follow(*branch, 1 - branch)?;
                unordered[1 - branch].clear();
            }
            self.issue(step, handles[*branch])?;
            unordered[*branch].push(step);
        }
        if handles.len() > 1 {
            follow(0, 1)?;
        }
        let graph = ok(caller.end_capture(handles[0]))?.raw();
        ok(caller.destroy_event(event))?;
        Ok(graph)
    }

    /// Makes the call of a step during capture.
    fn issue(&self, step: &GraphOp, stream: usize) -> Result<(), Failure> {
        let (caller, count, target) = (self.caller, step.to.range.len(), self.address(&step.to));
        match (&step.action, &step.from) {
            (Action::Copy, Some(from)) => ok(caller.copy_async(self.request(&step.to, from, kinds::DEFAULT), stream)),
            (Action::Staged(_), Some(from)) => {
                ok(caller.copy_async(self.request(&step.to, from, kinds::HOST_TO_BUFFER_TO_DEVICE), stream))
            }
            (Action::Fill(byte), _) => {
                ok(caller.fill_async(FillRequest { target, capacity: count, byte: *byte, count }, stream))
            }
            (Action::Reduce(kind), Some(from)) => {
                let source = self.address(from);
                let request = ReduceRequest { target, source, count, kind: *kind, element: 3, reserved: 0 };
                ok(caller.reduce_async(request, stream))
            }
            (Action::Increment, _) => {
                let function = move || {
                    for address in target..target + count {
                        let byte = address as *mut u8;
                        // SAFETY: pinned memory of the world, ordered against everything that touches it.
                        unsafe { byte.write(byte.read().wrapping_add(1)) };
                    }
                };
                ok(caller.launch_host_function(stream, Arc::new(function)))
            }
            (Action::Kernel, Some(from)) => ok(caller.launch_kernel(self.kernel_request(&step.to, from)?, stream)),
            (_, None) => Err("a step without its source".to_owned()),
        }
    }

    /// Applies a step to the model.
    fn apply(&mut self, step: &GraphOp) {
        let source = |world: &World<'_>| {
            let from = step.from.as_ref().expect("the step has a source");
            world.buffers[from.buffer].model[from.range.clone()].to_vec()
        };
        let range = step.to.range.clone();
        match &step.action {
            Action::Copy => {
                let bytes = source(self);
                memory::copy(&mut self.buffers[step.to.buffer].model, range.start, &bytes);
            }
            Action::Staged(bytes) => memory::copy(&mut self.buffers[step.to.buffer].model, range.start, bytes),
            Action::Fill(byte) => memory::fill(&mut self.buffers[step.to.buffer].model, range, *byte),
            Action::Reduce(kind) => {
                let bytes = source(self);
                memory::reduce(&mut self.buffers[step.to.buffer].model, range.start, &bytes, *kind);
            }
            Action::Kernel => {
                let bytes = source(self);
                memory::add(&mut self.buffers[step.to.buffer].model, range.start, &bytes);
            }
            Action::Increment => memory::increment(&mut self.buffers[step.to.buffer].model, range),
        }
    }

    /// Destroys all graphs. The caller has waited for their runs.
    pub(super) fn destroy_graphs(&mut self) -> Result<(), Failure> {
        for graph in std::mem::take(&mut self.graphs) {
            ok(self.caller.destroy_graph(graph))?;
        }
        Ok(())
    }
}
