//! Pools: device memory that is given out and taken back in the order of streams, and kept for the
//! next allocation.
//!
//! A block is an allocation of the heap. While its release is queued it stays one, because tasks in
//! front of the release may look it up; afterwards its range is parked in the heap. A block is reused
//! for the same number of pages only. Blocks know their pool, so that a pool may end before them; it then
//! keeps nothing. A task only parks: giving a range back to the heap may concern graphs, which no task may.
//!
//! Lock order: a pool's state, then the heap's or `owners`.

pub(crate) mod calls;

use crate::keys::{PoolTag, StreamKey, StreamPoint};
use softacl_memory::extent::PAGE;
use softacl_sync::facade::{AtomicU64, AtomicUsize, Mutex, Ordering, lock};
use softacl_sync::handle::Slots;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[derive(Default)]
pub struct Pool {
    pub(crate) stock: Mutex<Option<Arc<PoolMemory>>>,
}

/// What can be asked of a pool, and some of it set.
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

#[derive(Default)]
pub(crate) struct Pools {
    pub(crate) all: Slots<Pool, PoolTag>,
    owners: Mutex<Owners>,
    /// How many blocks there are: who frees or waits pays one load while there are none.
    count: AtomicUsize,
    /// Tells the lives of a block apart.
    lives: AtomicU64,
}

/// Whose blocks there are.
#[derive(Default)]
struct Owners {
    /// The pool of each block, by the address of the block.
    by_block: BTreeMap<usize, Arc<PoolMemory>>,
    /// Each of them, and how many blocks it has.
    stocks: Vec<(Arc<PoolMemory>, usize)>,
}

impl Owners {
    fn add(&mut self, start: usize, stock: &Arc<PoolMemory>) {
        self.by_block.insert(start, Arc::clone(stock));
        match self.stocks.iter_mut().find(|(known, _)| Arc::ptr_eq(known, stock)) {
            Some((_, blocks)) => *blocks += 1,
            None => self.stocks.push((Arc::clone(stock), 1)),
        }
    }

    fn remove(&mut self, start: usize) {
        let Some(stock) = self.by_block.remove(&start) else { return };
        self.stocks.retain_mut(|(known, blocks)| {
            *blocks -= usize::from(Arc::ptr_eq(known, &stock));
            *blocks > 0
        });
    }
}

/// The memory of one pool.
#[derive(Debug)]
pub(crate) struct PoolMemory {
    pub(crate) device: u32,
    /// Bytes that it may hold.
    pub(crate) limit: usize,
    pub(crate) state: Mutex<StockState>,
}

#[derive(Debug)]
pub(crate) struct StockState {
    /// The pool has not been destroyed.
    pub(crate) is_open: bool,
    pub(crate) follow_events: bool,
    pub(crate) opportunistic: bool,
    pub(crate) internal_dependencies: bool,
    /// Bytes that are kept when somebody waits; see `keeps`.
    pub(crate) threshold: usize,
    pub(crate) reserved: Watermark,
    pub(crate) used: Watermark,
    blocks: BTreeMap<usize, Block>,
    /// Those that are not in use, so that nobody has to look through the others.
    unused: BTreeSet<usize>,
}

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
    life: u64,
    condition: BlockState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockState {
    Used,
    /// A stream has a task that gives it back.
    Leaving(StreamKey),
    /// Parked. Everything that used it is done at this point.
    Kept(StreamPoint),
}

/// A block on its way back.
#[derive(Debug, Clone)]
pub(crate) struct PendingFree {
    pub(crate) stock: Arc<PoolMemory>,
    pub(crate) start: usize,
    life: u64,
}

/// A block that can be given out again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reuse {
    /// It must be woken in the heap.
    Kept(usize),
    /// It never left.
    Leaving(usize),
}

/// Bytes of a block.
fn span(size: usize) -> usize {
    size.next_multiple_of(PAGE)
}

