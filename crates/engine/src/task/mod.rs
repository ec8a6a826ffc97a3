//! Tasks: what a stream does, one after another.
//!
//! There are two kinds. A [`Move`] reads or writes memory. A [`Control`] orders streams, calls the program, or belongs
//! to a graph. Code that executes one kind takes only that kind, so it has no impossible cases.

pub(crate) mod descriptor;
pub(crate) mod external_wait;
pub(crate) mod kernel;
pub(crate) mod kind;
pub(crate) mod moves;
pub(crate) mod operation;
pub(crate) mod random;

use crate::graph::condition;
use crate::graph::node::{self, Repeatable};
use crate::graph::program::{self, LabelSwitch, StreamSwitch};
use crate::graph::run::GraphRun;
use crate::host::{Delivery, HostCall};
use crate::keys::{EventKey, GraphEvent, StreamPoint};
use crate::notify::{Counter, CounterOp};
use crate::pool::PendingFree;
use external_wait::{ExternalWait, WaitCondition};
use kind::TaskKind;
use moves::Move;
use operation::OperationRun;
use softacl_errors::{Error, Result, fail};
use softacl_memory::Memory;
use softacl_memory::shared::SharedCounters;
use softacl_memory::touch::Touch;
use softacl_sync::facade::Ordering;
use std::sync::{Arc, OnceLock};

pub(crate) type Node = node::Node<Task>;
pub(crate) type Content = node::Content<Task>;
pub(crate) type Update = node::Update<Task>;
pub(crate) type Condition = condition::Condition<Task>;
pub(crate) type SubGraph = condition::SubGraph<Task>;
pub(crate) type ConditionProgress = condition::ConditionProgress<Task>;
pub(crate) type FlowTask = program::FlowTask<Task>;

/// One task of a stream.
#[derive(Debug)]
pub(crate) enum Task {
    Move(Move),
    Control(Control),
}

// A lane stores tasks by value, and every submit writes one, so a larger task makes every submit slower.
const _: () = assert!(size_of::<Task>() == 32);

/// A task that moves no bytes.
#[derive(Debug)]
pub(crate) enum Control {
    Record {
        event: EventKey,
        generation: u64,
    },
    /// Records an event that other processes can open.
    RecordShared {
        counters: Arc<SharedCounters>,
        record: u64,
    },
    Wait(Box<Wait>),
    /// One step of a run of a graph.
    Node {
        node: Arc<Node>,
        run: Arc<GraphRun>,
    },
    /// Waits for a run of a graph and takes over its failure.
    Join(Arc<GraphRun>),
    /// The rest of a conditional task that yielded.
    Resumed(Box<ConditionProgress>),
    /// The rest of an operation that waits for others.
    Operation(Box<PendingOperation>),
    /// Runs one of several sub-graphs. Occurs only as a step of a graph.
    Condition(Arc<Condition>),
    /// Jumps to a label, or to another branch. Occurs only as a step of a graph that was built.
    LabelSwitch(Arc<LabelSwitch>),
    StreamSwitch(Arc<StreamSwitch>),
    /// Decides what a run of a graph that was built does next.
    Flow(Box<FlowTask>),
    /// A step of a graph that the program has disabled.
    Disabled(TaskKind),
    /// Replaces the contents of nodes of a graph.
    Update(Box<Update>),
    /// Resets an event that graphs share with outside streams.
    ResetGraphEvent(Arc<GraphEvent>),
    Host(Box<HostCall>),
    /// Waits for a value or a notify, or delays the stream.
    Await(Arc<ExternalWait>),
    /// Changes a notify.
    Change {
        counter: Arc<Counter>,
        change: CounterOp,
    },
    /// Releases memory to its pool.
    Release(Box<PendingFree>),
    /// Takes its place in the order of the stream and does nothing else: softacl has no caches, cores or profiler for it
    /// to act on.
    Nothing(TaskKind),
    /// Annotation for observers: declares what a kernel accesses at this point of the stream.
    Annotation(Box<Touch>),
    /// Fails when it runs.
    Fail(Box<DeferredFailure>),
}

/// The failure of a task that was accepted and fails when it runs.
#[derive(Debug, Clone)]
pub(crate) struct DeferredFailure {
    pub(crate) error: Error,
    /// Kind of the task that it replaces.
    pub(crate) kind: TaskKind,
    /// What an injected failure keeps in use: a device may access the memory until the failure is observed.
    pub(crate) touches: Box<[Touch]>,
    /// The run of a graph that the task is a step of. The failure then belongs to the run.
    pub(crate) run: Option<Arc<GraphRun>>,
}

/// An operation that has begun.
#[derive(Debug)]
pub(crate) struct PendingOperation {
    /// Ends when the operation can continue. Owns its run.
    pub(crate) wait: Arc<ExternalWait>,
    /// The step of a graph that the operation is, and the run.
    pub(crate) step: Option<(Arc<Node>, Arc<GraphRun>)>,
}

