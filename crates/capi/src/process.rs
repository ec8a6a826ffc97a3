//! Creates the machine of this process, on first use, from its environment.

use crate::{check, config, machine_cell, trace, watch};
use softacl_engine::observer::Observer;
use softacl_engine::{Config, Error, Machine, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

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
    let machine = machine_cell::get_or_create(make)?;
    // Not in `make`: the thread asks for the machine.
    watch::start();
    Ok(machine)
}

/// Why calls run hooks: `OBSERVED`, plus `REGION` for each open region of `sync_gate`. Conservatively set until the
/// machine is created.
static HOOKS: AtomicU32 = AtomicU32::new(OBSERVED);
/// An observer or fault rules may be active.
const OBSERVED: u32 = 1;
const REGION: u32 = 2;

/// Updates the flag after an observer was attached to a machine, or before it is detached from one.
pub(crate) fn set_hooks_active(are_active: bool) {
    match are_active {
        true => HOOKS.fetch_or(OBSERVED, Ordering::Relaxed),
        false => HOOKS.fetch_and(!OBSERVED, Ordering::Relaxed),
    };
}

/// Calls run hooks until the region is closed.
pub(crate) fn region_opened() {
    HOOKS.fetch_add(REGION, Ordering::Relaxed);
}

pub(crate) fn region_closed() {
    HOOKS.fetch_sub(REGION, Ordering::Relaxed);
}

#[inline]
pub(crate) fn hooks_may_be_active() -> bool {
    HOOKS.load(Ordering::Relaxed) != 0
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
            set_hooks_active(machine.has_hooks());
            machine.diagnose_faults();
            machine.on_wait(watch::wake);
            machine_cell::detach_in_children();
        }
        Err(error) => eprintln!("softacl: {error}"),
    }
    created
}
