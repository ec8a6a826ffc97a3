//! Running programs: queueing the steps of a branch up to the next step that decides what follows, and deciding.
//!
//! A run starts and ends on a private stream of its graph, behind the run before it. Its branches are therefore empty
//! when it starts, and only its own tasks are queued on them.

use crate::executor::defer::DeferGuard;
use crate::graph::program::{
    BranchState, Flow, FlowState, FlowTask, FlowTurn, LabelSwitch, Program, ProgramStep, StreamSwitch,
};
use crate::graph::run::GraphRun;
use crate::keys::{ContextKey, EventKey, StreamKey, StreamPoint};
use crate::machine::Machine;
use crate::stream::Stream;
use crate::task::{Control, Node, Task, Wait, Waited};
use softacl_errors::{Error, Result, fail};
use softacl_memory::bytes::{self, AccessFault};
use softacl_sync::facade::{Mutex, Ordering, lock};
use std::sync::{Arc, OnceLock};

impl Machine {
    /// Queues a run of a program behind `start`. Returns its end.
    pub(super) fn queue_program(
        &self,
        program: &Arc<Program<Task>>,
        resets: &[Arc<Node>],
        context: ContextKey,
        start: StreamPoint,
        run: &Arc<GraphRun>,
    ) -> Result<StreamPoint> {
        let branches = vec![BranchState::default(); program.branches.len()];
        let flow = Arc::new(Flow {
            program: Arc::clone(program),
            run: Arc::clone(run),
            context,
            finished: Arc::default(),
            state: Mutex::new(FlowState { branches, ..FlowState::default() }),
        });
        let starter = flow.starter();
        self.push(starter, context, Wait::after(Waited::Point(start)))?;
        for node in resets {
            self.push(starter, context, Control::Node { node: Arc::clone(node), run: Arc::clone(run) })?;
        }
        let finished = Arc::clone(&flow.finished);
        self.push(starter, context, Control::Flow(Box::new(FlowTask { flow, turn: FlowTurn::Start })))?;
        self.push(starter, context, Wait::after(Waited::Next(finished)))
    }

    fn push(&self, stream: StreamKey, context: ContextKey, task: Control) -> Result<StreamPoint> {
        let sequence = self.submit(stream, self.streams.slot(stream), context, task)?;
        Ok(StreamPoint { stream, sequence })
    }

    /// Executes a task that decides what a run does next.
    pub(crate) fn execute_flow(&self, stream: &Stream, point: StreamPoint, task: FlowTask<Task>) {
        let FlowTask { flow, turn } = task;
        let is_over = flow.run.is_canceled.load(Ordering::Acquire) || self.is_stopped(stream);
        let result = match turn {
            _ if is_over => {
                self.finish_flow(&flow);
                return;
            }
            FlowTurn::Start => {
                flow.run.is_flowing.store(true, Ordering::Release);
                let heads = &flow.program.heads;
                for head in heads {
                    flow.activate(*head);
                }
                heads.iter().try_for_each(|branch| self.queue_block(&flow, *branch, 0, Some(point)))
            }
            FlowTurn::Decide { branch, at } => self.decide(&flow, branch, at, point),
            FlowTurn::End { branch } => self.end_branch(&flow, branch),
        };
        if let Err(error) = result {
            // What would follow is unknown, so the run ends here.
            flow.run.fail(error.in_graph());
            flow.run.is_canceled.store(true, Ordering::Release);
            self.finish_flow(&flow);
        }
        self.step_after_submit();
    }

    /// Executes a switch or an activation, and queues what follows.
    fn decide(&self, flow: &Arc<Flow<Task>>, branch: usize, at: usize, point: StreamPoint) -> Result<()> {
        let next = match &flow.program.branches[branch][at] {
            ProgramStep::Activate(target) => {
                self.start_branch(flow, *target, point)?;
                at + 1
            }
            ProgramStep::Decision(node) => match node.current()?.task()? {
                Task::Control(Control::LabelSwitch(switch)) => {
                    let label = switch.labels[chosen_label(&switch)?];
                    let (_, position) = flow.program.labels[&label];
                    position
                }
                Task::Control(Control::StreamSwitch(switch)) => match chosen_stream(&switch)? {
                    // The current branch ends where it jumps to another one.
                    Some(target) => {
                        self.start_branch(flow, target, point)?;
                        return self.end_branch(flow, branch);
                    }
                    None => at + 1,
                },
                _ => at + 1,
            },
            _ => return fail(Error::Internal("a step of a program that decides nothing".to_owned())),
        };
        self.queue_block(flow, branch, next, None)
    }

    /// Starts a branch, or lets it start again when it ends.
    fn start_branch(&self, flow: &Arc<Flow<Task>>, branch: usize, after: StreamPoint) -> Result<()> {
        if flow.activate(branch) { self.queue_block(flow, branch, 0, Some(after)) } else { Ok(()) }
    }

    fn end_branch(&self, flow: &Arc<Flow<Task>>, branch: usize) -> Result<()> {
        match flow.end(branch) {
            (true, _) => self.queue_block(flow, branch, 0, None),
            (false, true) => {
                self.finish_flow(flow);
                Ok(())
            }
            (false, false) => Ok(()),
        }
    }