impl PendingOperation {
    pub(crate) fn new(run: OperationRun, step: Option<(Arc<Node>, Arc<GraphRun>)>) -> PendingOperation {
        PendingOperation { wait: Arc::new(ExternalWait::new(WaitCondition::Operation(run))), step }
    }

    pub(crate) fn run(&self) -> &OperationRun {
        match &self.wait.condition {
            WaitCondition::Operation(run) => run,
            _ => unreachable!("`new` is the only constructor"),
        }
    }

    /// True if the run of the graph that the operation belongs to was canceled.
    pub(crate) fn is_canceled(&self) -> bool {
        self.step.as_ref().is_some_and(|(_, run)| run.is_canceled.load(Ordering::Acquire))
    }
}

/// A wait of a stream. Boxed in its task, so that it does not make every task larger.
#[derive(Debug)]
pub(crate) struct Wait {
    pub(crate) after: Waited,
    /// The event, if the program made the wait.
    pub(crate) event: Option<EventKey>,
    /// How long the stream may wait, if the program has limited that.
    pub(crate) limit: Option<Arc<ExternalWait>>,
}

impl Wait {
    /// A wait without a limit that belongs to no event of the program.
    pub(crate) fn after(after: Waited) -> Control {
        Control::Wait(Box::new(Wait { after, event: None, limit: None }))
    }
}

/// What an event wait waits for.
#[derive(Debug, Clone)]
pub(crate) enum Waited {
    Point(StreamPoint),
    /// A record of another process.
    External(Arc<ExternalWait>),
    /// The first record made after the wait. Empty until it is made.
    Next(Arc<OnceLock<StreamPoint>>),
    /// An event that graphs share with outside streams.
    GraphEvent(Arc<GraphEvent>),
}

impl From<Move> for Task {
    #[inline]
    fn from(work: Move) -> Task {
        Task::Move(work)
    }
}

impl From<Control> for Task {
    #[inline]
    fn from(work: Control) -> Task {
        Task::Control(work)
    }
}

impl Task {
    /// Kind of the task. A step of a graph has the kind of its content.
    pub(crate) fn kind(&self) -> TaskKind {
        match self {
            Task::Move(work) => work.kind(),
            Task::Control(work) => work.kind(),
        }
    }

    /// Display name.
    pub(crate) fn name(&self) -> &'static str {
        self.kind().name()
    }

    /// True if the task accesses one of the `len` bytes with the backing address `start`.
    pub(crate) fn touches(&self, start: usize, len: usize) -> bool {
        match self {
            Task::Move(work) => work.touches(start, len),
            Task::Control(work) => work.touches(start, len),
        }
    }

    /// Bytes that a copy moves; 0 for everything else.
    pub(crate) fn volume(&self) -> usize {
        match self {
            Task::Move(work) => work.volume(),
            Task::Control(Control::Node { node, .. }) => node.content().volume(),
            Task::Control(_) => 0,
        }
    }

    /// Ranges that the task reads and writes. Copies that read their addresses when they run are evaluated with the
    /// current contents of device memory.
    pub(crate) fn accesses(&self, memory: &Memory) -> Vec<Touch> {
        match self {
            Task::Move(work) => work.accesses(memory),
            Task::Control(Control::Annotation(touch)) => vec![**touch],
            Task::Control(Control::Fail(failure)) => failure.touches.to_vec(),
            Task::Control(Control::Operation(pending)) => pending.run().kernel.accesses(memory),
            Task::Control(Control::Node { node, .. }) => {
                node.current().map_or_else(|_| Vec::new(), |content| content.with_task(|task| task.accesses(memory)))
            }
            Task::Control(_) => Vec::new(),
        }
    }

    /// The name of the kernel, if the task is one.
    pub(crate) fn label(&self) -> Option<Arc<str>> {
        match self {
            Task::Move(Move::Kernel(kernel)) => Some(Arc::clone(&kernel.name)),
            Task::Control(Control::Operation(pending)) => Some(Arc::clone(&pending.run().kernel.name)),
            Task::Control(Control::Node { node, .. }) => node.content().with_task(Task::label),
            _ => None,
        }
    }

    /// True if the task is a kernel that runs in steps.
    pub(crate) fn is_operation(&self) -> bool {
        match self {
            Task::Move(Move::Kernel(kernel)) => kernel.is_operation(),
            Task::Control(Control::Operation(_)) => true,
            Task::Control(Control::Node { node, .. }) => node.content().with_task(Task::is_operation),
            _ => false,
        }
    }

    /// The run of a graph that the task is a step of.
    pub(crate) fn run(&self) -> Option<&Arc<GraphRun>> {
        match self {
            Task::Control(Control::Node { run, .. }) => Some(run),
            _ => None,
        }
    }

    /// Converts the task to a step of a sub-graph. Refuses tasks that a sub-graph cannot contain.
    pub(crate) fn into_sub_step(self) -> Result<SubStep> {
        match self {
            Task::Move(Move::Kernel(kernel)) if kernel.is_operation() => {
                fail(Error::Feature(format!("{} waits for others: it cannot be part of a sub-graph", kernel.name)))
            }
            Task::Move(work) => Ok(SubStep::Move(work)),
            Task::Control(Control::Condition(condition)) => Ok(SubStep::Condition(condition)),
            Task::Control(Control::Nothing(_) | Control::Disabled(_)) => Ok(SubStep::Nothing),
            task => fail(Error::Feature(format!("a {} cannot be part of a sub-graph", task.name()))),
        }
    }
}

