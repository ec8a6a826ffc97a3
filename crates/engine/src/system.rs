//! The one place that asks whether the operating system may be asked: rules can make it refuse.
//!
//! What is asked for belongs to the process, and some of it is asked for before there is a machine;
//! so the rules are the process's too. Without rules an asking costs one load.

use crate::error::{Error, MemoryPool, Result, fail};
use crate::injection::{Injection, Resource};
use std::io;
use std::sync::{Arc, OnceLock};

static RULES: OnceLock<Arc<Injection>> = OnceLock::new();

/// From now on these rules decide what the operating system refuses. The first ones stay.
pub fn install_rules(rules: &Arc<Injection>) {
    let _ = RULES.set(Arc::clone(rules));
}

/// Says whether the system may be asked for `size` bytes of something, or one of it.
pub(crate) fn check_allowed(resource: Resource, size: usize) -> io::Result<()> {
    match RULES.get() {
        Some(rules) if rules.refuses(resource, size) => Err(refusal(resource)),
        _ => Ok(()),
    }
}

/// An empty list with room for as many as the program has chosen: that can be more than there is memory for.
pub fn try_vec_with_capacity<T>(count: usize, what: &'static str) -> Result<Vec<T>> {
    let asked = count.saturating_mul(size_of::<T>());
    let mut list = Vec::new();
    let has_room = check_allowed(Resource::Buffer, asked).is_ok() && list.try_reserve_exact(count).is_ok();
    if has_room {
        return Ok(list);
    }
    fail(Error::OutOfMemory { pool: MemoryPool::HostBuffer(what), asked, free: 0, total: 0 })
}

/// Such a list with these in it.
pub fn try_collect<T>(items: impl ExactSizeIterator<Item = Result<T>>, what: &'static str) -> Result<Vec<T>> {
    let mut list = try_vec_with_capacity(items.len(), what)?;
    for item in items {
        list.push(item?);
    }
    Ok(list)
}

/// What the system says when it has none left.
fn refusal(resource: Resource) -> io::Error {
    io::Error::from_raw_os_error(match resource {
        Resource::Map | Resource::Protect | Resource::Buffer => libc::ENOMEM,
        Resource::MemoryFile => libc::EMFILE,
        Resource::Thread => libc::EAGAIN,
    })
}
