//! Communicators: a rank as a member of a group, the numbers of its operators, and the table of handles.
//!
//! A handle is a key, never an address, so a stale, foreign or wild one is an error and not a crash.

use crate::config::Config;
use crate::failure::Failure;
use softacl_carrier::group::Group;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, OnceLock, PoisonError, RwLock};

/// `HcclComm`.
pub type Handle = *mut std::ffi::c_void;

/// One rank of a communicator.
#[derive(Debug)]
pub struct Communicator {
    pub name: String,
    pub group: Group,
    pub config: Config,
    /// True if it was made from another communicator.
    pub is_sub: bool,
    /// Collectives that were called so far.
    collectives: AtomicU64,
    links: Vec<Link>,
    /// Why no operator can run anymore.
    failure: OnceLock<String>,
    /// Operators that run now.
    pub runs: AtomicUsize,
    next_run: AtomicU64,
}

/// What a rank knows of its channels to and from another one.
#[derive(Debug, Default)]
struct Link {
    /// Sends and receives that were called so far.
    sends: AtomicU64,
    receives: AtomicU64,
    /// The run whose message is being written, or read; 0 if none is. Messages of several streams do not mix.
    writer: AtomicU64,
    reader: AtomicU64,
}

/// A side of the channels between two ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Writer,
    Reader,
}

impl Communicator {
    pub fn new(name: String, group: Group, config: Config, is_sub: bool) -> Communicator {
        let links = (0..group.ranks()).map(|_| Link::default()).collect();
        Communicator {
            name,
            group,
            config,
            is_sub,
            collectives: AtomicU64::new(0),
            links,
            failure: OnceLock::new(),
            runs: AtomicUsize::new(0),
            next_run: AtomicU64::new(1),
        }
    }

    /// The number of a new collective.
    pub fn next_collective(&self) -> u64 {
        self.collectives.fetch_add(1, Ordering::Relaxed)
    }

    /// The number of a new send to a rank.
    pub fn next_send(&self, peer: u32) -> u64 {
        self.links[peer as usize].sends.fetch_add(1, Ordering::Relaxed)
    }

    /// The number of a new receive from a rank.
    pub fn next_receive(&self, peer: u32) -> u64 {
        self.links[peer as usize].receives.fetch_add(1, Ordering::Relaxed)
    }

    /// The id of a new run.
    pub fn next_run(&self) -> u64 {
        self.next_run.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes a side of the channels to a rank for a run. Returns `false` if another run has it.
    pub fn try_own(&self, peer: u32, side: Side, run: u64) -> bool {
        let owner = self.owner(peer, side);
        owner.load(Ordering::Relaxed) == run
            || owner.compare_exchange(0, run, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Gives a side back.
    pub fn disown(&self, peer: u32, side: Side) {
        self.owner(peer, side).store(0, Ordering::Release);
    }

    fn owner(&self, peer: u32, side: Side) -> &AtomicU64 {
        let link = &self.links[peer as usize];
        match side {
            Side::Writer => &link.writer,
            Side::Reader => &link.reader,
        }
    }

    /// Gives up the communicator, here and, through the group, at every rank that waits for this one.
    pub fn fail(&self, why: &str) {
        if self.failure.set(why.to_owned()).is_ok() {
            self.group.fail(why);
        }
    }

    /// Why no operator can run anymore.
    pub fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }
}

static TABLE: LazyLock<RwLock<HashMap<usize, Arc<Communicator>>>> = LazyLock::new(RwLock::default);

/// Makes the handle of a communicator.
pub fn insert(communicator: Communicator) -> Handle {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    // Odd, so that it is no address of an object.
    let key = NEXT.fetch_add(1, Ordering::Relaxed) << 4 | 1;
    TABLE.write().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::new(communicator));
    key as Handle
}

/// Finds a communicator.
pub fn find(handle: Handle) -> Result<Arc<Communicator>, Failure> {
    if handle.is_null() {
        return Err(Failure::null("comm"));
    }
    let table = TABLE.read().unwrap_or_else(PoisonError::into_inner);
    let unknown = || Failure::Parameter(format!("{handle:p} is not a communicator (anymore)"));
    table.get(&(handle as usize)).map(Arc::clone).ok_or_else(unknown)
}

/// Finds a communicator by its name.
pub fn find_named(name: &str) -> Option<Handle> {
    let table = TABLE.read().unwrap_or_else(PoisonError::into_inner);
    table.iter().find(|(_, communicator)| communicator.name == name).map(|(key, _)| *key as Handle)
}

/// Ends a handle. The communicator lives on while an operator uses it.
pub fn remove(handle: Handle) -> Option<Arc<Communicator>> {
    TABLE.write().unwrap_or_else(PoisonError::into_inner).remove(&(handle as usize))
}