    /// Ends a run: the task at its end may start.
    pub(crate) fn finish_flow(&self, flow: &Flow<Task>) {
        let starter = flow.starter();
        if let (Some(observer), Some(end)) = (self.observer(), flow.run.end.get()) {
            for newest in lock(&flow.state).branches.iter().filter_map(|branch| branch.newest) {
                observer.ordered((*end).into(), newest.into());
            }
        }
        flow.run.is_flowing.store(false, Ordering::Release);
        // Point 0 of every stream is reached.
        let _ = flow.finished.set(StreamPoint { stream: starter, sequence: 0 });
        self.mark_stream_ready(starter);
    }

    /// Queues the steps of a branch from `at` to the next one that decides what follows.
    fn queue_block(&self, flow: &Arc<Flow<Task>>, branch: usize, at: usize, after: Option<StreamPoint>) -> Result<()> {
        let _defer = DeferGuard::new();
        let mut state = lock(&flow.state);
        let stream = flow.stream(branch);
        let push = |state: &mut FlowState, task: Control| -> Result<StreamPoint> {
            let point = self.push(stream, flow.context, task)?;
            state.branches[branch].newest = Some(point);
            Ok(point)
        };
        if let Some(after) = after {
            push(&mut state, Wait::after(Waited::Point(after)))?;
        }
        let steps = &flow.program.branches[branch];
        for (at, step) in steps.iter().enumerate().skip(at) {
            let task = match step {
                ProgramStep::Work(node) => Control::Node { node: Arc::clone(node), run: Arc::clone(&flow.run) },
                ProgramStep::Decision(_) | ProgramStep::Activate(_) => {
                    push(&mut state, flow_task(flow, FlowTurn::Decide { branch, at }))?;
                    return Ok(());
                }
                ProgramStep::SetLocal(event) => {
                    self.record_local(&mut state, *event, branch);
                    continue;
                }
                ProgramStep::ResetLocal(event) => {
                    state.events.entry(*event).or_default().record = None;
                    continue;
                }
                ProgramStep::AwaitLocal(event) => match state.events.get(event).and_then(|event| event.record) {
                    Some(record) => self.event_wait(Waited::Point(record)),
                    None => {
                        let cell: Arc<OnceLock<StreamPoint>> = Arc::default();
                        let point = push(&mut state, self.event_wait(Waited::Next(Arc::clone(&cell))))?;
                        state.events.entry(*event).or_default().waits.push((point, cell));
                        continue;
                    }
                },
                ProgramStep::SetEvent(event) => {
                    if let Some(point) = self.record_from_graph(*event, stream, flow.context)? {
                        state.branches[branch].newest = Some(point);
                    }
                    continue;
                }
                ProgramStep::AwaitRecord(event) => match self.awaited_outside(*event, stream) {
                    Some(after) => self.event_wait(after),
                    None => continue,
                },
                ProgramStep::AwaitEvent(graph_event) => {
                    graph_event.watch(stream);
                    self.event_wait(Waited::GraphEvent(Arc::clone(graph_event)))
                }
                ProgramStep::ResetEvent(graph_event) => Control::ResetGraphEvent(Arc::clone(graph_event)),
            };
            push(&mut state, task)?;
        }
        push(&mut state, flow_task(flow, FlowTurn::End { branch }))?;
        Ok(())
    }

    /// Records an event inside a run, at the newest task of a branch, and resolves the waits for it.
    fn record_local(&self, state: &mut FlowState, event: EventKey, branch: usize) {
        // Every block starts behind a task: the wait for its start, or the one that queues it.
        let Some(point) = state.branches[branch].newest else { return };
        let event = state.events.entry(event).or_default();
        event.record = Some(point);
        for (wait, cell) in std::mem::take(&mut event.waits) {
            let _ = cell.set(point);
            if let Some(observer) = self.observer() {
                observer.ordered(wait.into(), point.into());
            }
            self.mark_stream_ready(wait.stream);
        }
    }
}

fn flow_task(flow: &Arc<Flow<Task>>, turn: FlowTurn) -> Control {
    Control::Flow(Box::new(FlowTask { flow: Arc::clone(flow), turn }))
}

/// The position of the label that the index in memory selects.
fn chosen_label(switch: &LabelSwitch) -> Result<usize> {
    let inaccessible = |AccessFault| Error::Inaccessible { side: "index", address: switch.cell, len: size_of::<u32>() };
    // SAFETY: the cell is in device memory that a `Caller` named, resolved and bounded when the task was made.
    let index = u32::from_le_bytes(unsafe { bytes::read(switch.cell) }.map_err(inaccessible)?);
    Ok(index.min(switch.count - 1) as usize)
}

/// The branch that the comparison selects. `None` continues with the current one.
fn chosen_stream(switch: &StreamSwitch) -> Result<Option<usize>> {
    let read = |cell: usize| -> Result<i64> {
        let inaccessible = |AccessFault| Error::Inaccessible { side: "value", address: cell, len: switch.width() };
        Ok(match switch.is_wide {
            // SAFETY: the cell is in device memory that a `Caller` named, resolved and bounded when the task was made.
            true => i64::from_le_bytes(unsafe { bytes::read(cell) }.map_err(inaccessible)?),
            // SAFETY: the cell is in device memory that a `Caller` named, resolved and bounded when the task was made.
            false => i32::from_le_bytes(unsafe { bytes::read(cell) }.map_err(inaccessible)?).into(),
        })
    };
    let [left, right] = [read(switch.cells[0])?, read(switch.cells[1])?];
    Ok(switch.targets[usize::from(!switch.comparison.holds(left, right))])
}
