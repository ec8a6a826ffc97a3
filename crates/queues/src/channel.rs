//! Channels: named, bounded lists of tensor lists.
//!
//! Handles with the same device and name share one channel, which ends with its last handle. A stopped handle never
//! waits again, and threads that wait on it continue. `changed` wakes waiting threads after every change; the waking
//! thread has released the lock of the contents.

use crate::timeout::Timeout;
use softacl_errors::{Error, HandleKind as Kind, Result, fail};
use softacl_sync::facade::{AtomicBool, Mutex, Ordering, lock};
use softacl_sync::handle::{HandleKind, Key, Slots};
use softacl_sync::wait_queue::WaitQueue;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};

/// Capacity of a channel that was opened without one.
pub const DEFAULT_CAPACITY: usize = 128;

/// Kind of the handles of channels.
#[derive(Debug)]
pub enum ChannelTag {}

impl HandleKind for ChannelTag {
    const NUMBER: u8 = 8;
}

/// The handle of a channel.
pub type ChannelKey = Key<ChannelTag>;

/// One tensor as it travels: its description and a copy of its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tensor {
    /// An `acltdtTensorType`, which is not interpreted.
    pub kind: i32,
    pub data_type: i32,
    pub dimensions: Vec<i64>,
    pub data: Vec<u8>,
}

/// The contents of a channel, shared by its handles.
#[derive(Debug)]
struct Pipe {
    capacity: usize,
    lists: Mutex<VecDeque<Vec<Tensor>>>,
}

/// One handle of a channel.
#[derive(Debug)]
struct End {
    pipe: Arc<Pipe>,
    name: String,
    is_stopped: AtomicBool,
}

/// All channels of the process.
#[derive(Default)]
pub struct Channels {
    ends: Slots<Mutex<Option<Arc<End>>>, ChannelTag>,
    /// Pipes by device and name.
    pipes: Mutex<BTreeMap<(u32, String), Weak<Pipe>>>,
    changed: WaitQueue,
}

impl Channels {
    /// Opens the channel of this name on a device. The first handle decides about the capacity.
    pub fn open(&self, device: u32, name: String, capacity: usize) -> Result<ChannelKey> {
        if capacity == 0 {
            return fail(Error::Argument("the capacity of the channel is 0".to_owned()));
        }
        let mut pipes = lock(&self.pipes);
        pipes.retain(|_, pipe| pipe.strong_count() > 0);
        let place = (device, name.clone());
        let existing = pipes.get(&place).and_then(Weak::upgrade);
        let pipe = existing.unwrap_or_else(|| Arc::new(Pipe { capacity, lists: Mutex::new(VecDeque::new()) }));
        pipes.insert(place, Arc::downgrade(&pipe));
        let end = Arc::new(End { pipe, name, is_stopped: AtomicBool::new(false) });
        match self.ends.insert(|slot, _| *lock(slot) = Some(end)) {
            Some(key) => Ok(key),
            None => fail(Error::NoHandle("channel")),
        }
    }

    /// Closes a handle. Threads that wait on it continue, and fail.
    pub fn close(&self, raw: usize) -> Result<()> {
        let end = self.end(raw)?;
        let key = ChannelKey::from_raw(raw).filter(|key| self.ends.retire(*key));
        let Some(key) = key else { return fail(not_live(raw)) };
        drop(lock(self.ends.slot(key)).take());
        self.ends.recycle(key);
        end.is_stopped.store(true, Ordering::Release);
        self.changed.wake_all();
        Ok(())
    }

    /// Makes every call on this handle return without waiting, from now on.
    pub fn stop(&self, raw: usize) -> Result<()> {
        self.end(raw)?.is_stopped.store(true, Ordering::Release);
        self.changed.wake_all();
        Ok(())
    }

    /// Appends a list, and waits while the channel is full.
    pub fn send(&self, raw: usize, list: Vec<Tensor>, timeout: Timeout) -> Result<()> {
        let end = self.end(raw)?;
        let mut list = Some(list);
        let mut push = |lists: &mut VecDeque<Vec<Tensor>>| {
            let has_room = lists.len() < end.pipe.capacity;
            has_room.then(|| lists.extend(list.take()))
        };
        let has_room = |lists: &VecDeque<_>| lists.len() < end.pipe.capacity;
        match self.wait_for(&end, timeout, has_room, &mut push) {
            Some(()) => Ok(()),
            None => {
                let capacity = end.pipe.capacity;
                fail(Error::QueueFull(format!(
                    "channel {:?} still has {capacity} lists, its capacity{timeout}",
                    end.name
                )))
            }
        }
    }

