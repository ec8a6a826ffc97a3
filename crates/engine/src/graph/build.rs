//! Building graphs without a capture: streams are bound to a graph, and their tasks become its branches.
//!
//! A bound stream executes nothing. Its tasks are complete with `end_build`; a run executes the branches that start
//! with it, and those that they activate.

use crate::caller::Caller;
use crate::graph::program::{Program, ProgramStep};
use crate::graph::{BoundStream, Build, Entry, GraphState, Redirect, Step};
use crate::keys::{EventKey, GraphKey};
use crate::machine::Machine;
use crate::stream::Stream;
use crate::task::{Control, Task};
use softacl_errors::{Error, Result, fail};
use softacl_sync::facade::lock;
use std::collections::HashMap;
use std::sync::Arc;

/// Streams whose tasks wait until a graph runs them.
const STREAM_PERSISTENT: u32 = 0x4;

impl Caller<'_> {
    /// Starts to build a graph.
    pub fn begin_build(&self) -> Result<GraphKey> {
        let (context, of) = self.context()?;
        of.check()?;
        let key = self.machine.graphs.insert(context).ok_or(Error::NoHandle("graph"))?;
        let mut state = lock(&self.machine.graphs.all.slot(key).state);
        state.branches = 0;
        state.build = Some(Build::default());
        Ok(key)
    }

    /// Binds a stream to a graph that is being built. The branch of a `head` starts with a run; another branch when it
    /// is activated.
    pub fn bind_stream(&self, graph: usize, stream: usize, is_head: bool) -> Result<()> {
        let (graph_key, graph) = self.graph(graph)?;
        let (key, stream, context) = self.capturable(stream)?;
        if stream.options().flags & STREAM_PERSISTENT == 0 {
            return fail(Error::Parameter(
                "only a stream that was created with ACL_STREAM_PERSISTENT can be bound to a graph".to_owned(),
            ));
        }
        if stream.is_recording() {
            return fail(Error::Parameter("the stream is bound to a graph already, or is capturing".to_owned()));
        }
        let mut state = lock(&graph.state);
        if state.context != Some(context) {
            return fail(Error::OtherContextGraph);
        }
        let branch = state.branches;
        open_build(&mut state)?.streams.push(BoundStream { stream: key, is_head, is_ended: false });
        state.branches += 1;
        drop(state);
        stream.redirect(Redirect::Build { graph: graph_key, branch });
        Ok(())
    }

    /// Returns a stream to normal. Its tasks stay part of the graph.
    pub fn unbind_stream(&self, graph: usize, stream: usize) -> Result<()> {
        let (key, _) = self.graph(graph)?;
        let (_, stream) = self.stream(stream)?;
        check_bound(stream, key)?;
        stream.stop_redirect(key);
        Ok(())
    }

    /// Marks the end of the tasks of a stream.
    pub fn end_tasks(&self, graph: usize, stream: usize) -> Result<()> {
        let (key, graph) = self.graph(graph)?;
        let (_, stream) = self.stream(stream)?;
        let branch = check_bound(stream, key)?;
        let mut state = lock(&graph.state);
        let bound = &mut open_build(&mut state)?.streams[branch];
        if std::mem::replace(&mut bound.is_ended, true) {
            return fail(Error::Parameter("the tasks of the stream have ended already".to_owned()));
        }
        Ok(())
    }

    /// Completes a graph: it can run, and takes no more tasks.
    pub fn end_build(&self, graph: usize) -> Result<()> {
        let (_, graph) = self.graph(graph)?;
        let mut state = lock(&graph.state);
        open_build(&mut state)?;
        let program = compile(&state)?;
        open_build(&mut state)?.program = Some(Arc::new(program));
        Ok(())
    }
}

impl Machine {
    /// Adds a step to the branch of a bound stream.
    pub(crate) fn build_step(&self, (graph, branch): (GraphKey, usize), step: Step) -> Result<()> {
        let mut state = lock(&self.graphs.all.slot(graph).state);
        if open_build(&mut state)?.streams[branch].is_ended {
            return fail(Error::Parameter(
                "the tasks of the stream have ended (aclmdlRIEndTask), so the graph takes no more of them".to_owned(),
            ));
        }
        state.entries.push(Entry { branch, step });
        Ok(())
    }

    /// True if a graph that is built records the event, so far.
    pub(crate) fn has_built_record(&self, graph: GraphKey, event: EventKey) -> bool {
        is_recorded(&lock(&self.graphs.all.slot(graph).state), event)
    }
}

