//! Creates the machine of this process, on first use, from its environment.

use crate::{check, config, machine_cell, trace};
use softacl_engine::observer::Observer;
use softacl_engine::{Config, Error, Machine, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Returns the machine, or the reason why there is none. The reason is printed to stderr once, because a program that
/// ignores codes would otherwise fail silently.
#[inline]
pub(crate) fn machine() -> Result<&'static Machine> {
    match machine_cell::fast() {
        Some(machine) => Ok(machine),
        None => machine_or_reason(),
    }
}

#[cold]
#[inline(never)]
fn machine_or_reason() -> Result<&'static Machine> {
    machine_cell::get_or_create(make)
}

/// True if an observer or fault rules may be active. Conservatively true until the machine is created.
static HOOKS_ACTIVE: AtomicBool = AtomicBool::new(true);

/// Updates the flag after an observer was attached to a machine, or before it is detached from one.
pub(crate) fn set_hooks_active(are_active: bool) {
    HOOKS_ACTIVE.store(are_active, Ordering::Relaxed);
}

#[inline]
pub(crate) fn hooks_may_be_active() -> bool {
    HOOKS_ACTIVE.load(Ordering::Relaxed)
}

/// Creates the observer that the environment enables: the checker or the tracer.
fn observer(config: &Config) -> std::result::Result<Option<Arc<dyn Observer>>, String> {
    if let Some(checker) = check::install(config) {
        return Ok(Some(checker));
    }
    Ok(trace::install()?.map(|tracer| tracer as Arc<dyn Observer>))
}

#[cold]
fn make() -> Result<Arc<Machine>> {
    let setup = config::from_environment().and_then(|config| {
        let observer = observer(&config)?;
        Ok((config, observer))
    });
    let created = setup
        .map_err(|why| Box::new(Error::Setup(why)))
        .and_then(|(config, observer)| Machine::with_observer(config, observer));
    match &created {
        Ok(machine) => {
            HOOKS_ACTIVE.store(machine.has_hooks(), Ordering::Relaxed);
            machine.diagnose_faults();
            machine_cell::detach_in_children();
        }
        Err(error) => eprintln!("softacl: {error}"),
    }
    created
}
