//! Pools: creating, allocating and freeing in stream order, attributes, trimming.

use crate::caller::Caller;
use crate::keys::{PoolKey, StreamKey, StreamPoint};
use crate::machine::Machine;
use crate::observer::BlockChange;
use crate::pool::{PendingFree, Pool, PoolAttribute, PoolMemory, Reuse};
use crate::stream::Stream;
use crate::task::Control;
use softacl_errors::{Error, HandleKind, MemoryPool, Result, fail};
use softacl_memory::MemoryKind;
use softacl_memory::extent::PAGE;
use softacl_sync::facade::lock;
use std::sync::Arc;

impl Caller<'_> {
    /// Creates a pool of device memory. A limit of 0 means the memory of the device.
    pub fn create_pool(&self, device: i64, limit: usize) -> Result<PoolKey> {
        self.machine.device(device)?;
        let limit = if limit == 0 { usize::MAX } else { limit };
        let pool = Arc::new(PoolMemory::new(device as u32, limit));
        let open = |slot: &Pool, _| *lock(&slot.memory) = Some(pool);
        self.machine.pools.all.insert(open).ok_or_else(|| Box::new(Error::NoHandle("pool")))
    }

    /// Ends a pool. Blocks in use are freed when the program frees them.
    pub fn destroy_pool(&self, raw: usize) -> Result<()> {
        let (key, pool) = self.pool(raw)?;
        if !self.machine.pools.all.remove(key) {
            return fail(Error::Handle { what: HandleKind::MemoryPool, handle: raw });
        }
        lock(&pool.state).is_open = false;
        self.machine.trim_pool(&pool, 0);
        Ok(())
    }

    /// Reads an attribute.
    pub fn pool_attribute(&self, raw: usize, attribute: PoolAttribute) -> Result<u64> {
        let (_, pool) = self.pool(raw)?;
        let state = lock(&pool.state);
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

    /// Sets an attribute. Peaks can only be reset to 0.
    pub fn set_pool_attribute(&self, raw: usize, attribute: PoolAttribute, value: u64) -> Result<()> {
        let (_, pool) = self.pool(raw)?;
        let mut state = lock(&pool.state);
        let cell = match attribute {
            PoolAttribute::FollowEvents => &mut state.follow_events,
            PoolAttribute::Opportunistic => &mut state.opportunistic,
            PoolAttribute::InternalDependencies => &mut state.internal_dependencies,
            PoolAttribute::Threshold => {
                state.threshold = value as usize;
                return Ok(());
            }
            PoolAttribute::ReservedHigh | PoolAttribute::UsedHigh if value != 0 => {
                return fail(Error::Parameter(format!("a peak can only be set to 0, not to {value}")));
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
                return fail(Error::Parameter("the attribute is read-only".to_owned()));
            }
        };
        *cell = value != 0;
        Ok(())
    }

    /// Allocates memory for tasks that are queued later in the stream.
    pub fn allocate_from_pool(&self, raw: usize, size: usize, stream: usize) -> Result<usize> {
        let (_, pool) = self.pool(raw)?;
        let (key, _) = self.pool_stream(stream)?;
        if size.checked_next_multiple_of(PAGE).is_none() {
            return fail(Error::Parameter(format!("{size} bytes cannot be allocated")));
        }
        self.machine.allocate_from(&pool, size, key)
    }

    /// Frees memory when the stream reaches this point.
    pub fn free_to_pool(&self, address: usize, stream: usize) -> Result<()> {
        let (key, stream) = self.pool_stream(stream)?;
        let (context, _) = self.context()?;
        let Some(pending) = self.machine.pools.begin_free(address, key) else {
            return fail(Error::NotAStart { address, whose: "in a memory pool".to_owned() });
        };
        let task = Control::Release(Box::new(pending.clone()));
        self.machine
            .submit(key, stream, context, task)
            .map(|_| ())
            .inspect_err(|_| self.machine.pools.cancel_free(&pending))
    }

    /// Releases retained memory to the device until at most `keep` bytes are reserved.
    pub fn trim_pool(&self, raw: usize, keep: usize) -> Result<()> {
        let (_, pool) = self.pool(raw)?;
        self.machine.trim_pool(&pool, keep);
        Ok(())
    }

    /// Resolves a stream of the current context that is not capturing.
    fn pool_stream(&self, raw: usize) -> Result<(StreamKey, &Stream)> {
        let (key, stream) = self.explicit_stream(raw)?.ok_or(Error::Null("stream"))?;
        let (context, _) = self.context()?;
        if stream.context() != Some(context) {
            return fail(self.machine.other_context("stream", stream, context));
        }
        if stream.refuses_tasks() {
            return fail(Error::CaptureDefault);
        }
        if stream.is_redirected() {
            return fail(Error::Feature("memory pools cannot be used in a capture".to_owned()));
        }
        Ok((key, stream))
    }

    /// Resolves a pool handle.
    fn pool(&self, raw: usize) -> Result<(PoolKey, Arc<PoolMemory>)> {
        let unknown = || Error::Handle { what: HandleKind::MemoryPool, handle: raw };
        let key = PoolKey::from_raw(raw).ok_or_else(unknown)?;
        let slot = self.machine.pools.all.get(key).ok_or_else(unknown)?;
        let pool = lock(&slot.memory).clone().ok_or_else(unknown)?;
        Ok((key, pool))
    }
}

