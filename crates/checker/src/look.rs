//! Looks at the waits of the process, and the proof that it hangs (W1).
//!
//! A [`Look`] is what the engine and the system say about all threads and streams. One look proves nothing, because the
//! threads are visited one after another. Two looks do: a thread that waited at both and did not run in between waited
//! all the time, so at the time between the looks all of them waited at once. If then no wait can be ended by time, by
//! another process or by a signal handler, none ever ends.

use crate::threads::{self, Activity, HOST_FUNCTION_THREAD, SystemThread};
use crate::wait_graph::{Actor, EndsWith, WaitGraph};
use softacl_engine::observer::{BlockedOn, StreamPosition};
use softacl_engine::{Awaited, BlockedThread, Front, Helpers, Machine, StreamState, WaitSnapshot};
use std::collections::BTreeSet;
use std::time::Duration;

/// A wait for other ranks that fails after a longer time than this counts as one that never ends. Chosen: above it is the
/// time limit of collectives by default (1836 s), below it are limits that a program sets in order to go on.
const MAX_AWAITED_LIMIT: Duration = Duration::from_secs(60);

/// Who waits for whom, at one time.
#[derive(Debug, Clone)]
pub struct Look {
    pub(crate) snapshot: WaitSnapshot,
    /// `None` if the system does not say.
    pub(crate) threads: Option<Vec<SystemThread>>,
    /// True if the program has a signal handler with which it may wake a thread.
    has_waking_handler: bool,
}

impl Look {
    /// Looks at all threads of the process and at all streams of its machine.
    pub fn take(machine: &Machine) -> Look {
        Look {
            threads: threads::threads(),
            has_waking_handler: threads::has_waking_handler(),
            snapshot: machine.wait_snapshot(),
        }
    }

    /// True if a thread waits inside a call or runs a host function, so that a hang is possible.
    pub fn has_waits(&self) -> bool {
        !self.snapshot.threads.is_empty() || !self.snapshot.functions.is_empty()
    }

    /// True if this look and a later one prove that the program hangs.
    pub fn proves_hang(&self, later: &Look) -> bool {
        self.is_unchanged(later) && self.graph().is_dead() && later.graph().is_dead()
    }

    /// True if nothing ran between this look and a later one.
    fn is_unchanged(&self, later: &Look) -> bool {
        let (Some(before), Some(after)) = (&self.threads, &later.threads) else { return false };
        // A thread that the engine keeps waiting wakes from time to time to look for work.
        let is_idle = |(before, after): (&SystemThread, &SystemThread)| {
            before.id == after.id && (before == after || self.blocked(before.id).is_some())
        };
        self.snapshot == later.snapshot && before.len() == after.len() && before.iter().zip(after).all(is_idle)
    }

    /// The innermost wait of a thread inside a call.
    pub(crate) fn blocked(&self, thread: i32) -> Option<&BlockedThread> {
        self.snapshot.threads.iter().rev().find(|wait| wait.thread == thread)
    }

    /// The task whose host function a thread runs.
    pub(crate) fn function_of(&self, thread: i32) -> Option<StreamPosition> {
        self.snapshot.functions.iter().rev().find(|function| function.thread == thread).map(|function| function.at)
    }

    pub(crate) fn stream(&self, stream: u32) -> Option<&StreamState> {
        self.snapshot.streams.iter().find(|state| state.stream == stream)
    }

    /// The wait-for graph.
    pub(crate) fn graph(&self) -> WaitGraph {
        let mut graph = WaitGraph::default();
        for state in &self.snapshot.streams {
            let (ends_with, expected) = self.stream_wait(state);
            graph.insert(Actor::Stream(state.stream), ends_with, expected);
        }
        match &self.threads {
            None => graph.insert(Actor::Thread(0), EndsWith::Itself, Vec::new()),
            Some(threads) => {
                for thread in threads.iter().filter(|thread| !self.is_idle_host_thread(thread)) {
                    graph.insert(Actor::Thread(thread.id), self.thread_wait(thread), Vec::new());
                }
            }
        }
        graph
    }

    /// True if a thread has no host function to run. It continues only if a stream does.
    fn is_idle_host_thread(&self, thread: &SystemThread) -> bool {
        thread.name == HOST_FUNCTION_THREAD
            && self.function_of(thread.id).is_none()
            && matches!(thread.activity, Activity::WaitsForThread(_))
    }

