//! Pools: device memory that is allocated and freed in stream order, and retained for the next allocation.
//!
//! A block is an allocation of the heap. It remains one while its release is queued, because tasks before the release
//! may look it up. After that, the heap retains its range. A block is reused for the same number of pages only. Each
//! block has a reference to its pool, so a pool can end before its blocks; it then retains nothing. A task may only
//! retain a range. Returning it to the heap takes graph locks, which no task may take.
//!
//! Lock order: the state of a pool, then the heap or `owners`.

pub(crate) mod calls;

use crate::keys::{PoolTag, StreamKey, StreamPoint};
use softacl_memory::extent::PAGE;
use softacl_sync::facade::{AtomicU64, AtomicUsize, Mutex, Ordering, lock};
use softacl_sync::handle::Slots;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A memory pool of the API.
#[derive(Default)]
pub struct Pool {
    pub(crate) memory: Mutex<Option<Arc<PoolMemory>>>,
}

/// An attribute of a pool. Some are read-only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolAttribute {
    FollowEvents,
    Opportunistic,
    InternalDependencies,
    Threshold,
    Reserved,
    ReservedHigh,
    Used,
    UsedHigh,
}

/// All pools of the machine.
#[derive(Default)]
pub(crate) struct Pools {
    pub(crate) all: Slots<Pool, PoolTag>,
    owners: Mutex<Owners>,
    /// Number of blocks. While it is 0, a free or a wait costs one load.
    count: AtomicUsize,
    /// Source of block generations.
    generations: AtomicU64,
}

/// Index from block address to owning pool.
#[derive(Default)]
struct Owners {
    /// The pool of each block, by the address of the block.
    by_block: BTreeMap<usize, Arc<PoolMemory>>,
    /// Every pool with blocks, and how many it has.
    pools: Vec<(Arc<PoolMemory>, usize)>,
}

impl Owners {
    fn add(&mut self, start: usize, pool: &Arc<PoolMemory>) {
        self.by_block.insert(start, Arc::clone(pool));
        match self.pools.iter_mut().find(|(other, _)| Arc::ptr_eq(other, pool)) {
            Some((_, blocks)) => *blocks += 1,
            None => self.pools.push((Arc::clone(pool), 1)),
        }
    }

    fn remove(&mut self, start: usize) {
        let Some(pool) = self.by_block.remove(&start) else { return };
        self.pools.retain_mut(|(other, blocks)| {
            *blocks -= usize::from(Arc::ptr_eq(other, &pool));
            *blocks > 0
        });
    }
}

/// The blocks and counters of one pool. Outlives the pool until its last block is freed.
#[derive(Debug)]
pub(crate) struct PoolMemory {
    pub(crate) device: u32,
    /// Maximum number of bytes that the pool may reserve.
    pub(crate) limit: usize,
    pub(crate) state: Mutex<PoolState>,
}

#[derive(Debug)]
pub(crate) struct PoolState {
    /// True until the pool is destroyed.
    pub(crate) is_open: bool,
    pub(crate) follow_events: bool,
    pub(crate) opportunistic: bool,
    pub(crate) internal_dependencies: bool,
    /// Release threshold: bytes that a wait leaves in the pool. See `retained_bytes`.
    pub(crate) threshold: usize,
    pub(crate) reserved: Watermark,
    pub(crate) used: Watermark,
    blocks: BTreeMap<usize, Block>,
    /// Blocks that are not in use, so that a search skips the others.
    unused: BTreeSet<usize>,
}

/// Current and peak value of a counter, in bytes.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Watermark {
    pub(crate) now: usize,
    pub(crate) high: usize,
}

impl Watermark {
    fn rise(&mut self, by: usize) {
        self.now += by;
        self.high = self.high.max(self.now);
    }
}

#[derive(Debug, Clone, Copy)]
struct Block {
    size: usize,
    generation: u64,
    state: BlockState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockState {
    InUse,
    /// A task that frees the block is queued in this stream.
    BeingFreed(StreamKey),
    /// Retained by the heap. Everything that used the block is done at this point.
    Retained(StreamPoint),
}

/// A block whose release is queued.
#[derive(Debug, Clone)]
pub(crate) struct PendingFree {
    pub(crate) pool: Arc<PoolMemory>,
    pub(crate) start: usize,
    generation: u64,
}

/// A block that can be used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reuse {
    /// Start of a block that the heap must revive.
    Retained(usize),
    /// Start of a block whose release is queued; it is still an allocation.
    BeingFreed(usize),
}

