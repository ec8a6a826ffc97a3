//! Finding L3 for blocks that change hands inside memory that stays allocated: blocks of a pool, and of an allocator
//! that the program annotates. A freed block must not be used, and it is allocated again only after its free.

use crate::finding::{FindingId, Severity};
use crate::freed_blocks::FreedBlock;
use crate::operation::Operation;
use crate::state::{Evidence, PendingFinding, State};
use softacl_engine::observer::{BlockChange, Mode, StreamPosition, Touch};
use std::sync::Arc;

impl State {
    /// L3: an operation uses a block after the call that freed it.
    pub(crate) fn check_freed_blocks(&mut self, operation: &Arc<Operation>) {
        let used = operation.touches.iter().find_map(|touch| {
            let block = self.freed_blocks.find(touch.address, touch.len)?;
            // What releases the stream of the free may come after this operation.
            let is_open = block.at.is_some_and(|at| self.is_behind_external_wait(at));
            (!is_open).then(|| (*touch, Arc::clone(&block.by)))
        });
        if let Some((touch, free)) = used {
            self.find_use_after_free("uses", operation, touch.address, touch.len, &free);
        }
    }

    fn find_use_after_free(
        &mut self,
        verb: &str,
        operation: &Arc<Operation>,
        address: usize,
        len: usize,
        free: &Arc<Operation>,
    ) {
        let message = format!(
            "{} ({}) {verb} {} after {} freed the block",
            operation.actor_text(),
            operation.describe(),
            self.describe_range(address, len),
            free.actor_text(),
        );
        let mut evidence =
            vec![self.evidence("the use", operation, Some((address, len))), self.evidence("freed here", free, None)];
        evidence.extend(self.allocation_evidence(address));
        let fix = "use the block before it is freed, or free it later".to_owned();
        self.add_block_finding(message, fix, evidence);
    }

    /// A block changes hands. `operation` is the task or call that does it.
    pub(crate) fn change_block(&mut self, change: BlockChange, at: Option<StreamPosition>, operation: &Arc<Operation>) {
        match change {
            BlockChange::Freed { start, size } => {
                if let Some(first) = self.freed_blocks.find(start, size).map(|block| Arc::clone(&block.by)) {
                    self.find_use_after_free("frees", operation, start, size, &first);
                }
                self.check_released(Touch { address: start, len: size, mode: Mode::Write }, operation);
                self.freed_blocks.insert(start, size, at, operation);
            }
            BlockChange::Allocated { start, size } => {
                for freed in self.freed_blocks.take(start, size) {
                    self.check_handed_out(start, size, &freed, at, operation);
                }
                let canonical = self.mappings.canonical(start);
                self.written.remove(canonical, size);
                self.recycled.insert(canonical, size);
            }
        }
    }

    /// L3: a block is allocated while the tasks before its free may still run.
    fn check_handed_out(
        &mut self,
        start: usize,
        size: usize,
        freed: &FreedBlock,
        at: Option<StreamPosition>,
        operation: &Arc<Operation>,
    ) {
        let Some(free) = freed.at else { return };
        let clock = at.map_or_else(|| self.clocks.host().clone(), |at| self.clocks.of(at));
        let is_held = self.is_behind_external_wait(free) || at.is_some_and(|at| self.is_behind_external_wait(at));
        if clock.includes(free) || is_held {
            return;
        }
        let message = format!(
            "{} allocates {}, which {} frees, and nothing orders the allocation after the free: tasks before the free \
             may still use the block",
            operation.actor_text(),
            self.describe_range(start, size),
            freed.by.actor_text(),
        );
        let mut evidence =
            vec![self.evidence("allocated again here", operation, None), self.evidence("freed here", &freed.by, None)];
        evidence.extend(self.allocation_evidence(start));
        let fix = format!(
            "record an event on stream {} after the free, and let the new owner wait for it before the block is \
             allocated again",
            free.stream
        );
        self.add_block_finding(message, fix, evidence);
    }

    /// Forgets the blocks of memory that a reset released.
    pub(crate) fn forget_reclaimed_blocks(&mut self) {
        let mut freed = std::mem::take(&mut self.freed_blocks);
        freed.retain(|start| self.allocation(start).is_some());
        self.freed_blocks = freed;
    }

    fn add_block_finding(&mut self, message: String, fix: String, evidence: Vec<Evidence>) {
        let (id, severity) = (FindingId::L3, Severity::Proven);
        self.add_finding(PendingFinding { id, severity, message, fix, count: 1, evidence });
    }
}
