//! Inspecting and changing the tasks of a graph: handles of its streams and tasks, parameters, and updates.
//!
//! A change is noted with the graph and takes effect with `update_graph`. Only work can be changed or disabled; events
//! order the graph and stay.

use crate::caller::Caller;
use crate::graph::{Graph, GraphState, Part, Step};
use crate::keys::{EventKey, GraphKey, StreamKey};
use crate::task::external_wait::{ExternalWait, ValueCondition, WaitCondition};
use crate::task::kind::TaskKind;
use crate::task::moves::Move;
use crate::task::{Content, Control, Node, Task};
use softacl_errors::{Error, HandleKind, Result, fail};
use softacl_memory::MemoryKind;
use softacl_memory::touch::Mode;
use softacl_sync::facade::lock;
use std::sync::Arc;

/// Kind of a task, as programs can query it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    Other,
    Kernel,
    EventRecord,
    EventWait,
    EventReset,
    ValueWrite,
    ValueWait,
}

/// Parameters of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryParameters {
    /// A task without public parameters.
    Other,
    /// A record, wait or reset. `is_external` is true for the flag EXTERNAL of the call.
    Event {
        event: usize,
        flags: u32,
        is_external: bool,
    },
    ValueWrite {
        address: usize,
        value: u64,
    },
    ValueWait {
        address: usize,
        value: u64,
        condition: ValueCondition,
    },
}

