//! Values: queueing writes and waits.

use crate::caller::{Caller, Submission};
use crate::keys::{StreamKey, StreamPoint};
use crate::machine::Machine;
use crate::observer::{Advisory, Mark};
use crate::stream::Stream;
use crate::task::Control;
use crate::task::external_wait::{ExternalWait, ValueCondition, WaitCondition};
use crate::task::kind::TaskKind;
use crate::task::moves::Move;
use softacl_errors::{Error, Result, fail};
use softacl_memory::bytes;
use softacl_memory::{MemoryKind, ResolvedAddress};
use softacl_sync::facade::lock;
use std::sync::Arc;

impl Caller<'_> {
    /// Queues a write of a 64-bit value.
    pub fn write_value(&self, address: usize, value: u64, stream: usize) -> Result<()> {
        let (key, stream, resolved) = self.value_cell(address, stream)?;
        let (context, _) = self.context()?;
        let task = Move::WriteValue { target: resolved.reach, value };
        let sequence = self.machine.submit(key, stream, context, task)?;
        if !address.is_multiple_of(size_of::<u64>()) {
            self.machine.advise(|| Advisory::UnalignedValue(address));
        }
        self.machine.pair_write(resolved.reach, value, StreamPoint { stream: key, sequence });
        Ok(())
    }

    /// Queues a wait until a 64-bit value meets a condition.
    pub fn wait_value(&self, address: usize, value: u64, condition: ValueCondition, stream: usize) -> Result<()> {
        let (key, stream, resolved) = self.value_cell(address, stream)?;
        let (context, _) = self.context()?;
        let wait = ExternalWait::new(WaitCondition::Value { backing: resolved.reach, value, condition });
        let submit = |wait| self.machine.submit(key, stream, context, Control::Await(Arc::new(wait)));
        if self.machine.observer().is_none() {
            return submit(wait).map(|_| ());
        }
        let point = self.machine.next_point(key);
        let after = self.machine.pair_wait(resolved.reach, value, condition, point);
        let submitted = submit(wait.after(after));
        if submitted.as_ref().map_or(0, |sequence| *sequence) == 0 {
            // The wait was refused or captured, so no write resolves it.
            lock(&self.machine.values).waits.retain(|(_, wait, ..)| *wait != point);
        }
        submitted.map(|_| ())
    }

    /// Queues a mark: a no-op that an observer shows with this text.
    pub fn queue_mark(&self, text: &str, stream: usize) -> Result<()> {
        let Submission { key, stream, context } = self.submission(self.explicit_stream(stream)?)?;
        let sequence = self.machine.submit(key, stream, context, Control::Nothing(TaskKind::Mark))?;
        // A captured task has no number.
        if let Some(observer) = self.machine.observer().filter(|_| sequence != 0) {
            observer.marked(&Mark::Label { at: StreamPoint { stream: key, sequence }.into(), text });
        }
        Ok(())
    }

    /// Resolves a stream and an 8-byte cell of device memory that its device can access.
    fn value_cell(&self, address: usize, stream: usize) -> Result<(StreamKey, &Stream, ResolvedAddress)> {
        let explicit = self.explicit_stream(stream)?;
        let resolved = self.machine.memory.finder().find("value", address)?;
        let MemoryKind::Device(device) = resolved.place else {
            return fail(Error::NotDeviceMemory { address, kind: resolved.describe() });
        };
        resolved.covers("value", size_of::<u64>())?;
        let Submission { key, stream, .. } = self.submission(explicit)?;
        self.machine.check_peers(stream.device(), device)?;
        Ok((key, stream, resolved))
    }
}

impl Machine {
    /// Records a write and emits its order before the waits that it resolves.
    fn pair_write(&self, cell: usize, value: u64, point: StreamPoint) {
        // A captured write has no point yet.
        let Some(observer) = self.observer().filter(|_| point.sequence != 0) else { return };
        let mut values = lock(&self.values);
        values.writes.insert(cell, (point, value));
        values.waits.retain(|(waited, wait, wanted, condition)| {
            let meets = *waited == cell && condition.holds(value, *wanted);
            if meets {
                observer.ordered((*wait).into(), point.into());
            }
            !meets
        });
    }

    /// Returns the queued write that resolves a wait, or registers the wait.
    fn pair_wait(&self, cell: usize, value: u64, condition: ValueCondition, wait: StreamPoint) -> Option<StreamPoint> {
        let mut values = lock(&self.values);
        let write = values.writes.get(&cell).filter(|(_, written)| condition.holds(*written, value));
        // Something else may have changed the cell since. Then this write is not what the wait reads.
        let stands = |point: &StreamPoint| {
            let is_over = self.streams.slot(point.stream).tasks.completion.done() >= point.sequence;
            // SAFETY: the cell is in device memory that a `Caller` named, resolved and bounded when the task was made.
            !is_over
                || unsafe { bytes::read(cell) }.is_ok_and(|found| condition.holds(u64::from_le_bytes(found), value))
        };
        let write = write.map(|(point, _)| *point).filter(stands);
        if write.is_none() {
            values.waits.push((cell, wait, value, condition));
        }
        write
    }
}
