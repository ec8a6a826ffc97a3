//! Labels and switches: what decides, in a graph that is built, which tasks run.

use crate::caller::Caller;
use crate::graph::program::{Comparison, LabelSwitch, StreamSwitch};
use crate::graph::{Part, Step};
use crate::keys::{GraphKey, PartKey};
use crate::stream::Stream;
use crate::task::{Content, Control, Node};
use softacl_errors::{Error, HandleKind, Result, fail};
use softacl_memory::MemoryKind;
use softacl_sync::facade::lock;
use std::sync::Arc;

impl Caller<'_> {
    /// Creates a label.
    pub fn create_label(&self) -> Result<PartKey> {
        self.context()?;
        self.machine.graphs.insert_part(Part::Label { is_set: false })
    }

    /// Ends a label. A complete graph keeps its position.
    pub fn destroy_label(&self, raw: usize) -> Result<()> {
        let key = self.label(raw)?;
        if self.machine.graphs.parts.remove(key) { Ok(()) } else { fail(no_label(raw)) }
    }

    /// Places a label behind the tasks that a bound stream has.
    pub fn set_label(&self, raw: usize, stream: usize) -> Result<()> {
        let key = self.label(raw)?;
        let (_, stream) = self.stream(stream)?;
        let bound = built(stream)?;
        let part = &self.machine.graphs.parts.slot(key).part;
        if let Part::Label { is_set: true } = std::mem::replace(&mut *lock(part), Part::Label { is_set: true }) {
            return fail(Error::Parameter("the label has a position already: create another one".to_owned()));
        }
        let placed = self.machine.build_step(bound, Step::Label(key));
        placed.inspect_err(|_| *lock(part) = Part::Label { is_set: false })
    }

    /// Creates a list of labels for switches.
    pub fn create_label_list(&self, labels: &[usize]) -> Result<PartKey> {
        let labels = labels.iter().map(|raw| self.label(*raw)).collect::<Result<_>>()?;
        self.machine.graphs.insert_part(Part::LabelList(labels))
    }

    /// Ends a list of labels. Switches keep their labels.
    pub fn destroy_label_list(&self, raw: usize) -> Result<()> {
        let (key, _) = self.label_list(raw)?;
        if self.machine.graphs.parts.remove(key) { Ok(()) } else { fail(no_label_list(raw)) }
    }

    /// Adds a jump to the label of a list whose index is in device memory. An index of `count` or more selects the last
    /// of the `count` labels.
    pub fn switch_label(&self, index: usize, count: u32, list: usize, stream: usize) -> Result<()> {
        let (_, mut labels) = self.label_list(list)?;
        let (_, stream) = self.stream(stream)?;
        let bound = built(stream)?;
        if count == 0 || count as usize > labels.len() {
            return fail(Error::Parameter(format!(
                "the switch has {count} labels, but the list {}: it must have 1 to that many",
                labels.len()
            )));
        }
        labels.truncate(count as usize);
        let cell = self.switch_cell(index, size_of::<u32>(), stream)?;
        self.add_switch(bound, Control::LabelSwitch(Arc::new(LabelSwitch { cell, count, labels })))
    }

    /// Adds a jump to one of two bound streams, by a comparison of two values in device memory. 0 stands for the stream
    /// of the jump, which continues then.
    pub fn switch_stream(
        &self,
        values: [usize; 2],
        comparison: Comparison,
        is_wide: bool,
        targets: [usize; 2],
        stream: usize,
    ) -> Result<()> {
        let (_, stream) = self.stream(stream)?;
        let bound = built(stream)?;
        let width = if is_wide { size_of::<i64>() } else { size_of::<i32>() };
        let cell = |value| self.switch_cell(value, width, stream);
        let cells = [cell(values[0])?, cell(values[1])?];
        let target = |raw: usize| if raw == 0 { Ok(None) } else { self.branch_of(raw, bound.0).map(Some) };
        let targets = [target(targets[0])?, target(targets[1])?];
        let switch = StreamSwitch { cells, comparison, is_wide, targets };
        self.add_switch(bound, Control::StreamSwitch(Arc::new(switch)))
    }

    /// Adds the activation of another stream that is bound to the same graph.
    pub fn activate_stream(&self, target: usize, stream: usize) -> Result<()> {
        let (_, stream) = self.stream(stream)?;
        let bound = built(stream)?;
        let branch = self.branch_of(target, bound.0)?;
        if branch == bound.1 {
            return fail(Error::Parameter("a stream cannot activate itself".to_owned()));
        }
        self.machine.build_step(bound, Step::Activate(branch))
    }

    fn add_switch(&self, bound: (GraphKey, usize), switch: Control) -> Result<()> {
        let node = Node::new(Content::new(switch.into())?);
        self.machine.build_step(bound, Step::Work(Arc::new(node)))
    }

    /// The branch of a stream that is bound to a graph.
    fn branch_of(&self, raw: usize, graph: GraphKey) -> Result<usize> {
        let (_, stream) = self.stream(raw)?;
        match stream.build() {
            Some((bound, branch)) if bound == graph => Ok(branch),
            _ => fail(Error::Parameter("both streams must be bound to the same graph (aclmdlRIBindStream)".to_owned())),
        }
    }

    /// The backing address of a value that a switch reads.
    fn switch_cell(&self, address: usize, len: usize, stream: &Stream) -> Result<usize> {
        let resolved = self.machine.memory.finder().find("value", address)?;
        let MemoryKind::Device(device) = resolved.place else {
            return fail(Error::NotDeviceMemory { address, kind: resolved.describe() });
        };
        resolved.covers("value", len)?;
        self.machine.check_peers(stream.device(), device)?;
        Ok(resolved.reach)
    }

    /// Resolves a label handle.
    fn label(&self, raw: usize) -> Result<PartKey> {
        match self.machine.graphs.part(raw) {
            Some((key, Part::Label { .. })) => Ok(key),
            _ => fail(no_label(raw)),
        }
    }

    /// Resolves the handle of a list of labels.
    fn label_list(&self, raw: usize) -> Result<(PartKey, Vec<PartKey>)> {
        match self.machine.graphs.part(raw) {
            Some((key, Part::LabelList(labels))) => Ok((key, labels)),
            _ => fail(no_label_list(raw)),
        }
    }
}

fn no_label_list(raw: usize) -> Error {
    Error::Handle { what: HandleKind::LabelList, handle: raw }
}

fn no_label(raw: usize) -> Error {
    Error::Handle { what: HandleKind::Label, handle: raw }
}

/// The graph and branch of a bound stream.
fn built(stream: &Stream) -> Result<(GraphKey, usize)> {
    stream.build().ok_or_else(|| {
        Box::new(Error::Feature(
            "labels and switches work only in a graph that is being built: bind the stream with aclmdlRIBindStream"
                .to_owned(),
        ))
    })
}
