//! The machine of this process, made at first use.

use softacl_engine::{Error, Machine, fault};
use std::sync::{Arc, OnceLock};

static MACHINE: OnceLock<Result<Arc<Machine>, Error>> = OnceLock::new();

/// The machine, or why there is none. The reason is told once on standard error: a program that
/// ignores codes would otherwise fail without a word.
#[inline]
pub(crate) fn machine() -> Result<&'static Machine, Error> {
    match MACHINE.get_or_init(make) {
        Ok(machine) => Ok(machine),
        Err(error) => Err(error.clone()),
    }
}

#[cold]
fn make() -> Result<Arc<Machine>, Error> {
    let made = crate::config::from_environment().map_err(Error::Setup).and_then(Machine::new);
    match &made {
        Ok(machine) => fault::watch(machine),
        Err(error) => eprintln!("softacl: {error}"),
    }
    made
}
