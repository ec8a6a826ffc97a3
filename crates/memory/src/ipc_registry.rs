//! The memory that this process exported to other processes and imported from them.

use crate::export::{ExportInfo, ExportKey, ExportRecord, Purpose};
use crate::physical::Physical;
use softacl_errors::{Error, Result, fail};
use softacl_sync::facade::{Mutex, lock};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

/// The exports and imports of this process.
#[derive(Default)]
pub struct IpcRegistry {
    exports: Mutex<HashMap<ExportKey, Weak<Physical>>>,
    /// Allocations whose bytes were moved into a file, by backing address.
    pub moved: Mutex<BTreeMap<usize, Arc<Physical>>>,
    /// Length of `moved`, so that `take_moved` can skip the lock while it is 0.
    pub moved_count: AtomicUsize,
    /// Starts of allocations that have a P2P policy. Used only for chips that export no others; the entry of a freed
    /// allocation stays until its address is allocated again.
    p2p_allocations: Mutex<HashSet<usize>>,
    /// True if memory was ever shared with another process.
    was_used: AtomicBool,
    /// Imported ranges: address and number of imports.
    pub imports: Mutex<HashMap<ExportKey, (usize, usize)>>,
}

impl IpcRegistry {
    /// Stores whether a new allocation has a P2P policy.
    pub fn set_p2p(&self, start: usize, has_policy: bool) {
        let mut allocations = lock(&self.p2p_allocations);
        if has_policy {
            allocations.insert(start);
        } else {
            allocations.remove(&start);
        }
    }

    /// True if the live allocation at `start` has a P2P policy.
    pub fn is_p2p(&self, start: usize) -> bool {
        lock(&self.p2p_allocations).contains(&start)
    }

    /// True if memory was ever shared with another process, which may change it at any time.
    pub fn was_used(&self) -> bool {
        self.was_used.load(Ordering::Relaxed)
    }

    /// Records that memory is shared with another process.
    pub fn mark_used(&self) {
        self.was_used.store(true, Ordering::Relaxed);
    }

    /// Exports memory. Returns a key, which is valid until it is revoked or the memory is freed.
    #[inline]
    pub fn export(&self, physical: &Arc<Physical>, info: &ExportInfo, fits_number: bool) -> Result<ExportKey> {
        self.mark_used();
        let key = if fits_number { ExportKey::fresh_number() } else { ExportKey::fresh() };
        let record = key.and_then(|key| ExportRecord::write(key, info, &physical.file)).map_err(no_file)?;
        let key = record.key;
        lock(&physical.export_records).push(record);
        let mut exports = lock(&self.exports);
        exports.retain(|_, physical| physical.strong_count() > 0);
        exports.insert(key, Arc::downgrade(physical));
        Ok(key)
    }

    /// Adds processes to the list of a key that this process made.
    #[inline]
    pub fn allow(&self, key: ExportKey, purpose: Purpose, processes: &[u32]) -> Result<()> {
        let Some(physical) = self.exporter(key) else { return fail(not_ours()) };
        let records = lock(&physical.export_records);
        let Some(record) = records.iter().find(|record| record.key == key && record.purpose == purpose) else {
            return fail(not_ours());
        };
        Ok(record.allow(processes).map_err(no_file)?)
    }

    /// Other processes that have the memory behind a key of this process open, as far as they show it.
    pub fn users(&self, key: ExportKey) -> Vec<u32> {
        let Some(physical) = self.exporter(key) else { return Vec::new() };
        let records = lock(&physical.export_records);
        records.iter().find(|record| record.key == key).map_or_else(Vec::new, ExportRecord::users)
    }

    /// Invalidates a key. Returns `false` if this process did not make it.
    #[inline]
    pub fn revoke(&self, key: ExportKey) -> bool {
        let Some(physical) = lock(&self.exports).remove(&key).and_then(|physical| physical.upgrade()) else {
            return false;
        };
        let mut records = lock(&physical.export_records);
        let before = records.len();
        records.retain(|record| record.key != key);
        records.len() < before
    }

    fn exporter(&self, key: ExportKey) -> Option<Arc<Physical>> {
        lock(&self.exports).get(&key)?.upgrade()
    }

    /// Removes and returns the file to which the bytes of an allocation were moved. Called when the allocation ends.
    #[inline]
    pub fn take_moved(&self, backing: usize) -> Option<Arc<Physical>> {
        if self.moved_count.load(Ordering::Acquire) == 0 {
            return None;
        }
        let mut moved = lock(&self.moved);
        let taken = moved.remove(&backing);
        self.moved_count.store(moved.len(), Ordering::Release);
        taken
    }
}

fn not_ours() -> Error {
    Error::Parameter("this process did not make the key, or has closed it".to_owned())
}

fn no_file(error: io::Error) -> Error {
    Error::Feature(format!("could not create a file for sharing: {error}"))
}
