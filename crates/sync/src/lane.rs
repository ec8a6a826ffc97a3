//! The lane of a stream: what is queued and what may start now. A pure state machine.
//!
//! No threads, no clock, no locks, no memory: the stream keeps its lane behind a mutex, and a driver
//! asks. At most one executor holds the claim; it alone runs tasks, strictly in order.

use std::collections::VecDeque;

/// A place in a stream: everything up to and including task `sequence`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point<K> {
    pub stream: K,
    pub sequence: u64,
}

/// What the front of the lane needs before it may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness<K> {
    Ready,
    /// Another stream must come this far first.
    After(Point<K>),
    /// Something outside the streams must happen first, and will say so.
    Unknown,
}

/// Why nothing was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotStarted<K> {
    Empty,
    /// Another executor holds the claim.
    Claimed,
    Blocked(Readiness<K>),
}

#[derive(Debug)]
pub struct Lane<T, K> {
    /// Taken out by an executor and put back; comes before `queue`.
    front: VecDeque<T>,
    queue: VecDeque<T>,
    /// An empty queue that keeps its room.
    spare: VecDeque<T>,
    submitted: u64,
    /// Numbers up to here belong to tasks that were dropped, or that came before those.
    dropped: u64,
    claimed: bool,
    listed: bool,
    /// What the front was last seen to wait for, so that it is watched for once only.
    watched: Option<Point<K>>,
    /// Streams to list again when this one has come far enough.
    watchers: Vec<(u64, K)>,
}

impl<T, K> Default for Lane<T, K> {
    fn default() -> Self {
        Lane {
            front: VecDeque::new(),
            queue: VecDeque::new(),
            spare: VecDeque::new(),
            submitted: 0,
            dropped: 0,
            claimed: false,
            listed: false,
            watched: None,
            watchers: Vec::new(),
        }
    }
}

impl<T, K: Copy + PartialEq> Lane<T, K> {
    /// The number of the newest task.
    pub fn submitted(&self) -> u64 {
        self.submitted
    }

