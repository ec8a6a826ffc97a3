//! Physical memory: bytes without an address, that can be mapped at several and shared with other
//! processes. Each is a memory file of its own, so it lives as long as anyone has it, in whatever process.
//!
//! Where it is mapped is in `reservation`, how other processes find it in `exchange`.

use super::MemoryKind;
use super::heap::CapacityReservation;
use super::ipc_registry::ExportRecord;
use super::region::memory_file;
use crate::error::{Error, HandleKind, Result, fail};
use crate::injection::ByteRange;
use crate::sync::{Mutex, lock};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Where physical memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MemoryLocation {
    /// A device, by the number that the program knows it by.
    Device(u32),
    Host,
    /// Host memory of a NUMA node, which is like any other here.
    HostNode(u32),
}

#[derive(Debug)]
pub(crate) struct Physical {
    /// The handle by which the program knows it.
    number: usize,
    pub(crate) file: File,
    pub(crate) size: usize,
    /// As the maker said.
    pub(crate) home: MemoryLocation,
    /// The `aclrtMemAttr` of the maker, for those who ask.
    pub(crate) attribute: i32,
    /// How addresses where it is mapped are classified in this process.
    pub(crate) place: MemoryKind,
    pub(crate) is_imported: bool,
    /// What it takes of the capacity of its home.
    _aside: Option<CapacityReservation>,
    /// How other processes find it: keys that are valid as long as this process has the memory.
    pub(crate) cards: Mutex<Vec<ExportRecord>>,
    /// What fault rules have made bad of it, for as long as it is mapped nowhere.
    pub(crate) bad: Mutex<Vec<ByteRange>>,
}

/// Handles do not look like those of other objects, nor like addresses.
const MARK: usize = 0x5ac2 << 48;
static NEXT: AtomicUsize = AtomicUsize::new(1);

impl Physical {
    pub(crate) fn create(size: usize, home: MemoryLocation, attribute: i32) -> io::Result<Physical> {
        Ok(Physical::of(memory_file(c"softacl-memory", size)?, size, home, attribute))
    }

    pub(crate) fn of(file: File, size: usize, home: MemoryLocation, attribute: i32) -> Physical {
        let place = match home {
            MemoryLocation::Device(device) => MemoryKind::Device(device),
            MemoryLocation::Host | MemoryLocation::HostNode(_) => MemoryKind::Pinned,
        };
        let number = MARK | NEXT.fetch_add(1, Ordering::Relaxed) << 4;
        let (_aside, cards, bad) = (None, Mutex::default(), Mutex::default());
        Physical { number, file, size, home, attribute, place, is_imported: false, _aside, cards, bad }
    }

    /// Memory that counts to the capacity of its device, or of pinned memory.
    pub(crate) fn charged(self, aside: CapacityReservation) -> Physical {
        Physical { _aside: Some(aside), ..self }
    }

    /// Memory that another process made.
    pub(crate) fn imported(self) -> Physical {
        Physical { is_imported: true, ..self }
    }
}

/// The handles of the program. A handle can be held several times.
#[derive(Default)]
pub(crate) struct Handles {
    held: Mutex<HashMap<usize, (Arc<Physical>, usize)>>,
}

impl Handles {
    /// Holds the memory once more.
    pub(crate) fn hold(&self, physical: &Arc<Physical>) -> usize {
        lock(&self.held).entry(physical.number).or_insert_with(|| (Arc::clone(physical), 0)).1 += 1;
        physical.number
    }

    pub(crate) fn get(&self, handle: usize) -> Result<Arc<Physical>> {
        let held = lock(&self.held);
        held.get(&handle).map(|(physical, _)| Arc::clone(physical)).ok_or_else(|| Box::new(unknown(handle)))
    }

    pub(crate) fn release(&self, handle: usize) -> Result<()> {
        let mut held = lock(&self.held);
        let Some((_, count)) = held.get_mut(&handle) else { return fail(unknown(handle)) };
        *count -= 1;
        if *count == 0 {
            held.remove(&handle);
        }
        Ok(())
    }

    /// Forgets the handles of memory at a place, as a device reset does.
    pub(crate) fn forget(&self, place: MemoryKind) {
        lock(&self.held).retain(|_, (physical, _)| physical.place != place);
    }
}

fn unknown(handle: usize) -> Error {
    Error::Handle { what: HandleKind::PhysicalMemory, handle }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handle_is_freed_after_last_release() {
        let handles = Handles::default();
        let physical = Arc::new(Physical::create(4096, MemoryLocation::Host, 0).unwrap());
        let handle = handles.hold(&physical);
        assert_eq!(handles.hold(&physical), handle);
        assert!(handles.get(handle + 1).is_err());
        assert!(handles.release(handle).is_ok() && handles.get(handle).is_ok());
        assert!(handles.release(handle).is_ok() && handles.get(handle).is_err());
        assert_eq!(handles.release(handle).unwrap_err().code(), 107017);
        assert_eq!(handles.hold(&physical), handle);
    }
}
