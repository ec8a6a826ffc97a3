//! Hooks: functions of the program that are called when streams and devices come and go.
//!
//! A hook runs on the thread whose call changes the state, while no lock of the machine is held, so it may call the API
//! itself. Observers are not hooks: they see everything, and the program does not know them.

use crate::keys::StreamKey;
use softacl_errors::{Error, Result, fail};
use softacl_sync::facade::{Mutex, lock};
use std::sync::Arc;

/// What happens to a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamChange {
    Created,
    /// The stream is about to end. Its handle is still valid.
    Ending,
}

/// What happens to a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceChange {
    /// The default context is about to be created.
    Setting,
    Set,
    /// The default context is about to end.
    Resetting,
    Reset,
}

/// Receives the handle of a stream.
pub type StreamHook = Arc<dyn Fn(usize, StreamChange) + Send + Sync>;
/// Receives the id of a device.
pub type DeviceHook = Arc<dyn Fn(u32, DeviceChange) + Send + Sync>;

/// Hooks of one kind, by name, in the order of their registration.
pub struct NamedHooks<H> {
    hooks: Mutex<Vec<(String, H)>>,
}

impl<H> Default for NamedHooks<H> {
    fn default() -> Self {
        NamedHooks { hooks: Mutex::new(Vec::new()) }
    }
}

impl<H: Clone> NamedHooks<H> {
    /// Registers a hook under a name that is not in use.
    pub fn add(&self, name: String, hook: H) -> Result<()> {
        let mut hooks = lock(&self.hooks);
        if hooks.iter().any(|(other, _)| *other == name) {
            return fail(Error::Parameter(format!(
                "a callback is already registered as {name:?}: remove it first, with NULL in its place"
            )));
        }
        hooks.push((name, hook));
        Ok(())
    }

    /// Removes the hook with a name.
    pub fn remove(&self, name: &str) -> Result<()> {
        let mut hooks = lock(&self.hooks);
        let Some(index) = hooks.iter().position(|(other, _)| other == name) else {
            return fail(Error::Parameter(format!("no callback is registered as {name:?}")));
        };
        hooks.remove(index);
        Ok(())
    }

    /// The hooks. A copy, so that they run without the lock.
    pub fn all(&self) -> Vec<H> {
        lock(&self.hooks).iter().map(|(_, hook)| hook.clone()).collect()
    }
}

/// The hooks of a machine.
#[derive(Default)]
pub struct Hooks {
    pub streams: NamedHooks<StreamHook>,
    pub devices: NamedHooks<DeviceHook>,
}

impl Hooks {
    pub(crate) fn stream(&self, key: StreamKey, change: StreamChange) {
        for hook in self.streams.all() {
            hook(key.raw(), change);
        }
    }

    pub(crate) fn device(&self, device: u32, change: DeviceChange) {
        for hook in self.devices.all() {
            hook(device, change);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_unique_until_it_is_removed() {
        let hooks = NamedHooks::default();
        assert!(hooks.add("a".to_owned(), 1).is_ok() && hooks.add("b".to_owned(), 2).is_ok());
        assert_eq!(hooks.add("a".to_owned(), 3).unwrap_err().code(), 107000);
        assert_eq!(hooks.all(), [1, 2]);
        assert!(hooks.remove("a").is_ok() && hooks.remove("a").is_err());
        assert!(hooks.add("a".to_owned(), 3).is_ok());
        assert_eq!(hooks.all(), [2, 3]);
    }
}
