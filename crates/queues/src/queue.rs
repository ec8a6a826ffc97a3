//! Queues: bounded lists of messages with ids, and routes that move messages from one queue to others.
//!
//! One lock protects all queues and routes, because a message that enters a queue may move through several. Ids are
//! never reused, so the id of a destroyed queue is not found. `changed` wakes waiting threads after every change; the
//! waking thread has released the lock.

use crate::buffer::USER_DATA;
use crate::timeout::Timeout;
use softacl_errors::{Error, Result, fail};
use softacl_sync::facade::{Mutex, MutexGuard, lock};
use softacl_sync::wait_queue::WaitQueue;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Depth of a queue whose settings do not name one.
pub const DEFAULT_DEPTH: u32 = 128;
/// Maximum depth of a queue.
pub const MAX_DEPTH: u32 = 8192;
/// Maximum number of queues.
const MAX_QUEUES: usize = 8192;

/// Settings of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueSettings {
    pub name: String,
    pub depth: u32,
}

impl Default for QueueSettings {
    fn default() -> Self {
        QueueSettings { name: String::new(), depth: DEFAULT_DEPTH }
    }
}

/// What a queue contains. Queues that a route leads to share one message.
#[derive(Debug, PartialEq, Eq)]
pub struct Message {
    pub data: Vec<u8>,
    /// The start of the user area; the rest counts as zero.
    pub user_data: Vec<u8>,
}

impl Message {
    /// Creates a message. Fails if the user data exceeds the user area.
    pub fn new(data: Vec<u8>, user_data: Vec<u8>) -> Result<Message> {
        check_user_size(user_data.len())?;
        Ok(Message { data, user_data })
    }

    /// Returns the first `size` bytes of the user area.
    pub fn user_area(&self, size: usize) -> Result<Vec<u8>> {
        check_user_size(size)?;
        let mut area = self.user_data.clone();
        area.resize(size, 0);
        Ok(area)
    }
}

/// Checks the size of user data.
pub fn check_user_size(size: usize) -> Result<()> {
    if size <= USER_DATA {
        return Ok(());
    }
    fail(Error::Parameter(format!("{size} bytes of user data exceed the user area of {USER_DATA} bytes")))
}

/// From one queue to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    pub source: u32,
    pub target: u32,
}

#[derive(Debug)]
struct Queue {
    settings: QueueSettings,
    messages: VecDeque<Arc<Message>>,
}

impl Queue {
    fn has_room(&self) -> bool {
        self.messages.len() < self.settings.depth as usize
    }
}

#[derive(Debug, Default)]
struct State {
    queues: BTreeMap<u32, Queue>,
    routes: BTreeSet<Route>,
    next: u32,
}

/// All queues of the process.
#[derive(Default)]
pub struct Queues {
    state: Mutex<State>,
    changed: WaitQueue,
}

impl Queues {
    /// Creates a queue and returns its id.
    pub fn create(&self, settings: QueueSettings) -> Result<u32> {
        let depth = settings.depth;
        if depth == 0 || depth > MAX_DEPTH {
            return fail(Error::Parameter(format!("the depth {depth} of the queue is not in 1 to {MAX_DEPTH}")));
        }
        let mut state = self.state();
        let next = state.next.checked_add(1).filter(|_| state.queues.len() < MAX_QUEUES);
        let Some(next) = next else { return fail(Error::NoHandle("queue")) };
        state.queues.insert(next, Queue { settings, messages: VecDeque::new() });
        state.next = next;
        Ok(next)
    }

    /// Destroys a queue with its messages. Threads that wait for it fail. A queue with routes is refused.
    pub fn destroy(&self, id: u32) -> Result<()> {
        let mut state = self.state();
        state.queue(id)?;
        let bound = state.routes.iter().find(|route| route.source == id || route.target == id);
        if let Some(Route { source, target }) = bound {
            return fail(Error::Parameter(format!(
                "queue {id} is part of the route from queue {source} to queue {target}: unbind it first"
            )));
        }
        state.queues.remove(&id);
        self.wake(state);
        Ok(())
    }

    /// Appends a message, and waits while the queue is full.
    pub fn push(&self, id: u32, message: Message, timeout: Timeout) -> Result<()> {
        let message = Arc::new(message);
        let mut state = self.wait_for(id, timeout, Queue::has_room, |queue| {
            Error::QueueFull(format!("queue {id} still has {} messages, its depth{timeout}", queue.messages.len()))
        })?;
        state.queue(id)?.messages.push_back(message);
        state.forward();
        self.wake(state);
        Ok(())
    }

