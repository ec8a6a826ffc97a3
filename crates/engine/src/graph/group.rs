//! Task groups: captured tasks whose parameters a later update replaces.
//!
//! The tasks of one stream between `begin_group` and `end_group`, during a capture, form a group. An update collects as
//! many tasks, of the same kinds, and replaces the captured ones in stream order.

use crate::caller::{Caller, Submission};
use crate::graph::{GraphState, Group, GroupState, Redirect};
use crate::keys::GroupKey;
use crate::task::{Control, Update};
use softacl_errors::{Error, HandleKind, Result, fail};
use softacl_sync::facade::lock;

impl Caller<'_> {
    /// Starts a group: later tasks of the capturing stream belong to it.
    pub fn begin_group(&self, raw: usize) -> Result<()> {
        self.with_capture(raw, |state, branch| {
            let capture = state.capture.as_mut().ok_or(Error::NotCapturing)?;
            if capture.group.is_some() {
                return fail(Error::GroupState("a task group is already open in this capture".to_owned()));
            }
            capture.group = Some((branch, Vec::new()));
            Ok(())
        })
    }

    /// Ends the group that was started on the stream.
    pub fn end_group(&self, raw: usize) -> Result<GroupKey> {
        let groups = &self.machine.graphs.groups;
        self.with_capture(raw, |state, branch| {
            let capture = state.capture.as_mut().ok_or(Error::NotCapturing)?;
            let Some((_, nodes)) = capture.group.take_if(|(other, _)| *other == branch) else {
                return fail(Error::GroupState("no task group was begun on this stream".to_owned()));
            };
            let graph = state.key;
            let open = |group: &Group, _| *lock(&group.state) = GroupState { graph, nodes };
            let key = groups.insert(open).ok_or(Error::NoHandle("task group"))?;
            state.groups.push(key);
            Ok(key)
        })
    }

    /// Runs `f` with the graph that a stream is capturing and the branch of the stream.
    fn with_capture<T>(&self, raw: usize, f: impl FnOnce(&mut GraphState, usize) -> Result<T>) -> Result<T> {
        let (_, stream) = self.stream(raw)?;
        let (key, branch) = stream.capture().ok_or(Error::NotCapturing)?;
        let mut state = lock(&self.machine.graphs.all.slot(key).state);
        if state.capture.as_ref().is_some_and(|capture| capture.is_invalid) {
            return fail(Error::CaptureInvalid);
        }
        f(&mut state, branch)
    }

    /// Starts an update: later tasks of the stream become new contents of the group.
    pub fn begin_update(&self, raw: usize, group: usize) -> Result<()> {
        let Submission { stream, .. } = self.own_submission(self.explicit_stream(raw)?)?;
        let unknown = || Error::Handle { what: HandleKind::TaskGroup, handle: group };
        let key = GroupKey::from_raw(group).ok_or_else(unknown)?;
        let state = lock(&self.machine.graphs.groups.get(key).ok_or_else(unknown)?.state);
        let graph = state.graph.ok_or_else(unknown)?;
        drop(state);
        if self.machine.is_capturing(graph) {
            return fail(Error::GraphCapturing);
        }
        if stream.refuses_tasks() {
            return fail(Error::CaptureDefault);
        }
        if stream.is_recording() {
            return match stream.capture() {
                Some(_) => fail(Error::Capturing("used for an update")),
                None => fail(Error::GroupState("an update is already in progress on this stream".to_owned())),
            };
        }
        stream.redirect(Redirect::Update { group: key, contents: Vec::new() });
        Ok(())
    }

    /// Queues the replacement of the contents of the group.
    pub fn end_update(&self, raw: usize) -> Result<()> {
        let (key, stream) = self.stream(raw)?;
        let (context_key, _) = self.context()?;
        let Some((group, contents)) = stream.take_update() else {
            return fail(Error::GroupState("no update was begun on this stream".to_owned()));
        };
        let nodes = match self.machine.graphs.groups.get(group) {
            Some(found) => lock(&found.state).nodes.clone(),
            None => {
                return fail(Error::UpdateFailed(
                    "the graph of the task group was destroyed during the update".to_owned(),
                ));
            }
        };
        if nodes.len() != contents.len() {
            return fail(Error::UpdateFailed(format!(
                "the task group has {} tasks, the update {}",
                nodes.len(),
                contents.len()
            )));
        }
        if let Some(at) = nodes.iter().zip(&contents).position(|(node, content)| node.kind() != content.kind()) {
            return fail(Error::UpdateFailed(format!(
                "task {at} of the group is a {}, that of the update a {}",
                nodes[at].kind().name(),
                contents[at].kind().name()
            )));
        }
        let update = Control::Update(Box::new(Update { nodes, contents }));
        self.machine.submit(key, stream, context_key, update).map(|_| ())
    }
}