/// A step of a sub-graph: work that needs no stream.
pub(crate) enum SubStep {
    Move(Move),
    Condition(Arc<Condition>),
    Nothing,
}

impl Control {
    fn touches(&self, start: usize, len: usize) -> bool {
        match self {
            Control::Await(wait) => wait.touches(start, len),
            Control::Node { node, .. } => node.content().touches(start, len),
            Control::Condition(condition) => condition.touches(start, len),
            Control::Resumed(progress) => progress.touches(start, len),
            Control::Operation(pending) => pending.run().kernel.touches(start, len),
            Control::Update(update) => update.touches(start, len),
            Control::LabelSwitch(switch) => switch.touches(start, len),
            Control::StreamSwitch(switch) => switch.touches(start, len),
            Control::Flow(task) => task.flow.touches(start, len),
            _ => false,
        }
    }

    fn kind(&self) -> TaskKind {
        match self {
            Control::Record { .. } | Control::RecordShared { .. } => TaskKind::EventRecord,
            Control::Wait(_) => TaskKind::EventWait,
            Control::Host(_) => TaskKind::HostFunction,
            Control::Await(wait) => wait.kind(),
            Control::Change { .. } => TaskKind::NotifyRecord,
            Control::Release(_) => TaskKind::PoolRelease,
            Control::Nothing(kind) => *kind,
            Control::Annotation(_) => TaskKind::AnnotatedKernel,
            Control::Node { node, .. } => node.kind(),
            Control::Join(_) => TaskKind::GraphRun,
            Control::Condition(_) | Control::Resumed(_) => TaskKind::Condition,
            Control::Operation(_) => TaskKind::Kernel,
            Control::Update(_) => TaskKind::GraphUpdate,
            Control::ResetGraphEvent(_) => TaskKind::EventReset,
            Control::LabelSwitch(_) => TaskKind::LabelSwitch,
            Control::StreamSwitch(_) => TaskKind::StreamSwitch,
            Control::Flow(task) => task.decision().map_or(TaskKind::GraphRun, |node| node.kind()),
            Control::Disabled(kind) => *kind,
            Control::Fail(failure) => failure.kind,
        }
    }

    fn try_clone(&self) -> Result<Control> {
        Ok(match self {
            Control::Host(call) if !matches!(call.delivery, Delivery::Subscriber { .. }) => {
                Control::Host(Box::new(HostCall { function: Arc::clone(&call.function), delivery: call.delivery }))
            }
            Control::Condition(condition) => Control::Condition(Arc::clone(condition)),
            Control::Await(wait) => Control::Await(Arc::clone(wait)),
            Control::Change { counter, change } => Control::Change { counter: Arc::clone(counter), change: *change },
            Control::LabelSwitch(switch) => Control::LabelSwitch(Arc::clone(switch)),
            Control::StreamSwitch(switch) => Control::StreamSwitch(Arc::clone(switch)),
            Control::Disabled(kind) => Control::Disabled(*kind),
            Control::Nothing(kind) => Control::Nothing(*kind),
            Control::Fail(failure) => Control::Fail(failure.clone()),
            _ => return fail(Error::Feature(format!("a {} cannot be captured", self.kind().name()))),
        })
    }
}

impl Repeatable for Task {
    fn try_clone(&self) -> Result<Task> {
        match self {
            Task::Move(work) => work.try_clone().map(Task::Move),
            Task::Control(work) => work.try_clone().map(Task::Control),
        }
    }

    fn check_repeatable(&self) -> Result<()> {
        match self {
            // Every move can run again. Cloning a long batch just to test that would take memory.
            Task::Move(_) => Ok(()),
            Task::Control(work) => work.try_clone().map(drop),
        }
    }

    fn kind(&self) -> TaskKind {
        Task::kind(self)
    }

    fn touches(&self, start: usize, len: usize) -> bool {
        Task::touches(self, start, len)
    }

    fn volume(&self) -> usize {
        Task::volume(self)
    }

    fn external_wait(&self) -> Option<&Arc<ExternalWait>> {
        match self {
            Task::Control(Control::Await(wait)) => Some(wait),
            _ => None,
        }
    }
}
