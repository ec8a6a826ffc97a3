//! Waits in words: what a thread or a stream waits for, and where the program asked for it.

use crate::look::Look;
use crate::operation::Operation;
use crate::system_call;
use crate::threads::Activity;
use crate::wait_graph::Actor;
use softacl_engine::observer::{BlockedOn, StreamPosition};
use softacl_engine::{Awaited, Front, Helpers, StreamState, StreamWait, ValueCondition};
use std::collections::HashMap;
use std::sync::Arc;

/// What the checker recorded about waits, to explain them.
#[derive(Debug, Default)]
pub(crate) struct WaitRecords {
    /// The call in which each thread last waited.
    pub(crate) calls: HashMap<i32, Arc<Operation>>,
}

/// What the checker knows about operations. A process without the checker knows nothing.
pub(crate) struct Explanation<'a> {
    pub(crate) records: Option<&'a WaitRecords>,
    /// Looks up the operation of a task that has not finished.
    pub(crate) task: &'a dyn Fn(StreamPosition) -> Option<Arc<Operation>>,
}

/// A wait in words.
pub(crate) struct Line {
    pub(crate) text: String,
    /// Where the program asked for the wait.
    pub(crate) operation: Option<Arc<Operation>>,
    /// The queued task that would end it.
    pub(crate) satisfied_by: Option<Arc<Operation>>,
}

impl Explanation<'_> {
    /// Describes what an actor waits for.
    pub(crate) fn line(&self, look: &Look, actor: Actor) -> Line {
        match actor {
            Actor::Thread(thread) => self.thread(look, thread),
            Actor::Stream(stream) => match look.stream(stream) {
                Some(state) => self.stream(look, state),
                None => Line::new(format!("stream {stream} is idle"), None),
            },
        }
    }

    fn thread(&self, look: &Look, thread: i32) -> Line {
        let found = look.threads.iter().flatten().find(|other| other.id == thread);
        let wait = look.blocked(thread);
        let call = wait.and_then(|_| self.records?.calls.get(&thread)).cloned();
        let function = look.function_of(thread);
        let who = match (function, &call) {
            (Some(at), _) => format!("the host function of {}", self.task_name(at)),
            (None, Some(call)) => format!("host thread {}", call.thread),
            (None, None) => {
                format!("thread {thread}{}", found.map_or_else(String::new, |thread| format!(" ({})", thread.name)))
            }
        };
        let within =
            call.as_ref().and_then(|call| call.function).map_or_else(String::new, |name| format!(" in {name}"));
        let what = match (wait.map(|wait| wait.on), found.map(|thread| thread.activity)) {
            (Some(BlockedOn::Point(at)), _) => format!("waits{within} for {}", self.task_name(at)),
            (Some(BlockedOn::ForeignRecord { process, .. }), _) => {
                format!("waits{within} for a record of an event that process {process} created")
            }
            (Some(BlockedOn::Reports), _) => format!("waits{within} for callbacks"),
            (None, Some(Activity::WaitsForThread(_))) => "waits for a lock, a condition or another thread".to_owned(),
            (None, Some(Activity::InSystemCall(number))) => system_call::describe(number),
            (None, Some(Activity::Runs) | None) => "runs".to_owned(),
        };
        let limit = if wait.is_some_and(|wait| wait.is_bounded) { ", with a timeout" } else { "" };
        let operation = call.or_else(|| function.and_then(|at| (self.task)(at)));
        Line::new(format!("{who} {what}{limit}"), operation)
    }

    fn stream(&self, look: &Look, state: &StreamState) -> Line {
        let at = StreamPosition { stream: state.stream, sequence: state.sequence };
        let operation = (self.task)(at);
        let who = self.task_name(at);
        match &state.front {
            Front::Running => Line::new(format!("{who} runs"), operation),
            Front::Ready => Line::new(format!("{who} can start"), operation),
            Front::HostFunction => {
                let is_running = look.snapshot.functions.iter().any(|function| function.at == at);
                let what =
                    if is_running { "is a host function that runs" } else { "is a host function that has not begun" };
                Line::new(format!("{who} {what}"), operation)
            }
            Front::Waits(wait) => self.stream_wait(at, &who, wait, operation),
        }
    }

    fn stream_wait(&self, at: StreamPosition, who: &str, wait: &StreamWait, operation: Option<Arc<Operation>>) -> Line {
        let first = wait.satisfied_by.first();
        let by = |verb: &str| match first {
            Some(first) if first.stream == at.stream => {
                format!("which {} would {verb}, behind the wait in the same stream", self.task_name(*first))
            }
            Some(first) => format!("which {} would {verb}", self.task_name(*first)),
            None => format!("which no queued task {verb}s"),
        };
        let what = match &wait.on {
            Awaited::Point(point) => self.task_name(*point),
            Awaited::NextRecord { event } => {
                format!("the next record of {}, which no call has made", event_name(*event))
            }
            Awaited::GraphEvent { event } => format!("{}, {}", event_name(*event), by("record")),
            Awaited::GraphRun => "the end of a graph run".to_owned(),
            Awaited::Notify { id: Some(id), is_shared: false, .. } => format!("notify {id}, {}", by("record")),
            Awaited::Notify { id: Some(id), .. } => format!("notify {id}, which another process may record"),
            Awaited::Notify { id: None, .. } => "a notify that was destroyed".to_owned(),
            Awaited::Value { address, found, wanted, condition, is_shared } => {
                let found = found.map_or_else(|| "unreadable".to_owned(), |found| found.to_string());
                let from = if *is_shared { "which another process may write".to_owned() } else { by("write") };
                format!("the value at {address:#x} to {}, {from}; it is {found}", wish(*condition, *wanted))
            }
            Awaited::ForeignRecord { name, record } => {
                format!("record {record} of an event that process {} created", name.process)
            }
            Awaited::Operation { text, helpers: Helpers::ThisProcess { limit: Some(limit) }, .. } => {
                format!("others: {text}; it fails after {} s", limit.as_secs())
            }
            Awaited::Operation { text, .. } => format!("others: {text}"),
            Awaited::Time => "time to pass".to_owned(),
            Awaited::Injected => "nothing: a fault rule made it stuck".to_owned(),
        };
        let limit = if wait.is_bounded { ", with a timeout" } else { "" };
        let satisfied_by = first.and_then(|first| (self.task)(*first));
        let text = format!("{who} ({}) waits for {what}{limit}", wait.kind.name());
        Line { text, operation, satisfied_by }
    }

    fn task_name(&self, at: StreamPosition) -> String {
        (self.task)(at)
            .map_or_else(|| format!("task {} of stream {}", at.sequence, at.stream), |operation| operation.actor_text())
    }
}

impl Line {
    fn new(text: String, operation: Option<Arc<Operation>>) -> Line {
        Line { text, operation, satisfied_by: None }
    }
}

fn event_name(event: Option<u32>) -> String {
    event.map_or_else(|| "an event".to_owned(), |event| format!("event {event}"))
}

fn wish(condition: ValueCondition, wanted: u64) -> String {
    match condition {
        ValueCondition::AtLeast => format!("be at least {wanted}"),
        ValueCondition::Equal => format!("be {wanted}"),
        ValueCondition::And => format!("have a bit of {wanted:#x}"),
        ValueCondition::Nor => format!("lack a bit, together with {wanted:#x}"),
    }
}