impl Caller<'_> {
    /// Handles of the streams of a graph.
    pub fn graph_streams(&self, raw: usize) -> Result<Vec<usize>> {
        let (key, graph) = self.graph(raw)?;
        let mut state = complete(graph)?;
        while state.branch_handles.len() < state.branches {
            let branch = state.branch_handles.len();
            let handle = self.machine.graphs.insert_part(Part::Branch(key, branch))?;
            state.branch_handles.push(handle);
        }
        Ok(state.branch_handles.iter().map(|handle| handle.raw()).collect())
    }

    /// Handles of the tasks of a stream: of a graph, or bound to one.
    pub fn graph_tasks(&self, raw: usize) -> Result<Vec<usize>> {
        let (key, branch) = self.branch(raw)?;
        let mut state = complete(self.machine.graphs.all.slot(key))?;
        let mut handles = Vec::new();
        for at in (0..state.entries.len()).filter(|at| state.entries[*at].branch == branch).collect::<Vec<_>>() {
            let handle = match state.entry_handles.get(&at) {
                Some(handle) => *handle,
                None => {
                    let handle = self.machine.graphs.insert_part(Part::Entry(key, at))?;
                    state.entry_handles.insert(at, handle);
                    handle
                }
            };
            handles.push(handle.raw());
        }
        Ok(handles)
    }

    /// Position of a task in its graph: in the order in which the tasks were captured or built.
    pub fn graph_task_sequence(&self, raw: usize) -> Result<u32> {
        Ok(self.entry(raw)?.1 as u32)
    }

    /// Kind of a task.
    pub fn graph_task_kind(&self, raw: usize) -> Result<EntryKind> {
        self.with_entry(raw, |state, at| Ok(entry_kind(&state.entries[at].step)))
    }

    /// Kind, task group and parameters of a task.
    pub fn graph_task_parameters(&self, raw: usize) -> Result<(EntryKind, usize, EntryParameters)> {
        self.with_entry(raw, |state, at| {
            let step = &state.entries[at].step;
            let parameters = match step {
                Step::Work(node) => self.work_parameters(&node.content()),
                Step::Wait { event, .. } => self.event_parameters(*event, false),
                Step::Record(event) | Step::SetLocal(event) | Step::AwaitLocal(event) | Step::ResetLocal(event) => {
                    self.event_parameters(Some(*event), false)
                }
                Step::SetEvent(event) | Step::AwaitRecord(event) => self.event_parameters(Some(*event), true),
                Step::AwaitEvent(_) | Step::ResetEvent(_) => self.event_parameters(None, false),
                Step::Label(_) | Step::Activate(_) => EntryParameters::Other,
            };
            let group = if let Step::Work(node) = step { self.group_of(state, node) } else { 0 };
            Ok((entry_kind(step), group, parameters))
        })
    }

    /// Notes new parameters for a task. They take effect with `update_graph`.
    pub fn set_graph_task_parameters(&self, raw: usize, parameters: EntryParameters) -> Result<()> {
        let task: Task = match parameters {
            EntryParameters::ValueWrite { address, value } => {
                Move::WriteValue { target: self.parameter_cell(address)?, value }.into()
            }
            EntryParameters::ValueWait { address, value, condition } => {
                let backing = self.parameter_cell(address)?;
                let wait = ExternalWait::new(WaitCondition::Value { backing, value, condition });
                Control::Await(Arc::new(wait)).into()
            }
            EntryParameters::Other | EntryParameters::Event { .. } => {
                return fail(Error::Feature(
                    "only value writes and value waits have parameters that can be set".to_owned(),
                ));
            }
        };
        self.note_change(raw, Content::new(task)?, |kind, task| {
            if kind == task {
                Ok(())
            } else {
                fail(Error::Parameter(format!(
                    "the task is a {}, so it cannot get the parameters of a {}",
                    kind.name(),
                    task.name()
                )))
            }
        })
    }

    /// Notes that a task does nothing in later runs. Takes effect with `update_graph`.
    pub fn disable_graph_task(&self, raw: usize) -> Result<()> {
        let kind = self.with_entry(raw, |state, at| match &state.entries[at].step {
            Step::Work(node) => Ok(node.kind()),
            _ => fail(Error::Feature(
                "a record, wait or reset of an event orders the graph and cannot be disabled".to_owned(),
            )),
        })?;
        self.note_change(raw, Content::new(Control::Disabled(kind).into())?, |_, _| Ok(()))
    }

    /// Applies the noted changes. The graph must not run.
    pub fn update_graph(&self, raw: usize) -> Result<()> {
        let (_, graph) = self.graph(raw)?;
        let end = lock(&graph.state).end;
        if let Some(end) = end {
            // A program that retries until the graph is idle must let a schedule make progress.
            self.machine.reached(end);
        }
        let mut state = complete(graph)?;
        if state.end.is_some_and(|end| !self.machine.is_finished(end)) {
            return fail(Error::GraphRunning(state.id));
        }
        if let Some((at, _)) = state.pending.iter().find(|(_, content)| content.is_invalidated()) {
            return fail(Error::UpdateFailed(format!("the new parameters of task {at} name memory that was freed")));
        }
        for (at, content) in std::mem::take(&mut state.pending) {
            if let Step::Work(node) = &state.entries[at].step {
                node.replace(content);
            }
        }
        Ok(())
    }

    fn note_change(
        &self,
        raw: usize,
        content: Content,
        check: impl FnOnce(TaskKind, TaskKind) -> Result<()>,
    ) -> Result<()> {
        let (key, at) = self.entry(raw)?;
        let mut state = complete(self.machine.graphs.all.slot(key))?;
        let Step::Work(node) = &state.entries[at].step else {
            return fail(Error::Feature("the event of a record, wait or reset cannot be changed".to_owned()));
        };
        check(node.kind(), content.kind())?;
        state.pending.retain(|(other, _)| *other != at);
        state.pending.push((at, Arc::new(content)));
        Ok(())
    }

    fn work_parameters(&self, content: &Content) -> EntryParameters {
        let program_address = |backing| self.machine.memory.touch(backing, size_of::<u64>(), Mode::Read).address;
        content.with_task(|task| match task {
            Task::Move(Move::WriteValue { target, value }) => {
                EntryParameters::ValueWrite { address: program_address(*target), value: *value }
            }
            Task::Control(Control::Await(wait)) => match wait.condition {
                WaitCondition::Value { backing, value, condition } => {
                    EntryParameters::ValueWait { address: program_address(backing), value, condition }
                }
                _ => EntryParameters::Other,
            },
            _ => EntryParameters::Other,
        })
    }

    /// Parameters of a record, wait or reset. An event that was destroyed has the handle 0.
    fn event_parameters(&self, event: Option<EventKey>, is_external: bool) -> EntryParameters {
        let live = event.and_then(|key| Some((key, self.machine.events.get(key)?)));
        let (event, flags) = live.map_or((0, 0), |(key, event)| (key.raw(), lock(&event.state).kind.flags()));
        EntryParameters::Event { event, flags, is_external }
    }

    /// Handle of the task group that contains a node, or 0.
    fn group_of(&self, state: &GraphState, node: &Arc<Node>) -> usize {
        let contains = |group: &&crate::keys::GroupKey| {
            lock(&self.machine.graphs.groups.slot(**group).state).nodes.iter().any(|other| Arc::ptr_eq(other, node))
        };
        state.groups.iter().find(contains).map_or(0, |group| group.raw())
    }

    /// The backing address of a value in device memory.
    fn parameter_cell(&self, address: usize) -> Result<usize> {
        let resolved = self.machine.memory.finder().find("value", address)?;
        if !matches!(resolved.place, MemoryKind::Device(_)) {
            return fail(Error::NotDeviceMemory { address, kind: resolved.describe() });
        }
        resolved.covers("value", size_of::<u64>())?;
        Ok(resolved.reach)
    }

    /// Resolves the handle of a stream of a graph, or of a stream that is bound to one.
    fn branch(&self, raw: usize) -> Result<(GraphKey, usize)> {
        if let Some(stream) = StreamKey::from_raw(raw).and_then(|key| self.machine.streams.get(key)) {
            return stream.build().ok_or_else(|| {
                Box::new(Error::Parameter("the stream is not bound to a graph, nor of aclmdlRIGetStreams".to_owned()))
            });
        }
        match self.machine.graphs.part(raw) {
            Some((_, Part::Branch(graph, branch))) => Ok((graph, branch)),
            _ => fail(Error::Handle { what: HandleKind::GraphStream, handle: raw }),
        }
    }

    /// Resolves the handle of a task of a graph.
    fn entry(&self, raw: usize) -> Result<(GraphKey, usize)> {
        match self.machine.graphs.part(raw) {
            Some((_, Part::Entry(graph, at))) => Ok((graph, at)),
            _ => fail(Error::Handle { what: HandleKind::GraphTask, handle: raw }),
        }
    }

    fn with_entry<R>(&self, raw: usize, f: impl FnOnce(&GraphState, usize) -> Result<R>) -> Result<R> {
        let (key, at) = self.entry(raw)?;
        let state = complete(self.machine.graphs.all.slot(key))?;
        f(&state, at)
    }
}

/// The state of a graph that is not being captured.
fn complete(graph: &Graph) -> Result<softacl_sync::facade::MutexGuard<'_, GraphState>> {
    let state = lock(&graph.state);
    if state.capture.is_some() { fail(Error::GraphCapturing) } else { Ok(state) }
}

fn entry_kind(step: &Step) -> EntryKind {
    match step {
        Step::Work(node) => match node.kind() {
            TaskKind::ValueWrite => EntryKind::ValueWrite,
            TaskKind::ValueWait => EntryKind::ValueWait,
            TaskKind::Kernel => EntryKind::Kernel,
            _ => EntryKind::Other,
        },
        Step::Record(_) | Step::SetEvent(_) | Step::SetLocal(_) => EntryKind::EventRecord,
        Step::Wait { .. } | Step::AwaitEvent(_) | Step::AwaitRecord(_) | Step::AwaitLocal(_) => EntryKind::EventWait,
        Step::ResetEvent(_) | Step::ResetLocal(_) => EntryKind::EventReset,
        Step::Label(_) | Step::Activate(_) => EntryKind::Other,
    }
}
