//! The one place that asks whether the operating system may be asked: rules can make it refuse.
//!
//! What is asked for belongs to the process, and some of it is asked for before there is a machine;
//! so the rules are the process's too. Without rules an asking costs one load.

use crate::injection::{Injection, Resource};
use std::io;
use std::sync::{Arc, OnceLock};

static RULES: OnceLock<Arc<Injection>> = OnceLock::new();

/// From now on these rules decide what the operating system refuses. The first ones stay.
pub fn obey(rules: &Arc<Injection>) {
    let _ = RULES.set(Arc::clone(rules));
}

/// Says whether the system may be asked for `size` bytes of something, or one of it.
pub(crate) fn ask(resource: Resource, size: usize) -> io::Result<()> {
    match RULES.get() {
        Some(rules) if rules.refuses(resource, size) => Err(refusal(resource)),
        _ => Ok(()),
    }
}

/// What the system says when it has none left.
fn refusal(resource: Resource) -> io::Error {
    io::Error::from_raw_os_error(match resource {
        Resource::Map | Resource::Protect | Resource::Buffer => libc::ENOMEM,
        Resource::MemoryFile => libc::EMFILE,
        Resource::Thread => libc::EAGAIN,
    })
}