    fn thread_wait(&self, thread: &SystemThread) -> EndsWith {
        match (self.blocked(thread.id), thread.activity) {
            (Some(wait), _) if wait.is_bounded => EndsWith::Itself,
            (Some(BlockedThread { on: BlockedOn::Point(at), .. }), _) => match self.stream(at.stream) {
                Some(state) if state.done < at.sequence => EndsWith::Actors(vec![Actor::Stream(at.stream)]),
                _ => EndsWith::Itself,
            },
            (Some(BlockedThread { on: BlockedOn::ForeignRecord { .. }, .. }), _) => EndsWith::Outside,
            (Some(BlockedThread { on: BlockedOn::Reports, .. }), _) => EndsWith::Anyone,
            (None, Activity::WaitsForThread(_)) if self.has_waking_handler => EndsWith::Outside,
            (None, Activity::WaitsForThread(_)) => EndsWith::Anyone,
            (None, Activity::InSystemCall(_)) => EndsWith::Outside,
            (None, Activity::Runs) => EndsWith::Itself,
        }
    }

    fn stream_wait(&self, state: &StreamState) -> (EndsWith, Vec<Actor>) {
        let wait = match &state.front {
            Front::Running | Front::Ready => return (EndsWith::Itself, Vec::new()),
            Front::HostFunction => {
                let functions = &self.snapshot.functions;
                return match functions.iter().find(|function| function.at.stream == state.stream) {
                    Some(function) => (EndsWith::Actors(vec![Actor::Thread(function.thread)]), Vec::new()),
                    // Its thread is busy with another function, or does not process reports.
                    None => (EndsWith::Anyone, functions.iter().map(|other| Actor::Thread(other.thread)).collect()),
                };
            }
            Front::Waits(wait) if wait.is_bounded => return (EndsWith::Itself, Vec::new()),
            Front::Waits(wait) => wait,
        };
        let expected = wait.satisfied_by.iter().map(|at| Actor::Stream(at.stream)).collect();
        let ends_with = match &wait.on {
            Awaited::Point(at) => EndsWith::Actors(vec![Actor::Stream(at.stream)]),
            Awaited::Notify { is_shared: true, .. }
            | Awaited::Value { is_shared: true, .. }
            | Awaited::ForeignRecord { .. }
            | Awaited::Operation { helpers: Helpers::Anyone, .. }
            // A fault rule, not the program, is the reason.
            | Awaited::Injected => EndsWith::Outside,
            Awaited::Operation { helpers: Helpers::ThisProcess { limit: Some(limit) }, .. }
                if *limit <= MAX_AWAITED_LIMIT =>
            {
                EndsWith::Itself
            }
            Awaited::Time => EndsWith::Itself,
            Awaited::NextRecord { .. }
            | Awaited::GraphEvent { .. }
            | Awaited::GraphRun
            | Awaited::Operation { .. }
            | Awaited::Notify { .. }
            | Awaited::Value { .. } => EndsWith::Anyone,
        };
        (ends_with, expected)
    }

    /// True if a thread or stream waits for something that another process may do.
    pub(crate) fn waits_outside(&self) -> bool {
        let calls = self.snapshot.threads.iter().any(|wait| matches!(wait.on, BlockedOn::ForeignRecord { .. }));
        let is_outside = |state: &StreamState| match &state.front {
            Front::Waits(wait) => matches!(
                wait.on,
                Awaited::ForeignRecord { .. }
                    | Awaited::Operation { helpers: Helpers::Anyone, .. }
                    | Awaited::Notify { is_shared: true, .. }
                    | Awaited::Value { is_shared: true, .. }
            ),
            Front::Running | Front::Ready | Front::HostFunction => false,
        };
        calls || self.snapshot.streams.iter().any(is_outside)
    }

    /// All threads of the program and all streams with work.
    pub(crate) fn actors(&self) -> Vec<Actor> {
        let mut all = self.waiters();
        let is_known = |thread: &&SystemThread| !self.is_idle_host_thread(thread);
        let threads = self.threads.iter().flatten().filter(is_known).map(|thread| Actor::Thread(thread.id));
        let others: Vec<Actor> = threads.filter(|actor| !all.contains(actor)).collect();
        all.extend(others);
        all
    }

    /// The actors that wait, in the order in which they explain most: threads inside calls, host functions, streams.
    pub(crate) fn waiters(&self) -> Vec<Actor> {
        let mut calls: Vec<i32> = self.snapshot.threads.iter().map(|wait| wait.thread).collect();
        calls.sort_unstable();
        let functions = self.snapshot.functions.iter().map(|function| function.thread);
        let streams = self.snapshot.streams.iter().map(|state| Actor::Stream(state.stream));
        let mut all: Vec<Actor> = calls.into_iter().chain(functions).map(Actor::Thread).chain(streams).collect();
        let mut seen = BTreeSet::new();
        all.retain(|actor| seen.insert(*actor));
        all
    }
}