/// The branch of a stream that is bound to a graph.
fn check_bound(stream: &Stream, graph: GraphKey) -> Result<usize> {
    match stream.build() {
        Some((bound, branch)) if bound == graph => Ok(branch),
        _ => fail(Error::Parameter("the stream is not bound to this graph".to_owned())),
    }
}

/// The build of a graph that is not complete.
fn open_build(state: &mut GraphState) -> Result<&mut Build> {
    let id = state.id;
    match &mut state.build {
        Some(build) if build.program.is_none() => Ok(build),
        Some(_) => fail(Error::Parameter(format!("graph {id} is complete, and cannot be changed"))),
        None => fail(Error::Parameter(format!("graph {id} was captured, not begun with aclmdlRIBuildBegin"))),
    }
}

/// Sorts the steps of a graph by branch, and resolves its labels.
fn compile(state: &GraphState) -> Result<Program<Task>> {
    let bound = state.build.as_ref().map_or(&[][..], |build| build.streams.as_slice());
    let heads: Vec<usize> = (0..bound.len()).filter(|branch| bound[*branch].is_head).collect();
    if heads.is_empty() {
        return fail(Error::Parameter(
            "no stream of the graph starts with it: bind one with aclmdlRIBindStream and flag 0".to_owned(),
        ));
    }
    let mut program = Program { branches: Vec::new(), heads, labels: HashMap::new() };
    program.branches.resize_with(bound.len(), Vec::new);
    for entry in &state.entries {
        let steps = &mut program.branches[entry.branch];
        let step = match &entry.step {
            Step::Label(label) => {
                program.labels.insert(*label, (entry.branch, steps.len()));
                continue;
            }
            Step::Work(node) => match node.content().task()? {
                Task::Control(Control::LabelSwitch(_) | Control::StreamSwitch(_)) => {
                    ProgramStep::Decision(Arc::clone(node))
                }
                _ => ProgramStep::Work(Arc::clone(node)),
            },
            Step::Activate(branch) => ProgramStep::Activate(*branch),
            Step::SetLocal(event) if is_awaited(state, *event) => ProgramStep::SetLocal(*event),
            Step::SetLocal(event) | Step::SetEvent(event) => ProgramStep::SetEvent(*event),
            Step::AwaitLocal(event) if is_recorded(state, *event) => ProgramStep::AwaitLocal(*event),
            Step::AwaitLocal(event) | Step::AwaitRecord(event) => ProgramStep::AwaitRecord(*event),
            Step::ResetLocal(event) => ProgramStep::ResetLocal(*event),
            Step::AwaitEvent(graph_event) => ProgramStep::AwaitEvent(Arc::clone(graph_event)),
            Step::ResetEvent(graph_event) => ProgramStep::ResetEvent(Arc::clone(graph_event)),
            Step::Record(_) | Step::Wait { .. } => {
                return fail(Error::Internal("a captured event in a graph that was built".to_owned()));
            }
        };
        steps.push(step);
    }
    check_labels(&program)?;
    Ok(program)
}

/// True if the graph waits for the event. Otherwise its record is for streams outside.
fn is_awaited(state: &GraphState, event: EventKey) -> bool {
    state.entries.iter().any(|entry| matches!(entry.step, Step::AwaitLocal(other) if other == event))
}

/// True if the graph records the event. Otherwise a wait is for the record that the event has outside.
fn is_recorded(state: &GraphState, event: EventKey) -> bool {
    state.entries.iter().any(|entry| matches!(entry.step, Step::SetLocal(other) if other == event))
}

/// Refuses switches to labels that have no position in the stream of the switch.
fn check_labels(program: &Program<Task>) -> Result<()> {
    for (branch, steps) in program.branches.iter().enumerate() {
        for step in steps {
            let ProgramStep::Decision(node) = step else { continue };
            let Task::Control(Control::LabelSwitch(switch)) = node.content().task()? else { continue };
            for (at, label) in switch.labels.iter().enumerate() {
                match program.labels.get(label) {
                    Some((of, _)) if *of == branch => {}
                    Some(_) => {
                        return fail(Error::Parameter(format!(
                            "label {at} of a switch is in another stream: a jump stays in its stream"
                        )));
                    }
                    None => {
                        return fail(Error::Parameter(format!(
                            "label {at} of a switch has no position in the graph: call aclrtSetLabel"
                        )));
                    }
                }
            }
        }
    }
    Ok(())
}
