//! The queue of a stream and which of its tasks may start: a pure state machine.
//!
//! A lane contains no threads, clocks, locks or device memory. `SharedLane` keeps it behind a mutex. At most one
//! executing thread holds the claim; only that thread runs tasks of the lane, strictly in order.

use std::collections::VecDeque;

/// A position in a stream: everything up to and including task `sequence`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point<K> {
    pub stream: K,
    pub sequence: u64,
}

/// Whether the front task of a lane may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness<K> {
    Ready,
    /// Another stream must reach this point first.
    After(Point<K>),
    /// An external condition must hold first. Its source marks the lane ready.
    Unknown,
}

/// Why a claim attempt started nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotStarted<K> {
    Empty,
    /// Another thread holds the claim.
    Claimed,
    Blocked(Readiness<K>),
}

/// The queued tasks of a stream, the claim, and the streams that wait for it.
#[derive(Debug)]
pub struct Lane<T, K> {
    /// Tasks that the holder of the claim took and put back. They precede `queue`.
    front: VecDeque<T>,
    queue: VecDeque<T>,
    /// An empty queue whose buffer is reused.
    spare: VecDeque<T>,
    submitted: u64,
    /// Tasks up to this sequence number were dropped, or precede a dropped one.
    dropped: u64,
    claimed: bool,
    /// In the ready queue of the executor.
    in_ready_queue: bool,
    /// The point that the front waits for, if the lane registered as its watcher. Prevents a second registration.
    watched: Option<Point<K>>,
    /// Streams to mark ready when this lane finishes the given task.
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
            in_ready_queue: false,
            watched: None,
            watchers: Vec::new(),
        }
    }
}

impl<T, K: Copy + PartialEq> Lane<T, K> {
    /// The sequence number of the latest submitted task.
    pub fn submitted(&self) -> u64 {
        self.submitted
    }

