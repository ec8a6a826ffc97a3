//! The queued copies whose addresses may change until they start, and the reads that wait for them. `indirect` decides
//! which copies these are and judges them; this list only keeps them.

use crate::clock::VectorClock;
use crate::operation::Operation;
use softacl_engine::observer::StreamPosition;
use std::collections::HashMap;
use std::sync::Arc;

/// Queued copies whose addresses may change until they start.
#[derive(Debug, Default)]
pub(crate) struct UnresolvedCopies {
    /// By copy: what the host had waited for when it was released, once it is.
    copies: HashMap<StreamPosition, Option<VectorClock>>,
    /// The oldest of these clocks.
    floor: Option<VectorClock>,
    /// Operations that read bytes which nothing has written, unless one of the copies does.
    reads: Vec<Arc<Operation>>,
}

impl UnresolvedCopies {
    pub(crate) fn is_empty(&self) -> bool {
        self.copies.is_empty()
    }

    /// What the host had waited for at the first release of a copy. `None` if none is released.
    pub(crate) fn floor(&self) -> Option<&VectorClock> {
        self.floor.as_ref()
    }

    /// Adds a copy that is not released yet.
    pub(crate) fn insert(&mut self, at: StreamPosition) {
        self.copies.insert(at, None);
    }

    /// The copies that are not released yet.
    pub(crate) fn held(&self) -> impl Iterator<Item = StreamPosition> {
        self.copies.iter().filter(|(_, released)| released.is_none()).map(|(at, _)| *at)
    }

    /// Notes that nothing holds a copy any more. `host` is what the host has waited for.
    pub(crate) fn release(&mut self, at: StreamPosition, host: &VectorClock) {
        self.floor.get_or_insert_with(|| host.clone());
        self.copies.insert(at, Some(host.clone()));
    }

    /// Removes a copy. Returns the clock of its release, or `None` if it is not in the list.
    pub(crate) fn remove(&mut self, at: StreamPosition) -> Option<Option<VectorClock>> {
        let removed = self.copies.remove(&at);
        self.clean();
        removed
    }

    /// Removes the copies of a stream up to a point.
    pub(crate) fn remove_until(&mut self, at: StreamPosition) {
        self.copies.retain(|copy, _| copy.stream != at.stream || copy.sequence > at.sequence);
        self.clean();
    }

    /// Adds an operation whose reads one of the copies may write.
    pub(crate) fn add_read(&mut self, operation: &Arc<Operation>) {
        self.reads.push(Arc::clone(operation));
    }

    /// Removes the operations that wait for the copies.
    pub(crate) fn take_reads(&mut self) -> Vec<Arc<Operation>> {
        std::mem::take(&mut self.reads)
    }

    fn clean(&mut self) {
        if self.copies.is_empty() {
            self.floor = None;
        }
    }
}
