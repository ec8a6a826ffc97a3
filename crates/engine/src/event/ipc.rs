//! Events of several processes: exporting one, and opening the export of another process.

use crate::caller::Caller;
use crate::event::{EVENT_IPC, EventKind};
use crate::keys::EventKey;
use crate::observer::Origin;
use softacl_errors::{Error, Result, fail};
use softacl_memory::shared::{SharedCounters, SharedName};
use softacl_sync::facade::lock;
use std::sync::Arc;

impl Caller<'_> {
    /// Returns a name by which another process can open an event that was created with the IPC flag.
    pub fn export_event(&self, raw: usize) -> Result<[u8; 16]> {
        let (_, event) = self.event(raw)?;
        let Some(counters) = lock(&event.state).shared.clone() else {
            return fail(Error::Parameter(
                "only an event that was created with the IPC flag can be exported".to_owned(),
            ));
        };
        self.machine.begin_sharing();
        let SharedName { process, descriptor, nonce } = counters.name();
        let mut name = [0; 16];
        name[..4].copy_from_slice(&process.to_le_bytes());
        name[4..8].copy_from_slice(&descriptor.to_le_bytes());
        name[8..].copy_from_slice(&nonce.to_le_bytes());
        Ok(name)
    }

    /// Opens an event that another process exported.
    pub fn import_event(&self, name: [u8; 16]) -> Result<EventKey> {
        let (_, context) = self.context()?;
        let word = |at: usize| u32::from_le_bytes(name[at..at + 4].try_into().expect("four bytes"));
        let nonce = u64::from_le_bytes(name[8..].try_into().expect("eight bytes"));
        let name = SharedName { process: word(0), descriptor: word(4), nonce };
        let not_exported = |error| Error::Parameter(format!("no process exports this event (anymore): {error}"));
        let opened = SharedCounters::open(name).inspect_err(|_| self.machine.check_ended("event", name));
        let counters = opened.map_err(not_exported)?;
        self.machine.begin_sharing();
        self.insert_event(EventKind::Extended(EVENT_IPC), context.device(), Some(Arc::new(counters)), Origin::Imported)
    }
}