    /// Removes the oldest list, and waits while the channel is empty. Returns it with the name of the channel.
    pub fn receive(&self, raw: usize, timeout: Timeout) -> Result<(String, Vec<Tensor>)> {
        let end = self.end(raw)?;
        let has_list = |lists: &VecDeque<_>| !lists.is_empty();
        match self.wait_for(&end, timeout, has_list, &mut VecDeque::pop_front) {
            Some(list) => Ok((end.name.clone(), list)),
            None => fail(Error::QueueEmpty(format!("channel {:?} is still empty{timeout}", end.name))),
        }
    }

    /// Discards the contents.
    pub fn clean(&self, raw: usize) -> Result<()> {
        lock(&self.end(raw)?.pipe.lists).clear();
        self.changed.wake_all();
        Ok(())
    }

    /// Number of lists in the channel.
    pub fn len(&self, raw: usize) -> Result<usize> {
        Ok(lock(&self.end(raw)?.pipe.lists).len())
    }

    /// Applies `take` until it returns a value. `None` if the timeout ends first, or the handle is stopped.
    fn wait_for<T>(
        &self,
        end: &End,
        timeout: Timeout,
        is_ready: impl Fn(&VecDeque<Vec<Tensor>>) -> bool,
        take: &mut dyn FnMut(&mut VecDeque<Vec<Tensor>>) -> Option<T>,
    ) -> Option<T> {
        let deadline = timeout.deadline();
        let mut is_waiting = timeout != Timeout::NONE;
        loop {
            let taken = take(&mut lock(&end.pipe.lists));
            if taken.is_some() {
                self.changed.wake_all();
                return taken;
            }
            let is_stopped = || end.is_stopped.load(Ordering::Acquire);
            if !is_waiting || is_stopped() {
                return None;
            }
            is_waiting = self.changed.wait_until(deadline, || is_stopped() || is_ready(&lock(&end.pipe.lists)));
        }
    }

    fn end(&self, raw: usize) -> Result<Arc<End>> {
        let key = ChannelKey::from_raw(raw).filter(|key| self.ends.get(*key).is_some());
        let end = key.and_then(|key| lock(self.ends.slot(key)).clone().filter(|_| self.ends.get(key).is_some()));
        end.ok_or_else(|| Box::new(not_live(raw)))
    }
}

fn not_live(raw: usize) -> Error {
    Error::Handle { what: Kind::Channel, handle: raw }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn list(byte: u8) -> Vec<Tensor> {
        vec![Tensor { kind: 0, data_type: 4, dimensions: vec![1], data: vec![byte] }]
    }

    fn forever() -> Timeout {
        Timeout::from_ms(-1).unwrap()
    }

    #[test]
    fn handles_of_one_name_share_contents_until_the_last_is_closed() {
        let channels = Channels::default();
        let open = |device, name: &str| channels.open(device, name.to_owned(), 2).unwrap().raw();
        let [one, two, other] = [open(0, "a"), open(0, "a"), open(1, "a")];
        channels.send(one, list(1), Timeout::NONE).unwrap();
        assert_eq!((channels.len(two), channels.len(other)), (Ok(1), Ok(0)));
        channels.close(one).unwrap();
        assert!(channels.len(one).is_err() && channels.close(one).is_err());
        assert_eq!(channels.receive(two, Timeout::NONE), Ok(("a".to_owned(), list(1))));
        channels.send(two, list(2), Timeout::NONE).unwrap();
        channels.close(two).unwrap();
        assert_eq!(channels.len(open(0, "a")), Ok(0));
        assert!(channels.open(0, String::new(), 0).is_err());
    }

    #[test]
    fn full_and_empty_channels_are_reported_and_waits_end() {
        let channels = Channels::default();
        let end = channels.open(0, "a".to_owned(), 1).unwrap().raw();
        assert!(matches!(*channels.receive(end, Timeout::from_ms(1).unwrap()).unwrap_err(), Error::QueueEmpty(_)));
        channels.send(end, list(1), Timeout::NONE).unwrap();
        assert!(matches!(*channels.send(end, list(2), Timeout::NONE).unwrap_err(), Error::QueueFull(_)));
        thread::scope(|scope| {
            let sender = scope.spawn(|| channels.send(end, list(2), forever()));
            assert_eq!(channels.receive(end, forever()).unwrap().1, list(1));
            assert_eq!(sender.join().unwrap(), Ok(()));
            assert_eq!(channels.clean(end), Ok(()));
            let receiver = scope.spawn(|| channels.receive(end, forever()));
            channels.stop(end).unwrap();
            assert!(matches!(*receiver.join().unwrap().unwrap_err(), Error::QueueEmpty(_)));
        });
        // A stopped handle does not wait, but still moves what it can.
        channels.send(end, list(3), forever()).unwrap();
        assert!(channels.send(end, list(4), forever()).is_err());
        assert_eq!(channels.receive(end, forever()).unwrap().1, list(3));
    }
}