    /// Removes the oldest message, and waits while the queue is empty.
    pub fn pop(&self, id: u32, timeout: Timeout) -> Result<Arc<Message>> {
        let has_message = |queue: &Queue| !queue.messages.is_empty();
        let mut state = self
            .wait_for(id, timeout, has_message, |_| Error::QueueEmpty(format!("queue {id} is still empty{timeout}")))?;
        let message = state.queue(id)?.messages.pop_front();
        state.forward();
        self.wake(state);
        message.ok_or_else(|| Box::new(Error::QueueEmpty(format!("queue {id} is empty"))))
    }

    /// Puts a message back that could not be delivered. It is dropped if the queue no longer exists.
    pub fn restore(&self, id: u32, message: Arc<Message>) {
        let mut state = self.state();
        if let Some(queue) = state.queues.get_mut(&id) {
            queue.messages.push_front(message);
        }
        self.wake(state);
    }

    /// Activates routes: all of them, or none if one is refused. An active route stays active.
    pub fn bind(&self, routes: &[Route]) -> Result<()> {
        let mut state = self.state();
        let mut bound = state.routes.clone();
        for route in routes {
            state.queue(route.source)?;
            state.queue(route.target)?;
            bound.insert(*route);
            if reaches(&bound, route.target, route.source) {
                return fail(Error::Parameter(format!(
                    "the route from queue {} to queue {} would close a circle",
                    route.source, route.target
                )));
            }
        }
        state.routes = bound;
        state.forward();
        self.wake(state);
        Ok(())
    }

    /// Deactivates routes: all of them, or none if one is not active.
    pub fn unbind(&self, routes: &[Route]) -> Result<()> {
        let mut state = self.state();
        if let Some(Route { source, target }) = routes.iter().find(|route| !state.routes.contains(route)) {
            return fail(Error::Parameter(format!("the route from queue {source} to queue {target} is not bound")));
        }
        state.routes.retain(|route| !routes.contains(route));
        Ok(())
    }

    /// All active routes, ordered by source and target.
    pub fn routes(&self) -> Vec<Route> {
        self.state().routes.iter().copied().collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Releases the lock, then wakes the threads that wait for a change.
    fn wake(&self, state: MutexGuard<'_, State>) {
        drop(state);
        self.changed.wake_all();
    }

    /// Waits until a queue satisfies `condition`, and returns the lock. Fails with `timed_out`, or if the queue does
    /// not exist or is destroyed.
    fn wait_for(
        &self,
        id: u32,
        timeout: Timeout,
        condition: impl Fn(&Queue) -> bool,
        timed_out: impl Fn(&Queue) -> Error,
    ) -> Result<MutexGuard<'_, State>> {
        let deadline = timeout.deadline();
        let mut is_waiting = timeout != Timeout::NONE;
        loop {
            let mut state = self.state();
            let queue = state.queue(id)?;
            if condition(queue) {
                return Ok(state);
            }
            if !is_waiting {
                return fail(timed_out(queue));
            }
            drop(state);
            // A destroyed queue ends the wait, too.
            is_waiting = self.changed.wait_until(deadline, || self.state().queues.get(&id).is_none_or(&condition));
        }
    }
}

impl State {
    fn queue(&mut self, id: u32) -> Result<&mut Queue> {
        match self.queues.get_mut(&id) {
            Some(queue) => Ok(queue),
            None => fail(Error::QueueId(id)),
        }
    }

    /// Moves messages along the routes as far as all targets have room. Terminates because routes form no circle.
    fn forward(&mut self) {
        while let Some(source) = self.next_source() {
            let message = self.queues.get_mut(&source).and_then(|queue| queue.messages.pop_front());
            let Some(message) = message else { return };
            for target in targets(&self.routes, source) {
                if let Some(queue) = self.queues.get_mut(&target) {
                    queue.messages.push_back(Arc::clone(&message));
                }
            }
        }
    }

    /// A queue whose oldest message can move.
    fn next_source(&self) -> Option<u32> {
        let has_room = |target: u32| self.queues.get(&target).is_some_and(Queue::has_room);
        let sources = self.routes.iter().map(|route| route.source);
        let has_message = |source: &u32| self.queues.get(source).is_some_and(|queue| !queue.messages.is_empty());
        sources.filter(has_message).find(|source| targets(&self.routes, *source).all(has_room))
    }
}