    /// The sequence number of the latest dropped task.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    pub fn is_claimed(&self) -> bool {
        self.claimed
    }

    /// True if `matches` holds for a queued task.
    pub fn any(&self, matches: impl FnMut(&T) -> bool) -> bool {
        self.front.iter().chain(&self.queue).any(matches)
    }

    /// The queued tasks in their order, with their sequence numbers. Tasks that the holder of the claim took are absent.
    pub fn queued(&self) -> impl Iterator<Item = (u64, &T)> {
        let first = self.submitted + 1 - (self.front.len() + self.queue.len()) as u64;
        (first..).zip(self.front.iter().chain(&self.queue))
    }

    /// True if `matches` holds for the first and the last queued task. Only the first is tested while `queue` is empty.
    pub fn ends(&self, matches: impl Fn(&T) -> bool) -> bool {
        self.first().is_some_and(&matches) && self.queue.back().is_none_or(&matches)
    }

    /// True if nothing is queued and nothing runs.
    pub fn is_idle(&self) -> bool {
        self.is_empty() && !self.claimed
    }

    fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.front.is_empty()
    }

    fn first(&self) -> Option<&T> {
        self.front.front().or_else(|| self.queue.front())
    }

    /// The task that runs next and its sequence number, if no thread holds the claim.
    pub fn next(&self) -> Option<(&T, u64)> {
        let sequence = self.submitted + 1 - (self.front.len() + self.queue.len()) as u64;
        self.first().filter(|_| !self.claimed).map(|task| (task, sequence))
    }

    /// Appends a task. Returns its sequence number.
    pub fn push(&mut self, task: T) -> u64 {
        self.queue.push_back(task);
        self.submitted += 1;
        self.submitted
    }

    /// Constructs a task in place and appends it. Returns its sequence number. Building the task on the stack and
    /// moving it causes store-forwarding stalls that dominate the cost of a submit.
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

    /// Assigns a sequence number to a task that runs inline. The lane must be idle.
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

    /// Removes the tasks after the claimed one, in order, in constant time: the lane lock is held briefly however many
    /// there are. Tasks that are not started must be returned with `put_back`.
    pub fn take(&mut self) -> VecDeque<T> {
        debug_assert!(self.claimed);
        if !self.front.is_empty() {
            return std::mem::take(&mut self.front);
        }
        let fresh = if self.spare.capacity() > 0 { &mut self.spare } else { &mut self.front };
        std::mem::replace(&mut self.queue, std::mem::take(fresh))
    }

    /// Returns tasks that were not started to the lane. If the lane was cleared since `take`, returns them instead, for
    /// the caller to drop. `newest` is the sequence number of the last of them.
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

    /// Puts an unfinished task back to the front and releases the claim. If the lane was cleared since the claim,
    /// returns the task and keeps the claim: the task then ends here.
    pub fn give_back(&mut self, task: T, sequence: u64) -> Option<T> {
        if sequence <= self.dropped {
            return Some(task);
        }
        self.front.push_front(task);
        self.release();
        None
    }

    /// Releases the claim.
    pub fn release(&mut self) {
        debug_assert!(self.claimed);
        self.claimed = false;
    }

    /// Returns `true` if the lane must enter the ready queue now. It enters at most once before `clear_ready`.
    pub fn mark_ready(&mut self) -> bool {
        let enters = !self.is_empty() && !self.claimed && !self.in_ready_queue;
        self.in_ready_queue |= enters;
        enters
    }

    /// Called by the executor when it takes the lane from the ready queue.
    pub fn clear_ready(&mut self) {
        self.in_ready_queue = false;
    }

    /// Returns `true` if the lane must register as a watcher of `point`, `false` if it already has.
    pub fn watches(&mut self, point: Point<K>) -> bool {
        let is_new = self.watched != Some(point);
        self.watched = Some(point);
        is_new
    }

    /// Registers a stream to be marked ready when this lane has finished task `sequence`.
    pub fn add_watcher(&mut self, sequence: u64, stream: K) {
        self.watchers.push((sequence, stream));
    }

    /// Removes and returns the watchers of tasks up to `done`.
    pub fn take_watchers(&mut self, done: u64) -> Vec<K> {
        if self.watchers.is_empty() {
            return Vec::new();
        }
        let mut reached = Vec::new();
        self.watchers.retain(|(sequence, stream)| {
            let keep = *sequence > done;
            if !keep {
                reached.push(*stream);
            }
            keep
        });
        reached
    }

    /// Removes and returns the tasks that have not started. Their sequence numbers count as finished as soon as the
    /// running task is.
    pub fn clear(&mut self) -> Vec<T> {
        self.dropped = self.submitted;
        self.front.drain(..).chain(self.queue.drain(..)).collect()
    }

    fn pop(&mut self) -> (T, u64) {
        let sequence = self.submitted + 1 - (self.front.len() + self.queue.len()) as u64;
        let first = self.front.pop_front().or_else(|| self.queue.pop_front());
        (first.expect("the caller found a front task"), sequence)
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
    fn taken_tasks_of_a_cleared_lane_are_dropped() {
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
    fn task_that_is_given_back_keeps_its_sequence_number() {
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
    fn blocked_front_blocks_the_lane_and_registers_one_watcher() {
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
    fn lane_enters_the_ready_queue_once_until_it_is_cleared() {
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
        assert!(!lane.mark_ready(), "the holder of the claim runs it");
        lane.release();
        assert!(lane.mark_ready());
    }

    #[test]
    fn watchers_are_collected_when_their_task_is_done() {
        let mut lane = TestLane::default();
        lane.add_watcher(2, 20);
        lane.add_watcher(1, 10);
        lane.add_watcher(3, 30);
        assert_eq!(lane.take_watchers(2), [20, 10]);
        assert_eq!(lane.take_watchers(2), []);
        assert_eq!(lane.take_watchers(3), [30]);
    }

    #[test]
    fn cleared_tasks_keep_their_sequence_numbers() {
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
