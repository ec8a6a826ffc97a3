//! Pools: allocating and freeing in the order of a stream.

use super::Caller;
use crate::error::{Error, HandleKind, MemoryPool, Result, fail};
use crate::machine::Machine;
use crate::memory::MemoryKind;
use crate::memory::heap::PAGE;
use crate::memory::pool::{PendingFree, Pool, PoolAttribute, PoolKey, PoolMemory, Reuse};
use crate::stream::{Stream, StreamKey, StreamPoint};
use crate::sync::lock;
use crate::task::Task;
use std::sync::Arc;

impl Caller<'_> {
    /// A pool of memory of a device; a limit of 0 is that of the device.
    pub fn create_pool(&self, device: i64, limit: usize) -> Result<PoolKey> {
        self.machine.device(device)?;
        let limit = if limit == 0 { usize::MAX } else { limit };
        let stock = Arc::new(PoolMemory::new(device as u32, limit));
        let open = |pool: &Pool, _| *lock(&pool.stock) = Some(stock);
        self.machine.pools.all.insert(open).ok_or_else(|| Box::new(Error::Feature("no pool handle left".to_owned())))
    }

    /// Ends a pool. What is in use is freed when it is given back.
    pub fn destroy_pool(&self, raw: usize) -> Result<()> {
        let (key, stock) = self.pool(raw)?;
        if !self.machine.pools.all.remove(key) {
            return fail(Error::Handle { what: HandleKind::MemoryPool, handle: raw });
        }
        lock(&stock.state).is_open = false;
        self.machine.trim_pool(&stock, 0);
        Ok(())
    }

    pub fn pool_attribute(&self, raw: usize, attribute: PoolAttribute) -> Result<u64> {
        let (_, stock) = self.pool(raw)?;
        let state = lock(&stock.state);
        Ok(match attribute {
            PoolAttribute::FollowEvents => state.follow_events.into(),
            PoolAttribute::Opportunistic => state.opportunistic.into(),
            PoolAttribute::InternalDependencies => state.internal_dependencies.into(),
            PoolAttribute::Threshold => state.threshold as u64,
            PoolAttribute::Reserved => state.reserved.now as u64,
            PoolAttribute::ReservedHigh => state.reserved.high as u64,
            PoolAttribute::Used => state.used.now as u64,
            PoolAttribute::UsedHigh => state.used.high as u64,
        })
    }

    pub fn set_pool_attribute(&self, raw: usize, attribute: PoolAttribute, value: u64) -> Result<()> {
        let (_, stock) = self.pool(raw)?;
        let mut state = lock(&stock.state);
        let cell = match attribute {
            PoolAttribute::FollowEvents => &mut state.follow_events,
            PoolAttribute::Opportunistic => &mut state.opportunistic,
            PoolAttribute::InternalDependencies => &mut state.internal_dependencies,
            PoolAttribute::Threshold => {
                state.threshold = value as usize;
                return Ok(());
            }
            PoolAttribute::ReservedHigh | PoolAttribute::UsedHigh if value != 0 => {
                return fail(Error::Parameter(format!("a highest mark can be set to 0 only, not to {value}")));
            }
            PoolAttribute::ReservedHigh => {
                state.reserved.high = state.reserved.now;
                return Ok(());
            }
            PoolAttribute::UsedHigh => {
                state.used.high = state.used.now;
                return Ok(());
            }
            PoolAttribute::Reserved | PoolAttribute::Used => {
                return fail(Error::Parameter("the attribute can only be read".to_owned()));
            }
        };
        *cell = value != 0;
        Ok(())
    }

    /// Memory that tasks which are queued later in the stream may use.
    pub fn allocate_from_pool(&self, raw: usize, size: usize, stream: usize) -> Result<usize> {
        let (_, stock) = self.pool(raw)?;
        let (key, _) = self.pool_stream(stream)?;
        if size.checked_next_multiple_of(PAGE).is_none() {
            return fail(Error::Parameter(format!("{size} bytes cannot be allocated")));
        }
        self.machine.allocate_from(&stock, size, key)
    }

    /// Gives memory back when the stream comes to this point.
    pub fn free_to_pool(&self, address: usize, stream: usize) -> Result<()> {
        let (key, stream) = self.pool_stream(stream)?;
        let (context, _) = self.context()?;
        let Some(leaving) = self.machine.pools.begin_free(address, key) else {
            return fail(Error::NotAStart { address, whose: "in a memory pool".to_owned() });
        };
        let task = Task::Release(leaving.clone());
        self.machine
            .submit(key, stream, context, task)
            .map(|_| ())
            .inspect_err(|_| self.machine.pools.cancel_free(&leaving))
    }

    /// Gives memory that a pool only keeps back to the device.
    pub fn trim_pool(&self, raw: usize, keep: usize) -> Result<()> {
        let (_, stock) = self.pool(raw)?;
        self.machine.trim_pool(&stock, keep);
        Ok(())
    }

    /// A stream of the current context that does not capture.
    fn pool_stream(&self, raw: usize) -> Result<(StreamKey, &Stream)> {
        let (key, stream) = self.explicit_stream(raw)?.ok_or(Error::Null("stream"))?;
        let (context, _) = self.context()?;
        if stream.context() != Some(context) {
            return fail(self.machine.other_context("stream", stream, context));
        }
        if stream.is_redirected() {
            return fail(Error::Feature("memory pools cannot be used in a capture".to_owned()));
        }
        Ok((key, stream))
    }

    fn pool(&self, raw: usize) -> Result<(PoolKey, Arc<PoolMemory>)> {
        let unknown = || Error::Handle { what: HandleKind::MemoryPool, handle: raw };
        let key = PoolKey::from_raw(raw).ok_or_else(unknown)?;
        let pool = self.machine.pools.all.get(key).ok_or_else(unknown)?;
        let stock = lock(&pool.stock).clone().ok_or_else(unknown)?;
        Ok((key, stock))
    }
}