    /// The number of the newest dropped task.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    pub fn is_claimed(&self) -> bool {
        self.claimed
    }

    /// Whether a queued task is like that.
    pub fn any(&self, like: impl FnMut(&T) -> bool) -> bool {
        self.front.iter().chain(&self.queue).any(like)
    }

    /// Whether the first and the last queued task are like that.
    pub fn ends(&self, like: impl Fn(&T) -> bool) -> bool {
        self.first().is_some_and(&like) && self.queue.back().is_none_or(&like)
    }

    /// Nothing queued and nothing running.
    pub fn is_idle(&self) -> bool {
        self.is_empty() && !self.claimed
    }

    fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.front.is_empty()
    }

    fn first(&self) -> Option<&T> {
        self.front.front().or_else(|| self.queue.front())
    }

    /// Appends a task and gives it its number.
    pub fn push(&mut self, task: T) -> u64 {
        self.queue.push_back(task);
        self.submitted += 1;
        self.submitted
    }

    /// The same for a task that is made where it will lie. Made first and moved there, its words would
    /// be read back before they have arrived in memory, which takes longer than all the rest.
    #[inline]
    pub fn push_made(&mut self, make: impl FnOnce() -> T) -> u64 {
        if self.queue.len() == self.queue.capacity() {
            return self.push_growing(make());
        }
        self.push(make())
    }

    #[cold]
    #[inline(never)]
    fn push_growing(&mut self, task: T) -> u64 {
        self.push(task)
    }

    /// Numbers a task that is done on the spot. Only while idle.
    pub fn push_completed(&mut self) -> u64 {
        debug_assert!(self.is_idle());
        self.submitted += 1;
        self.submitted
    }

    /// Claims the lane for the task at its front.
    pub fn claim(&mut self, readiness: impl FnOnce(&T) -> Readiness<K>) -> Result<(T, u64), NotStarted<K>> {
        if self.claimed {
            return Err(NotStarted::Claimed);
        }
        let front = self.first().ok_or(NotStarted::Empty)?;
        match readiness(front) {
            Readiness::Ready => {
                self.claimed = true;
                self.watched = None;
                Ok(self.pop())
            }
            blocked => Err(NotStarted::Blocked(blocked)),
        }
    }

    /// Takes out tasks behind the claimed one, in order, without looking at them: the lock is held for
    /// a moment only, however many there are. What is not started goes back with `put_back`.
    pub fn take(&mut self) -> VecDeque<T> {
        debug_assert!(self.claimed);
        if !self.front.is_empty() {
            return std::mem::take(&mut self.front);
        }
        let fresh = if self.spare.capacity() > 0 { &mut self.spare } else { &mut self.front };
        std::mem::replace(&mut self.queue, std::mem::take(fresh))
    }

    /// Takes back what was not started. What was dropped meanwhile is returned to be dropped.
    pub fn put_back(&mut self, rest: VecDeque<T>, newest: u64) -> Option<VecDeque<T>> {
        debug_assert!(self.claimed && self.front.is_empty());
        if rest.is_empty() {
            self.spare = rest;
        } else if newest <= self.dropped {
            return Some(rest);
        } else {
            self.front = rest;
        }
        None
    }

    /// Gives the claim back with the task, which goes on later. It comes back when everything was dropped meanwhile: then it
    /// ends here.
    pub fn give_back(&mut self, task: T, sequence: u64) -> Option<T> {
        if sequence <= self.dropped {
            return Some(task);
        }
        self.front.push_front(task);
        self.release();
        None
    }

    /// Gives the claim back.
    pub fn release(&mut self) {
        debug_assert!(self.claimed);
        self.claimed = false;
    }

    /// Whether a driver must be told about this lane now. It is told once, until it takes the lane up.
    pub fn mark_ready(&mut self) -> bool {
        let news = !self.is_empty() && !self.claimed && !self.listed;
        self.listed |= news;
        news
    }

    /// A driver takes the lane up.
    pub fn clear_ready(&mut self) {
        self.listed = false;
    }

    /// Whether the front has to be watched for at `point`, and was not before.
    pub fn watches(&mut self, point: Point<K>) -> bool {
        let news = self.watched != Some(point);
        self.watched = Some(point);
        news
    }

    /// Another stream wants to be listed when this one has finished `sequence`.
    pub fn add_watcher(&mut self, sequence: u64, stream: K) {
        self.watchers.push((sequence, stream));
    }

    /// Watchers whose wait is over.
    pub fn take_watchers(&mut self, done: u64) -> Vec<K> {
        if self.watchers.is_empty() {
            return Vec::new();
        }
        let mut over = Vec::new();
        self.watchers.retain(|(sequence, stream)| {
            let keep = *sequence > done;
            if !keep {
                over.push(*stream);
            }
            keep
        });
        over
    }

    /// Drops everything that has not started. Their numbers count as finished once the running
    /// task is.
    pub fn clear(&mut self) -> Vec<T> {
        self.dropped = self.submitted;
        self.front.drain(..).chain(self.queue.drain(..)).collect()
    }

    fn pop(&mut self) -> (T, u64) {
        let sequence = self.submitted + 1 - (self.front.len() + self.queue.len()) as u64;
        let first = self.front.pop_front().or_else(|| self.queue.pop_front());
        (first.expect("the front was just looked at"), sequence)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    type TestLane = Lane<&'static str, u32>;
    fn ready(_: &&'static str) -> Readiness<u32> {
        Readiness::Ready
    }

    #[test]
    fn tasks_start_in_order_and_one_at_a_time() {
        let mut lane = TestLane::default();
        assert_eq!(lane.claim(ready), Err(NotStarted::Empty));
        assert_eq!((lane.push("a"), lane.push("b"), lane.push("c")), (1, 2, 3));
        assert_eq!(lane.claim(ready), Ok(("a", 1)));
        assert_eq!(lane.claim(ready), Err(NotStarted::Claimed));
        assert!(!lane.ends(|task| *task == "c"));
        let mut rest = lane.take();
        assert_eq!(lane.push("d"), 4);
        assert_eq!(rest.pop_front(), Some("b"));
        assert!(lane.put_back(rest, 3).is_none());
        assert!(lane.ends(|task| *task > "b") && !lane.ends(|task| *task == "c"));
        assert!(!lane.is_idle());
        lane.release();
        assert_eq!(lane.claim(ready), Ok(("c", 3)));
        lane.release();
        assert_eq!(lane.claim(ready), Ok(("d", 4)));
        assert_eq!(lane.take().len(), 0);
        lane.release();
        assert!(lane.is_idle());
        assert_eq!(lane.push_completed(), 5);
    }

    #[test]
    fn what_is_dropped_while_an_executor_has_it_stays_dropped() {
        let mut lane = TestLane::default();
        lane.push("a");
        lane.push("b");
        lane.claim(ready).unwrap();
        let rest = lane.take();
        assert!(lane.clear().is_empty());
        assert_eq!(lane.put_back(rest, 2).unwrap(), ["b"]);
        assert_eq!(lane.push("c"), 3);
        lane.release();
        assert_eq!(lane.claim(ready), Ok(("c", 3)));
    }

    #[test]
    fn a_task_that_goes_on_later_keeps_its_number() {
        let mut lane = TestLane::default();
        lane.push("a");
        lane.push("b");
        assert_eq!(lane.claim(ready), Ok(("a", 1)));
        assert_eq!(lane.give_back("rest of a", 1), None);
        assert_eq!(lane.claim(ready), Ok(("rest of a", 1)));
        assert_eq!(lane.clear(), ["b"]);
        assert_eq!(lane.give_back("rest of a", 1), Some("rest of a"));
        assert_eq!(lane.push("c"), 3);
        lane.release();
        assert_eq!(lane.claim(ready), Ok(("c", 3)));
    }

    #[test]
    fn a_blocked_front_blocks_the_lane_and_is_watched_once() {
        let mut lane = TestLane::default();
        lane.push("wait");
        lane.push("after");
        let point = Point { stream: 7, sequence: 9 };
        let blocked = lane.claim(|_| Readiness::After(point));
        assert_eq!(blocked, Err(NotStarted::Blocked(Readiness::After(point))));
        assert!(lane.watches(point));
        assert!(!lane.watches(point));
        assert_eq!(lane.claim(ready), Ok(("wait", 1)));
        assert!(lane.watches(point), "a new task may wait for the same point again");
    }

    #[test]
    fn a_lane_is_listed_once_until_it_is_taken_up() {
        let mut lane = TestLane::default();
        assert!(!lane.mark_ready());
        lane.push("a");
        assert!(lane.mark_ready());
        assert!(!lane.mark_ready());
        lane.clear_ready();
        assert!(lane.mark_ready());
        lane.clear_ready();
        lane.claim(ready).unwrap();
        lane.push("b");
        assert!(!lane.mark_ready(), "the executor goes on by itself");
        lane.release();
        assert!(lane.mark_ready());
    }

    #[test]
    fn watchers_are_told_when_their_task_is_done() {
        let mut lane = TestLane::default();
        lane.add_watcher(2, 20);
        lane.add_watcher(1, 10);
        lane.add_watcher(3, 30);
        assert_eq!(lane.take_watchers(2), [20, 10]);
        assert_eq!(lane.take_watchers(2), []);
        assert_eq!(lane.take_watchers(3), [30]);
    }

    #[test]
    fn cleared_tasks_keep_their_numbers() {
        let mut lane = TestLane::default();
        lane.push("a");
        lane.claim(ready).unwrap();
        lane.push("b");
        assert_eq!(lane.clear(), ["b"]);
        lane.release();
        assert_eq!(lane.push("c"), 3);
        assert_eq!(lane.claim(ready), Ok(("c", 3)));
    }
}
