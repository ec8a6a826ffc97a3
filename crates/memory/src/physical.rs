//! Physical memory: bytes without an address, which can be mapped at several addresses and shared with other processes.
//!
//! Each piece is a separate memory file, so it lives as long as any process has it open or mapped. `reservation` maps
//! it; `export` makes it available to other processes.

use crate::address::{MemoryKind, MemoryLocation};
use crate::export::ExportRecord;
use crate::heap::CapacityReservation;
use crate::region::memory_file;
use crate::use_lock::UseLock;
use softacl_errors::{Error, HandleKind, Result, fail};
use softacl_faults::ByteRange;
use softacl_sync::facade::{Mutex, lock};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A piece of physical memory.
#[derive(Debug)]
pub struct Physical {
    /// The handle that the program uses.
    number: usize,
    pub file: File,
    pub size: usize,
    /// The location that its creator requested.
    pub home: MemoryLocation,
    /// The `aclrtMemAttr` that its creator requested; only reported back.
    pub attribute: i32,
    /// Memory kind of the addresses where it is mapped in this process.
    pub place: MemoryKind,
    pub is_imported: bool,
    /// True if the host may access memory of a device where it is mapped, as managed memory.
    pub is_shared_with_host: bool,
    /// Its share of the capacity of its location.
    _reservation: Option<CapacityReservation>,
    /// Its export records. Their keys are valid as long as this process has the memory.
    pub export_records: Mutex<Vec<ExportRecord>>,
    /// Shows the exporter that this process has the memory open.
    _use_lock: Option<UseLock>,
    /// Its bad bytes (fault injection) while it is not mapped.
    pub bad: Mutex<Vec<ByteRange>>,
}

/// Upper bits of handles. They differ from those of other handles and of addresses.
const MARK: usize = 0x5ac2 << 48;
static NEXT: AtomicUsize = AtomicUsize::new(1);

impl Physical {
    /// Creates zeroed memory.
    pub fn create(size: usize, home: MemoryLocation, attribute: i32) -> io::Result<Physical> {
        Ok(Physical::of(memory_file(c"softacl-memory", size)?, size, home, attribute))
    }

    /// Wraps a memory file of `size` bytes.
    pub fn of(file: File, size: usize, home: MemoryLocation, attribute: i32) -> Physical {
        let kind = match home {
            MemoryLocation::Device(device) => MemoryKind::Device(device),
            MemoryLocation::Host | MemoryLocation::HostNode(_) => MemoryKind::Pinned,
        };
        let number = MARK | NEXT.fetch_add(1, Ordering::Relaxed) << 4;
        Physical {
            number,
            file,
            size,
            home,
            attribute,
            place: kind,
            is_imported: false,
            is_shared_with_host: false,
            _reservation: None,
            export_records: Mutex::default(),
            _use_lock: None,
            bad: Mutex::default(),
        }
    }

    /// Attaches its share of the capacity of a device or of pinned memory.
    pub fn charged(self, reservation: CapacityReservation) -> Physical {
        Physical { _reservation: Some(reservation), ..self }
    }

    /// Lets the host access the memory where it is mapped.
    pub fn shared_with_host(self) -> Physical {
        Physical { is_shared_with_host: true, ..self }
    }

    /// Marks memory as created by another process.
    pub fn imported(self, use_lock: Option<UseLock>) -> Physical {
        Physical { is_imported: true, _use_lock: use_lock, ..self }
    }

    /// Other processes that have the memory open, as far as they show it.
    pub fn users(&self) -> Vec<u32> {
        let mut all: Vec<u32> = lock(&self.export_records).iter().flat_map(ExportRecord::users).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// The handles of the program, with reference counts.
#[derive(Default)]
pub struct Handles {
    held: Mutex<HashMap<usize, (Arc<Physical>, usize)>>,
}

impl Handles {
    /// Adds a reference. Returns the handle.
    pub fn hold(&self, physical: &Arc<Physical>) -> usize {
        lock(&self.held).entry(physical.number).or_insert_with(|| (Arc::clone(physical), 0)).1 += 1;
        physical.number
    }

    /// The memory of a live handle.
    pub fn get(&self, handle: usize) -> Result<Arc<Physical>> {
        let held = lock(&self.held);
        held.get(&handle).map(|(physical, _)| Arc::clone(physical)).ok_or_else(|| Box::new(unknown(handle)))
    }

    /// Removes a reference. The handle ends with the last one.
    pub fn release(&self, handle: usize) -> Result<()> {
        let mut held = lock(&self.held);
        let Some((_, count)) = held.get_mut(&handle) else { return fail(unknown(handle)) };
        *count -= 1;
        if *count == 0 {
            held.remove(&handle);
        }
        Ok(())
    }

    /// Ends all handles of memory of one kind. Used by a device reset.
    pub fn forget(&self, kind: MemoryKind) {
        lock(&self.held).retain(|_, (physical, _)| physical.place != kind);
    }
}

fn unknown(handle: usize) -> Error {
    Error::Handle { what: HandleKind::PhysicalMemory, handle }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ascendcl_sys::ACL_ERROR_RT_INVALID_HANDLE;

    #[test]
    fn handle_is_freed_after_last_release() {
        let handles = Handles::default();
        let physical = Arc::new(Physical::create(4096, MemoryLocation::Host, 0).unwrap());
        let handle = handles.hold(&physical);
        assert_eq!(handles.hold(&physical), handle);
        assert!(handles.get(handle + 1).is_err());
        assert!(handles.release(handle).is_ok() && handles.get(handle).is_ok());
        assert!(handles.release(handle).is_ok() && handles.get(handle).is_err());
        assert_eq!(handles.release(handle).unwrap_err().code(), ACL_ERROR_RT_INVALID_HANDLE);
        assert_eq!(handles.hold(&physical), handle);
    }
}