/// Bytes that a block occupies.
fn span(size: usize) -> usize {
    size.next_multiple_of(PAGE)
}

impl PoolMemory {
    pub(crate) fn new(device: u32, limit: usize) -> PoolMemory {
        let state = PoolState {
            is_open: true,
            follow_events: true,
            opportunistic: true,
            internal_dependencies: true,
            threshold: 0,
            reserved: Watermark::default(),
            used: Watermark::default(),
            blocks: BTreeMap::new(),
            unused: BTreeSet::new(),
        };
        PoolMemory { device, limit, state: Mutex::new(state) }
    }
}

impl PoolState {
    /// Bytes that a wait leaves in the pool.
    pub(crate) fn retained_bytes(&self) -> usize {
        if self.is_open { self.threshold } else { 0 }
    }

    /// Takes a block that a stream can use immediately. With `guarded`, only a block that looks to the observer like
    /// the same allocation in continued use.
    pub(crate) fn reuse(
        &mut self,
        size: usize,
        stream: StreamKey,
        is_done: impl Fn(StreamPoint) -> bool,
        guarded: bool,
    ) -> Option<Reuse> {
        let opportunistic = self.opportunistic && !guarded;
        let fits = |block: &Block| match block.state {
            BlockState::InUse => None,
            BlockState::BeingFreed(on) => (on == stream && block.size == size).then_some(true),
            BlockState::Retained(at) => {
                let same = if guarded { block.size == size } else { span(block.size) == span(size) };
                (same && (at.stream == stream || opportunistic && is_done(at))).then_some(false)
            }
        };
        let (start, is_being_freed) =
            self.unused.iter().find_map(|start| Some((*start, fits(self.blocks.get(start)?)?)))?;
        self.unused.remove(&start);
        let block = self.blocks.get_mut(&start)?;
        block.state = BlockState::InUse;
        block.size = size;
        if is_being_freed {
            // The queued release then finds another generation and does nothing.
            block.generation = u64::MAX;
            return Some(Reuse::BeingFreed(start));
        }
        self.used.rise(span(size));
        Some(Reuse::Retained(start))
    }

    /// Reserves bytes for a new block. Returns `false` if more than `max_reserved` bytes are reserved already. The
    /// caller follows up with `add_block` or `unreserve`.
    pub(crate) fn reserve(&mut self, size: usize, max_reserved: usize) -> bool {
        let fits = self.reserved.now <= max_reserved;
        if fits {
            self.reserved.now += span(size);
        }
        fits
    }

    /// Takes back a `reserve` whose allocation failed.
    pub(crate) fn unreserve(&mut self, size: usize) {
        self.reserved.now -= span(size);
    }

    /// Removes a retained block. Returns its address and the point at which it became idle.
    fn take_retained(&mut self) -> Option<(usize, StreamPoint)> {
        let (start, at) = self.unused.iter().find_map(|start| match self.blocks.get(start)?.state {
            BlockState::Retained(at) => Some((*start, at)),
            _ => None,
        })?;
        self.unused.remove(&start);
        let block = self.blocks.remove(&start)?;
        self.reserved.now -= span(block.size);
        Some((start, at))
    }
}

impl Pools {
    /// Adds a block that was allocated for a pool after `reserve`.
    pub(crate) fn add_block(&self, pool: &Arc<PoolMemory>, state: &mut PoolState, start: usize, size: usize) {
        let generation = self.generations.fetch_add(1, Ordering::Relaxed);
        state.blocks.insert(start, Block { size, generation, state: BlockState::InUse });
        // A reservation whose allocation failed does not count toward the peak.
        state.reserved.rise(0);
        state.used.rise(span(size));
        let mut owners = lock(&self.owners);
        owners.add(start, pool);
        self.count.store(owners.by_block.len(), Ordering::Relaxed);
    }

