//! A queue with many writers and one reader, which can be closed permanently.
//!
//! No item is lost: `put` rejects it, `fetch` returns it, or `close` returns it.

use crate::facade::{Mutex, lock};
use crate::wait_queue::WaitQueue;
use std::collections::VecDeque;
#[cfg(not(loom))]
use std::time::Instant;

/// A closable queue on which a thread can wait.
pub struct Inbox<T> {
    /// `None` if the inbox is closed.
    items: Mutex<Option<VecDeque<T>>>,
    waiters: WaitQueue,
}

impl<T> Default for Inbox<T> {
    fn default() -> Self {
        Inbox { items: Mutex::new(Some(VecDeque::new())), waiters: WaitQueue::default() }
    }
}

impl<T> Inbox<T> {
    /// Appends an item. Returns `false`, dropping the item, if the inbox is closed.
    pub fn put(&self, item: T) -> bool {
        let is_open = lock(&self.items).as_mut().map(|items| items.push_back(item)).is_some();
        self.waiters.wake_all();
        is_open
    }

    /// Removes and returns the oldest item.
    pub fn fetch(&self) -> Option<T> {
        lock(&self.items).as_mut().and_then(VecDeque::pop_front)
    }

    /// Closes the inbox, wakes all waiters, and returns the items that were not fetched.
    pub fn close(&self) -> VecDeque<T> {
        let rest = lock(&self.items).take();
        self.waiters.wake_all();
        rest.unwrap_or_default()
    }

    /// Removes and returns the items for which `is_unwanted` holds.
    #[cfg(not(loom))]
    pub fn remove_if(&self, is_unwanted: impl Fn(&T) -> bool) -> VecDeque<T> {
        let mut items = lock(&self.items);
        let Some(items) = items.as_mut() else { return VecDeque::new() };
        let (removed, kept) = items.drain(..).partition(is_unwanted);
        *items = kept;
        removed
    }

    #[cfg(not(loom))]
    pub fn is_closed(&self) -> bool {
        lock(&self.items).is_none()
    }

    /// Waits until the inbox has an item or is closed. Returns `false` if `deadline` passes first.
    #[cfg(not(loom))]
    pub fn wait(&self, deadline: Option<Instant>) -> bool {
        self.waiters.wait_until(deadline, || self.is_ready())
    }

    /// Waits until the inbox has an item or is closed.
    #[cfg(loom)]
    pub fn wait(&self) {
        self.waiters.wait(|| self.is_ready());
    }

    fn is_ready(&self) -> bool {
        lock(&self.items).as_ref().is_none_or(|items| !items.is_empty())
    }
}