/// Queues that the routes of a queue lead to.
fn targets(routes: &BTreeSet<Route>, source: u32) -> impl Iterator<Item = u32> + '_ {
    routes.range(Route { source, target: 0 }..=Route { source, target: u32::MAX }).map(|route| route.target)
}

/// Returns `true` if routes lead from one queue to another, or if both are the same.
fn reaches(routes: &BTreeSet<Route>, from: u32, to: u32) -> bool {
    let (mut seen, mut open) = (BTreeSet::from([from]), vec![from]);
    while let Some(queue) = open.pop() {
        open.extend(targets(routes, queue).filter(|target| seen.insert(*target)));
    }
    seen.contains(&to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn message(byte: u8) -> Message {
        Message::new(vec![byte], Vec::new()).unwrap()
    }

    fn queue(queues: &Queues, depth: u32) -> u32 {
        queues.create(QueueSettings { depth, ..QueueSettings::default() }).unwrap()
    }

    fn pop(queues: &Queues, id: u32) -> Option<u8> {
        queues.pop(id, Timeout::NONE).ok().map(|message| message.data[0])
    }

    #[test]
    fn messages_leave_in_order_and_limits_are_reported() {
        let queues = Queues::default();
        let id = queue(&queues, 2);
        let push = |byte| queues.push(id, message(byte), Timeout::NONE);
        assert_eq!((push(1), push(2)), (Ok(()), Ok(())));
        assert!(matches!(*push(3).unwrap_err(), Error::QueueFull(_)));
        assert!(matches!(*queues.push(id, message(3), Timeout::from_ms(1).unwrap()).unwrap_err(), Error::QueueFull(_)));
        assert_eq!((pop(&queues, id), pop(&queues, id)), (Some(1), Some(2)));
        assert!(matches!(*queues.pop(id, Timeout::NONE).unwrap_err(), Error::QueueEmpty(_)));
        queues.destroy(id).unwrap();
        assert_eq!(push(4), fail(Error::QueueId(id)));
        assert_ne!(queue(&queues, 1), id);
        assert!(queues.create(QueueSettings { depth: 0, ..QueueSettings::default() }).is_err());
    }

    #[test]
    fn waiting_threads_continue_when_the_queue_changes_or_ends() {
        let queues = Queues::default();
        let (full, empty) = (queue(&queues, 1), queue(&queues, 1));
        queues.push(full, message(1), Timeout::NONE).unwrap();
        let forever = Timeout::from_ms(-1).unwrap();
        thread::scope(|scope| {
            let sender = scope.spawn(|| queues.push(full, message(2), forever));
            assert_eq!(queues.pop(full, forever).unwrap().data, [1]);
            assert_eq!(sender.join().unwrap(), Ok(()));
            let receiver = scope.spawn(|| queues.pop(empty, forever));
            queues.destroy(empty).unwrap();
            assert_eq!(receiver.join().unwrap(), fail(Error::QueueId(empty)));
        });
        assert_eq!(pop(&queues, full), Some(2));
    }

    #[test]
    fn routes_move_messages_to_all_targets_that_have_room() {
        let queues = Queues::default();
        let [source, wide, narrow, last] = [4, 4, 1, 4].map(|depth| queue(&queues, depth));
        let route = |source, target| Route { source, target };
        queues.push(source, message(1), Timeout::NONE).unwrap();
        queues.bind(&[route(source, wide), route(source, narrow), route(wide, last)]).unwrap();
        queues.push(source, message(2), Timeout::NONE).unwrap();
        assert_eq!((pop(&queues, last), pop(&queues, last)), (Some(1), None));
        // Message 2 waits in the source until the narrow target has room.
        assert_eq!(pop(&queues, narrow), Some(1));
        assert_eq!((pop(&queues, last), pop(&queues, narrow), pop(&queues, source)), (Some(2), Some(2), None));
        assert!(queues.bind(&[route(last, source)]).is_err() && queues.bind(&[route(last, last)]).is_err());
        assert!(queues.destroy(wide).is_err());
        assert!(queues.unbind(&[route(source, last)]).is_err());
        assert_eq!(queues.routes().len(), 3);
        queues.unbind(&[route(source, wide), route(wide, last)]).unwrap();
        assert_eq!((queues.routes(), queues.destroy(wide)), (vec![route(source, narrow)], Ok(())));
    }
}