    /// True if no pool has a block.
    #[inline]
    pub(crate) fn are_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    /// The pool of a block.
    fn owner(&self, start: usize) -> Option<Arc<PoolMemory>> {
        if self.are_empty() {
            return None;
        }
        lock(&self.owners).by_block.get(&start).cloned()
    }

    fn remove_owner(&self, start: usize) {
        let mut owners = lock(&self.owners);
        owners.remove(start);
        self.count.store(owners.by_block.len(), Ordering::Relaxed);
    }

    /// Marks a block as being freed by a stream. `None` if no such block is in use.
    pub(crate) fn begin_free(&self, start: usize, stream: StreamKey) -> Option<PendingFree> {
        let pool = self.owner(start)?;
        let mut state = lock(&pool.state);
        let block = state.blocks.get_mut(&start).filter(|block| block.state == BlockState::InUse)?;
        block.state = BlockState::BeingFreed(stream);
        block.generation = self.generations.fetch_add(1, Ordering::Relaxed);
        let generation = block.generation;
        state.unused.insert(start);
        drop(state);
        Some(PendingFree { pool, start, generation })
    }

    /// Undoes `begin_free` after its task was refused.
    pub(crate) fn cancel_free(&self, pending: &PendingFree) {
        let state = &mut *lock(&pending.pool.state);
        if let Some(block) = state.blocks.get_mut(&pending.start)
            && block.generation == pending.generation
        {
            block.state = BlockState::InUse;
            state.unused.remove(&pending.start);
        }
    }

    /// Finishes a release: the block is idle, and `retain` keeps its range. Does nothing if the block was reused or
    /// freed in the meantime.
    pub(crate) fn finish_free(&self, pending: &PendingFree, at: StreamPoint, retain: impl FnOnce()) {
        let mut state = lock(&pending.pool.state);
        let state = &mut *state;
        let block = state.blocks.get_mut(&pending.start).filter(|block| block.generation == pending.generation);
        if let Some(block) = block {
            state.used.now -= span(block.size);
            block.state = BlockState::Retained(at);
            retain();
        }
    }

    /// Removes a block that is freed without its pool.
    pub(crate) fn remove_block(&self, start: usize) {
        let Some(pool) = self.owner(start) else { return };
        let mut state = lock(&pool.state);
        let Some(block) = state.blocks.get(&start).copied() else { return };
        if let BlockState::Retained(_) = block.state {
            return;
        }
        state.blocks.remove(&start);
        state.unused.remove(&start);
        state.used.now -= span(block.size);
        state.reserved.now -= span(block.size);
        self.remove_owner(start);
    }

    /// Removes retained blocks until at most `keep` bytes are reserved. `discard` receives the address of each and the
    /// point at which it became idle. Returns `true` if any block was removed.
    pub(crate) fn trim(&self, pool: &PoolMemory, keep: usize, discard: impl Fn(usize, StreamPoint)) -> bool {
        let mut state = lock(&pool.state);
        let mut released_any = false;
        while state.reserved.now > keep
            && let Some((start, at)) = state.take_retained()
        {
            self.remove_owner(start);
            discard(start, at);
            released_any = true;
        }
        released_any
    }

    /// The pools that have blocks.
    pub(crate) fn non_empty(&self) -> Vec<Arc<PoolMemory>> {
        if self.are_empty() {
            return Vec::new();
        }
        lock(&self.owners).pools.iter().map(|(pool, _)| Arc::clone(pool)).collect()
    }

    /// Ends the pools of a device whose memory is released.
    pub(crate) fn end_of(&self, device: u32) {
        let is_on_device = |pool: &PoolMemory| pool.device == device;
        for (key, pool) in self.all.live() {
            let is_removed = lock(&pool.memory).as_deref().is_some_and(is_on_device);
            if is_removed && self.all.retire(key) {
                *lock(&pool.memory) = None;
                self.all.recycle(key);
            }
        }
        for pool in self.non_empty().iter().filter(|pool| is_on_device(pool)) {
            let mut state = lock(&pool.state);
            state.is_open = false;
            state.blocks.clear();
            state.unused.clear();
        }
        let mut owners = lock(&self.owners);
        owners.by_block.retain(|_, pool| !is_on_device(pool));
        owners.pools.retain(|(pool, _)| !is_on_device(pool));
        self.count.store(owners.by_block.len(), Ordering::Relaxed);
    }
}
