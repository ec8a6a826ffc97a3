//! What waits for one thread that comes to fetch it: filled by any thread, closed for good once.
//!
//! Whatever is put in is either fetched or handed to whoever closes, or is refused; nothing is lost between them. What the things are is not
//! known here.

use crate::facade::{Mutex, lock};
use crate::wait_queue::WaitQueue;
use std::collections::VecDeque;
#[cfg(not(loom))]
use std::time::Instant;

pub struct Inbox<T> {
    /// None: closed, nothing comes in any more.
    items: Mutex<Option<VecDeque<T>>>,
    bell: WaitQueue,
}

impl<T> Default for Inbox<T> {
    fn default() -> Self {
        Inbox { items: Mutex::new(Some(VecDeque::new())), bell: WaitQueue::default() }
    }
}

impl<T> Inbox<T> {
    /// `false` when it is closed; then the item is gone.
    pub fn put(&self, item: T) -> bool {
        let is_open = lock(&self.items).as_mut().map(|items| items.push_back(item)).is_some();
        self.bell.wake_all();
        is_open
    }

    pub fn fetch(&self) -> Option<T> {
        lock(&self.items).as_mut().and_then(VecDeque::pop_front)
    }

    /// What nobody has fetched. Whoever waits learns that nothing will come.
    pub fn close(&self) -> VecDeque<T> {
        let left = lock(&self.items).take();
        self.bell.wake_all();
        left.unwrap_or_default()
    }

    /// Takes out what nobody has fetched and `is_unwanted`.
    #[cfg(not(loom))]
    pub fn remove_if(&self, is_unwanted: impl Fn(&T) -> bool) -> VecDeque<T> {
        let mut items = lock(&self.items);
        let Some(items) = items.as_mut() else { return VecDeque::new() };
        let (withdrawn, kept) = items.drain(..).partition(is_unwanted);
        *items = kept;
        withdrawn
    }

    #[cfg(not(loom))]
    pub fn is_closed(&self) -> bool {
        lock(&self.items).is_none()
    }

    /// Sleeps until something is there or nothing will come; `false` when `deadline` came first.
    #[cfg(not(loom))]
    pub fn wait(&self, deadline: Option<Instant>) -> bool {
        self.bell.wait_until(deadline, || self.is_ready())
    }

    #[cfg(loom)]
    pub fn wait(&self) {
        self.bell.sleep(|| self.is_ready());
    }

    fn is_ready(&self) -> bool {
        lock(&self.items).as_ref().is_none_or(|items| !items.is_empty())
    }
}
