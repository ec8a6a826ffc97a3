//! Blocks that were freed and not allocated again, inside memory that stays allocated: blocks of a pool, and of an
//! allocator that the program annotates. Pure data; the checks are in `blocks`.

use crate::operation::Operation;
use softacl_engine::observer::StreamPosition;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A freed block, or what is left of it.
#[derive(Debug, Clone)]
pub(crate) struct FreedBlock {
    end: usize,
    /// The task of a stream that frees it. `None` if the host freed it.
    pub(crate) at: Option<StreamPosition>,
    pub(crate) by: Arc<Operation>,
}

#[derive(Debug, Default)]
pub(crate) struct FreedBlocks {
    /// By first byte, without overlaps.
    blocks: BTreeMap<usize, FreedBlock>,
}

impl FreedBlocks {
    pub(crate) fn insert(&mut self, start: usize, len: usize, at: Option<StreamPosition>, by: &Arc<Operation>) {
        self.take(start, len);
        if len > 0 {
            self.blocks.insert(start, FreedBlock { end: start + len, at, by: Arc::clone(by) });
        }
    }

    /// The first freed block that overlaps a range.
    pub(crate) fn find(&self, start: usize, len: usize) -> Option<&FreedBlock> {
        let (_, block) = self.blocks.range(..start + len).next_back().filter(|(_, block)| block.end > start)?;
        Some(block)
    }

    /// Removes a range. Returns the freed blocks that overlapped it.
    pub(crate) fn take(&mut self, start: usize, len: usize) -> Vec<FreedBlock> {
        let end = start + len;
        let mut taken = Vec::new();
        while let Some((&first, block)) = self.blocks.range(..end).next_back().filter(|(_, block)| block.end > start) {
            let block = block.clone();
            self.blocks.remove(&first);
            if block.end > end {
                self.blocks.insert(end, block.clone());
            }
            if first < start {
                self.blocks.insert(first, FreedBlock { end: start, ..block.clone() });
            }
            taken.push(block);
        }
        taken
    }

    /// Removes the blocks that a task after `done` up to `at` would have freed: these tasks were dropped.
    pub(crate) fn dropped(&mut self, at: StreamPosition, done: u64) {
        let is_dropped = |task: StreamPosition| task.stream == at.stream && task.sequence > done;
        self.blocks.retain(|_, block| !block.at.is_some_and(is_dropped));
    }

    /// Keeps the blocks whose first byte satisfies a condition.
    pub(crate) fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        self.blocks.retain(|start, _| keep(*start));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_blocks_match_a_byte_map() {
        let mut random = fastrand::Rng::with_seed(11);
        let (mut freed, mut bytes) = (FreedBlocks::default(), [false; 96]);
        let by = Arc::new(Operation::for_test(1));
        for _ in 0..if cfg!(miri) { 200 } else { 10_000 } {
            let start = random.usize(..90);
            let len = 1 + random.usize(..96 - start);
            assert_eq!(freed.find(start, len).is_some(), bytes[start..start + len].contains(&true));
            match random.bool() {
                true => freed.insert(start, len, None, &by),
                false => drop(freed.take(start, len)),
            }
            let is_freed = freed.find(start, len).is_some();
            bytes[start..start + len].fill(is_freed);
        }
    }
}