impl Machine {
    /// Reuses a block, or allocates one within the limit of the pool.
    fn allocate_from(&self, pool: &Arc<PoolMemory>, size: usize, stream: StreamKey) -> Result<usize> {
        let is_done = |at: StreamPoint| self.streams.slot(at.stream).tasks.completion.done() >= at.sequence;
        let reused = lock(&pool.state).reuse(size, stream, is_done, self.is_guarded());
        if let Some(reuse) = reused {
            let start = match reuse {
                Reuse::BeingFreed(start) => start,
                Reuse::Retained(start) => {
                    self.memory.device(pool.device).revive(start, size);
                    start
                }
            };
            if let Some(observer) = self.observer() {
                let newest = StreamPoint { stream, sequence: self.streams.slot(stream).newest() };
                observer.block_changed(BlockChange::Allocated { start, size }, Some(newest.into()));
            }
            return Ok(start);
        }
        let full = || {
            let used = lock(&pool.state).reserved.now;
            let (free, total) = (pool.limit.saturating_sub(used), pool.limit);
            Error::OutOfMemory { pool: MemoryPool::DevicePool(pool.device), asked: size, free, total }
        };
        let max_reserved = pool.limit.checked_sub(size.next_multiple_of(PAGE)).ok_or_else(full)?;
        self.trim_pool(pool, max_reserved);
        let is_reserved = lock(&pool.state).reserve(size, max_reserved);
        if !is_reserved {
            return fail(full());
        }
        let start = self.allocate_on(pool.device, size).inspect_err(|_| lock(&pool.state).unreserve(size))?;
        self.pools.add_block(pool, &mut lock(&pool.state), start, size);
        Ok(start)
    }

    /// Finishes the release of a block. Everything that used it is done at `at`.
    pub(crate) fn finish_release(&self, pending: &PendingFree, at: StreamPoint) {
        self.pools.finish_free(pending, at, || {
            self.memory.device(pending.pool.device).retain(pending.start);
        });
    }

    /// Emits that a pool released memory. The pool has checked that its users are done, so the program did not have to
    /// wait for them.
    fn emit_pool_release(&self, device: u32, start: usize, at: StreamPoint) {
        if let Some(observer) = self.observer() {
            observer.waited(at.into());
            observer.freed(MemoryKind::Device(device), start);
        }
    }

    /// Releases retained blocks until at most `keep` bytes are reserved.
    fn trim_pool(&self, pool: &PoolMemory, keep: usize) {
        let device = pool.device;
        let released_any = self.pools.trim(pool, keep, |start, at| {
            self.emit_pool_release(device, start, at);
            self.memory
                .device(device)
                .discard(start, |len| self.quarantine_until(self.memory.backing_address(start), len));
        });
        if released_any {
            self.memory.trim(device);
        }
    }

    /// Called after a program-visible wait. Releases idle quarantined memory and trims pools to their thresholds.
    #[inline]
    pub(crate) fn trim_after_wait(&self) {
        self.memory.release_quarantined();
        self.trim_pools();
    }

    fn trim_pools(&self) {
        for pool in self.pools.non_empty() {
            let keep = lock(&pool.state).retained_bytes();
            self.trim_pool(&pool, keep);
        }
    }

    /// Releases everything that the pools of a device retain. Called when the device runs out of memory.
    pub(crate) fn trim_pools_of(&self, device: u32) {
        for pool in self.pools.non_empty().iter().filter(|pool| pool.device == device) {
            self.trim_pool(pool, 0);
        }
    }
}