impl PoolMemory {
    pub(crate) fn new(device: u32, limit: usize) -> PoolMemory {
        let state = StockState {
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

impl StockState {
    /// Bytes that are kept when somebody waits.
    pub(crate) fn keeps(&self) -> usize {
        if self.is_open { self.threshold } else { 0 }
    }

    /// Takes a block that a stream may have at once. `guarded`: only what looks to an observer like
    /// the same allocation used on.
    pub(crate) fn reuse(
        &mut self,
        size: usize,
        stream: StreamKey,
        is_done: impl Fn(StreamPoint) -> bool,
        guarded: bool,
    ) -> Option<Reuse> {
        let opportunistic = self.opportunistic && !guarded;
        let fits = |block: &Block| match block.condition {
            BlockState::Used => None,
            BlockState::Leaving(on) => (on == stream && block.size == size).then_some(true),
            BlockState::Kept(at) => {
                let same = if guarded { block.size == size } else { span(block.size) == span(size) };
                (same && (at.stream == stream || opportunistic && is_done(at))).then_some(false)
            }
        };
        let (start, stays) = self.unused.iter().find_map(|start| Some((*start, fits(self.blocks.get(start)?)?)))?;
        self.unused.remove(&start);
        let block = self.blocks.get_mut(&start)?;
        block.condition = BlockState::Used;
        block.size = size;
        if stays {
            // The queued release finds another life than its own.
            block.life = u64::MAX;
            return Some(Reuse::Leaving(start));
        }
        self.used.rise(span(size));
        Some(Reuse::Kept(start))
    }

    /// Sets bytes for a new block apart, as long as no more than `most` are held before. `own` or `unreserve` comes next.
    pub(crate) fn reserve(&mut self, size: usize, most: usize) -> bool {
        let has_room = self.reserved.now <= most;
        if has_room {
            self.reserved.now += span(size);
        }
        has_room
    }

    /// There is no memory for the block.
    pub(crate) fn unreserve(&mut self, size: usize) {
        self.reserved.now -= span(size);
    }

    /// Lets a block that a trim chose go; its address and the point at which it was free.
    fn pick(&mut self) -> Option<(usize, StreamPoint)> {
        let (start, at) = self.unused.iter().find_map(|start| match self.blocks.get(start)?.condition {
            BlockState::Kept(at) => Some((*start, at)),
            _ => None,
        })?;
        self.unused.remove(&start);
        let block = self.blocks.remove(&start)?;
        self.reserved.now -= span(block.size);
        Some((start, at))
    }
}

impl Pools {
    /// A block was allocated for a pool, which has reserved its bytes.
    pub(crate) fn add_block(&self, stock: &Arc<PoolMemory>, state: &mut StockState, start: usize, size: usize) {
        let life = self.lives.fetch_add(1, Ordering::Relaxed);
        state.blocks.insert(start, Block { size, life, condition: BlockState::Used });
        // What was reserved and then not to be had is not part of the highest level.
        state.reserved.rise(0);
        state.used.rise(span(size));
        let mut owners = lock(&self.owners);
        owners.add(start, stock);
        self.count.store(owners.by_block.len(), Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn are_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    fn owner(&self, start: usize) -> Option<Arc<PoolMemory>> {
        if self.are_empty() {
            return None;
        }
        lock(&self.owners).by_block.get(&start).cloned()
    }

    fn forget(&self, start: usize) {
        let mut owners = lock(&self.owners);
        owners.remove(start);
        self.count.store(owners.by_block.len(), Ordering::Relaxed);
    }

    /// A block is about to be given back by a stream. `None`: there is no such block in use.
    pub(crate) fn begin_free(&self, start: usize, stream: StreamKey) -> Option<PendingFree> {
        let stock = self.owner(start)?;
        let mut state = lock(&stock.state);
        let block = state.blocks.get_mut(&start).filter(|block| block.condition == BlockState::Used)?;
        block.condition = BlockState::Leaving(stream);
        block.life = self.lives.fetch_add(1, Ordering::Relaxed);
        let life = block.life;
        state.unused.insert(start);
        drop(state);
        Some(PendingFree { stock, start, life })
    }

    /// The stream would not have it.
    pub(crate) fn cancel_free(&self, leaving: &PendingFree) {
        let state = &mut *lock(&leaving.stock.state);
        if let Some(block) = state.blocks.get_mut(&leaving.start)
            && block.life == leaving.life
        {
            block.condition = BlockState::Used;
            state.unused.remove(&leaving.start);
        }
    }

    /// A block has come back, and its range is parked. Nothing if it was given out again meanwhile, or freed
    /// by other means.
    pub(crate) fn finish_free(&self, leaving: &PendingFree, at: StreamPoint, park: impl FnOnce()) {
        let mut state = lock(&leaving.stock.state);
        let state = &mut *state;
        let block = state.blocks.get_mut(&leaving.start).filter(|block| block.life == leaving.life);
        if let Some(block) = block {
            state.used.now -= span(block.size);
            block.condition = BlockState::Kept(at);
            park();
        }
    }

    /// A block in use is freed without its pool.
    pub(crate) fn remove_block(&self, start: usize) {
        let Some(stock) = self.owner(start) else { return };
        let mut state = lock(&stock.state);
        let Some(block) = state.blocks.get(&start).copied() else { return };
        if let BlockState::Kept(_) = block.condition {
            return;
        }
        state.blocks.remove(&start);
        state.unused.remove(&start);
        state.used.now -= span(block.size);
        state.reserved.now -= span(block.size);
        self.forget(start);
    }

    /// Lets kept blocks go until at most so much is held. `discard` sees the address of each, and the
    /// point at which it was free. `true`: there were some.
    pub(crate) fn trim(&self, stock: &PoolMemory, keep: usize, discard: impl Fn(usize, StreamPoint)) -> bool {
        let mut state = lock(&stock.state);
        let mut is_less = false;
        while state.reserved.now > keep
            && let Some((start, at)) = state.pick()
        {
            self.forget(start);
            discard(start, at);
            is_less = true;
        }
        is_less
    }

    /// The pools that have blocks.
    pub(crate) fn stocks(&self) -> Vec<Arc<PoolMemory>> {
        if self.are_empty() {
            return Vec::new();
        }
        lock(&self.owners).stocks.iter().map(|(stock, _)| Arc::clone(stock)).collect()
    }

    /// The memory of a device is taken away, and its pools with it.
    pub(crate) fn end_of(&self, device: u32) {
        let gone = |stock: &PoolMemory| stock.device == device;
        for (key, pool) in self.all.live() {
            let is_gone = lock(&pool.stock).as_deref().is_some_and(gone);
            if is_gone && self.all.retire(key) {
                *lock(&pool.stock) = None;
                self.all.recycle(key);
            }
        }
        for stock in self.stocks().iter().filter(|stock| gone(stock)) {
            let mut state = lock(&stock.state);
            state.is_open = false;
            state.blocks.clear();
            state.unused.clear();
        }
        let mut owners = lock(&self.owners);
        owners.by_block.retain(|_, stock| !gone(stock));
        owners.stocks.retain(|(stock, _)| !gone(stock));
        self.count.store(owners.by_block.len(), Ordering::Relaxed);
    }
}
