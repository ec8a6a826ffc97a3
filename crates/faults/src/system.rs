//! Fault-injection hook for system resources. Every `mmap`, `memfd_create`, `mprotect`, thread and large buffer goes
//! through here, so that fault rules can make it fail.
//!
//! System resources belong to the process, and some are requested before a machine exists, so the rules are
//! process-wide. Without rules a check costs one load.

use crate::injection::Injection;
use crate::rule::Resource;
use softacl_errors::{Error, Result, fail};
use std::io;
use std::sync::{Arc, OnceLock};

static RULES: OnceLock<Arc<Injection>> = OnceLock::new();

/// Sets the process-wide rules for refused system resources. Only the first call has an effect.
#[inline]
pub fn install_rules(rules: &Arc<Injection>) {
    let _ = RULES.set(Arc::clone(rules));
}

/// Fails with the error of the operating system if a rule refuses the resource. `size` is in bytes, or 1 for a thread
/// or a file.
#[inline]
pub fn check_allowed(resource: Resource, size: usize) -> io::Result<()> {
    match RULES.get() {
        Some(rules) if rules.refuses(resource, size) => Err(refusal(resource)),
        _ => Ok(()),
    }
}

/// Allocates an empty list with capacity for `count` elements. Fails instead of aborting if memory is short: the
/// program chooses `count`, which can exceed the memory of the host.
#[inline]
pub fn try_vec_with_capacity<T>(count: usize, what: &'static str) -> Result<Vec<T>> {
    let requested = count.saturating_mul(size_of::<T>());
    let mut list = Vec::new();
    let has_room = check_allowed(Resource::Buffer, requested).is_ok() && list.try_reserve_exact(count).is_ok();
    if has_room {
        return Ok(list);
    }
    fail(Error::NoHostBuffer { what, asked: requested })
}

/// Collects into a fallibly allocated list. Stops at the first error.
#[inline]
pub fn try_collect<T>(items: impl ExactSizeIterator<Item = Result<T>>, what: &'static str) -> Result<Vec<T>> {
    let mut list = try_vec_with_capacity(items.len(), what)?;
    for item in items {
        list.push(item?);
    }
    Ok(list)
}

/// The error of the operating system for an exhausted resource.
fn refusal(resource: Resource) -> io::Error {
    io::Error::from_raw_os_error(match resource {
        Resource::Map | Resource::Protect | Resource::Buffer => libc::ENOMEM,
        Resource::MemoryFile => libc::EMFILE,
        Resource::Thread => libc::EAGAIN,
    })
}
