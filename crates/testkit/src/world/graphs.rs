//! Graphs: a few steps on two captured streams, ordered against each other by events, run several
//! times. For everything outside, a run is one task of the stream that launches it.

use super::*;
use fastrand::Rng;
use std::sync::Arc;

/// What one step does to the model, and the parts it uses.
struct Step {
    effect: Effect,
    to: Part,
    from: Option<Part>,
}

enum Effect {
    Copy,
    /// The bytes were taken when the step was captured.
    Staged(Vec<u8>),
    Fill(u8),
    Reduce(i32),
    Increment,
}

impl Step {
    fn parts(&self) -> impl Iterator<Item = (&Part, bool)> {
        let from = if let Effect::Staged(_) = self.effect { None } else { self.from.as_ref() };
        [(&self.to, true)].into_iter().chain(from.map(|part| (part, false)))
    }

    fn conflicts(&self, other: &Step) -> bool {
        let meet =
            |a: &Part, b: &Part| a.buffer == b.buffer && a.range.start < b.range.end && b.range.start < a.range.end;
        self.parts().any(|(a, writes)| other.parts().any(|(b, also)| (writes || also) && meet(a, b)))
    }
}

impl World<'_> {
    pub(super) fn graph(&mut self, seed: u32, steps: u32, runs: u32, stream: u32, side: u32) -> Result<(), Failure> {
        let (Some(origin), Some(side)) = (self.stream(stream), self.stream(side)) else { return Ok(()) };
        let branches = if side == origin { vec![origin] } else { vec![origin, side] };
        let mut rng = Rng::with_seed(seed.into());
        let mut drawn = Vec::new();
        for _ in 0..steps {
            if let Some(step) = self.draw_step(&mut rng)? {
                drawn.push((step, rng.usize(..branches.len())));
            }
        }
        let graph = self.capture(&branches, &drawn)?;
        let calls_host = drawn.iter().any(|(step, _)| matches!(step.effect, Effect::Increment));
        for _ in 0..runs {
            let Some(launch) = self.stream(rng.u32(..)) else { continue };
            for (step, _) in &drawn {
                for (part, writes) in step.parts() {
                    self.order_stream(launch, part, writes)?;
                }
            }
            ok(self.caller.launch_graph(graph, self.streams[launch].handle))?;
            let parts: Vec<_> = drawn.iter().flat_map(|(step, _)| step.parts()).collect();
            self.task(launch, &parts);
            drawn.iter().for_each(|(step, _)| self.apply(step));
            if calls_host {
                // As for host functions alone: they would write freed memory.
                self.synchronize(launch)?;
            }
        }
        self.graphs.push(graph);
        Ok(())
    }

    fn draw_step(&mut self, rng: &mut Rng) -> Result<Option<Step>, Failure> {
        let (target, source, at, len) = (rng.u32(..), rng.u32(..), rng.u32(..), rng.u32(1..9000));
        let device = self.buffer(target, &[Where::Device]);
        let known = [Where::Device, Where::Pinned];
        let step = |effect, pair: Option<(Part, Part)>| pair.map(|(to, from)| Step { effect, to, from: Some(from) });
        Ok(match rng.u32(0..10) {
            0..=2 => step(Effect::Copy, self.pair(device, self.buffer(source, &known), at, len, 1)),
            3..=4 => {
                let host = self.buffer(target, &[Where::Pinned]);
                step(Effect::Copy, self.pair(host, self.buffer(source, &[Where::Device]), at, len, 1))
            }
            5 => {
                let host = self.buffer(source, &[Where::Pinned, Where::Pageable]);
                let Some((to, from)) = self.pair(device, host, at, len, 1) else { return Ok(None) };
                self.order_host(&from, false)?;
                let bytes = self.buffers[from.buffer].model[from.range.clone()].to_vec();
                Some(Step { effect: Effect::Staged(bytes), to, from: Some(from) })
            }
            6 => device.and_then(|buffer| self.part(buffer, at, len, 1)).map(|to| Step {
                effect: Effect::Fill(at as u8),
                to,
                from: None,
            }),
            7..=8 => {
                let kind = 10 + (source % 4) as i32;
                step(Effect::Reduce(kind), self.pair(device, self.buffer(source, &[Where::Device]), at, len, 4))
            }
            _ => {
                let pinned = self.buffer(target, &[Where::Pinned]);
                pinned.and_then(|buffer| self.part(buffer, at, len % 500, 1)).map(|to| Step {
                    effect: Effect::Increment,
                    to,
                    from: None,
                })
            }
        })
    }

    /// Captures the steps; where two of different branches conflict, an event orders them.
    fn capture(&self, branches: &[usize], drawn: &[(Step, usize)]) -> Result<usize, Failure> {
        let caller = self.caller;
        let handles: Vec<usize> = branches.iter().map(|stream| self.streams[*stream].handle).collect();
        let event = ok(caller.create_event(EventKind::Extended(1)))?.raw();
        let follow = |to: usize, from: usize| {
            ok(caller.record_event(event, handles[from]))?;
            ok(caller.stream_wait_event(handles[to], event))
        };
        ok(caller.begin_capture(handles[0], CaptureMode::ThreadLocal))?;
        if handles.len() > 1 {
            follow(1, 0)?;
        }
        // Steps of each branch that the other one does not know to be over.
        let mut unknown: [Vec<&Step>; 2] = [Vec::new(), Vec::new()];
        for (step, branch) in drawn {
            if unknown[1 - branch].iter().any(|other| step.conflicts(other)) {
                follow(*branch, 1 - branch)?;
                unknown[1 - branch].clear();
            }
            self.issue(step, handles[*branch])?;
            unknown[*branch].push(step);
        }
        if handles.len() > 1 {
            follow(0, 1)?;
        }
        let graph = ok(caller.end_capture(handles[0]))?.raw();
        ok(caller.destroy_event(event))?;
        Ok(graph)
    }

    /// Makes the call that is captured.
    fn issue(&self, step: &Step, stream: usize) -> Result<(), Failure> {
        let (caller, count, target) = (self.caller, step.to.range.len(), self.address(&step.to));
        match (&step.effect, &step.from) {
            (Effect::Copy, Some(from)) => ok(caller.copy_async(self.request(&step.to, from, kinds::DEFAULT), stream)),
            (Effect::Staged(_), Some(from)) => {
                ok(caller.copy_async(self.request(&step.to, from, kinds::HOST_TO_BUFFER_TO_DEVICE), stream))
            }
            (Effect::Fill(byte), _) => {
                ok(caller.fill_async(FillRequest { target, capacity: count, byte: *byte, count }, stream))
            }
            (Effect::Reduce(kind), Some(from)) => {
                let source = self.address(from);
                let request = ReduceRequest { target, source, count, kind: *kind, element: 3, reserved: 0 };
                ok(caller.reduce_async(request, stream))
            }
            (Effect::Increment, _) => {
                let function = move || {
                    for address in target..target + count {
                        let byte = address as *mut u8;
                        // SAFETY: pinned memory of the world, ordered against everything that touches it.
                        unsafe { byte.write(byte.read().wrapping_add(1)) };
                    }
                };
                ok(caller.launch_host_function(stream, Arc::new(function)))
            }
            (_, None) => Err("a step without its source".to_owned()),
        }
    }

    fn apply(&mut self, step: &Step) {
        let source = |world: &World<'_>| {
            let from = step.from.as_ref().expect("the step has a source");
            world.buffers[from.buffer].model[from.range.clone()].to_vec()
        };
        let range = step.to.range.clone();
        match &step.effect {
            Effect::Copy => {
                let bytes = source(self);
                memory::copy(&mut self.buffers[step.to.buffer].model, range.start, &bytes);
            }
            Effect::Staged(bytes) => memory::copy(&mut self.buffers[step.to.buffer].model, range.start, bytes),
            Effect::Fill(byte) => memory::fill(&mut self.buffers[step.to.buffer].model, range, *byte),
            Effect::Reduce(kind) => {
                let bytes = source(self);
                memory::reduce(&mut self.buffers[step.to.buffer].model, range.start, &bytes, *kind);
            }
            Effect::Increment => memory::increment(&mut self.buffers[step.to.buffer].model, range),
        }
    }

    /// Ends the graphs; nothing runs any more.
    pub(super) fn destroy_graphs(&mut self) -> Result<(), Failure> {
        for graph in std::mem::take(&mut self.graphs) {
            ok(self.caller.destroy_graph(graph))?;
        }
        Ok(())
    }
}