impl Machine {
    fn allocate_from(&self, stock: &Arc<PoolMemory>, size: usize, stream: StreamKey) -> Result<usize> {
        let is_done = |at: StreamPoint| self.streams.slot(at.stream).track.completion.done() >= at.sequence;
        let reused = lock(&stock.state).reuse(size, stream, is_done, self.is_guarded());
        match reused {
            Some(Reuse::Leaving(start)) => return Ok(start),
            Some(Reuse::Kept(start)) => {
                self.memory.device(stock.device).revive(start, size);
                return Ok(start);
            }
            None => {}
        }
        let full = || {
            let used = lock(&stock.state).reserved.now;
            let pool = MemoryPool::DevicePool(stock.device);
            Error::OutOfMemory { pool, asked: size, free: stock.limit.saturating_sub(used), total: stock.limit }
        };
        let room = stock.limit.checked_sub(size.next_multiple_of(PAGE)).ok_or_else(full)?;
        self.trim_pool(stock, room);
        let is_reserved = lock(&stock.state).reserve(size, room);
        if !is_reserved {
            return fail(full());
        }
        let start = self.allocate_on(stock.device, size).inspect_err(|_| lock(&stock.state).unreserve(size))?;
        self.pools.add_block(stock, &mut lock(&stock.state), start, size);
        Ok(start)
    }

    /// A block has come back to its pool; everything that used it is done at `at`.
    pub(crate) fn finish_release(&self, leaving: &PendingFree, at: StreamPoint) {
        self.pools.finish_free(leaving, at, || {
            self.memory.device(leaving.stock.device).retain(leaving.start);
        });
    }

    /// Tells an observer that a pool lets memory go. The pool has seen that its users are done, so the
    /// program need not have waited for them.
    fn emit_pool_release(&self, device: u32, start: usize, at: StreamPoint) {
        if let Some(probe) = self.probe() {
            probe.waited(at.into());
            probe.freed(MemoryKind::Device(device), start);
        }
    }

    fn trim_pool(&self, stock: &PoolMemory, keep: usize) {
        let device = stock.device;
        let is_less = self.pools.trim(stock, keep, |start, at| {
            self.emit_pool_release(device, start, at);
            self.memory
                .device(device)
                .discard(start, |len| self.quarantine_until(self.memory.backing_address(start), len));
        });
        if is_less {
            self.memory.trim(device);
        }
    }

    /// Somebody has waited: freed memory that did so, too, is free now, and pools keep what their thresholds say.
    #[inline]
    pub(crate) fn trim_after_wait(&self) {
        self.memory.release_quarantined();
        self.trim_pools();
    }

    fn trim_pools(&self) {
        for stock in self.pools.stocks() {
            let keep = lock(&stock.state).keeps();
            self.trim_pool(&stock, keep);
        }
    }

    /// Memory of a device has run out: its pools keep nothing.
    pub(crate) fn trim_pools_of(&self, device: u32) {
        for stock in self.pools.stocks().iter().filter(|stock| stock.device == device) {
            self.trim_pool(stock, 0);
        }
    }
}
