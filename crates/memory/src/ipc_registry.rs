//! What this process exported to other processes and imported from them.

use crate::export::{ExportInfo, ExportKey, ExportRecord, Purpose};
use crate::physical::Physical;
use softacl_errors::{Error, Result, fail};
use softacl_sync::facade::{Mutex, lock};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

/// What this process exported and imported.
#[derive(Default)]
pub struct IpcRegistry {
    exports: Mutex<HashMap<ExportKey, Weak<Physical>>>,
    /// Allocations whose bytes were moved into a file, by where the engine reaches them.
    pub moved: Mutex<BTreeMap<usize, Arc<Physical>>>,
    /// How many those are, so that an ordinary free need not ask.
    pub moved_count: AtomicUsize,
    /// Imported ranges: address and how often it was imported.
    pub imports: Mutex<HashMap<ExportKey, (usize, usize)>>,
}

impl IpcRegistry {
    /// Makes a key, which is valid until it is withdrawn or the memory is gone.
    pub fn offer(&self, physical: &Arc<Physical>, offer: &ExportInfo, fits_number: bool) -> Result<ExportKey> {
        let made = if fits_number { ExportKey::fresh_number() } else { ExportKey::fresh() };
        let card = made.and_then(|key| ExportRecord::write(key, offer, &physical.file)).map_err(no_file)?;
        let key = card.key;
        lock(&physical.cards).push(card);
        let mut exports = lock(&self.exports);
        exports.retain(|_, physical| physical.strong_count() > 0);
        exports.insert(key, Arc::downgrade(physical));
        Ok(key)
    }

    pub fn admit(&self, key: ExportKey, purpose: Purpose, processes: &[u32]) -> Result<()> {
        let Some(physical) = self.exporter(key) else { return fail(not_ours()) };
        let cards = lock(&physical.cards);
        let Some(card) = cards.iter().find(|card| card.key == key && card.purpose == purpose) else {
            return fail(not_ours());
        };
        Ok(card.allow(processes).map_err(no_file)?)
    }

    /// Makes a key void. `false`: it is none of ours.
    pub fn revoke(&self, key: ExportKey) -> bool {
        let Some(physical) = lock(&self.exports).remove(&key).and_then(|physical| physical.upgrade()) else {
            return false;
        };
        let mut cards = lock(&physical.cards);
        let before = cards.len();
        cards.retain(|card| card.key != key);
        cards.len() < before
    }

    fn exporter(&self, key: ExportKey) -> Option<Arc<Physical>> {
        lock(&self.exports).get(&key)?.upgrade()
    }

    /// The file that the bytes of an allocation were moved to, which is ending.
    pub fn take_moved(&self, reach: usize) -> Option<Arc<Physical>> {
        if self.moved_count.load(Ordering::Acquire) == 0 {
            return None;
        }
        let mut moved = lock(&self.moved);
        let taken = moved.remove(&reach);
        self.moved_count.store(moved.len(), Ordering::Release);
        taken
    }
}

fn not_ours() -> Error {
    Error::Parameter("this process has made no such key, or has closed it".to_owned())
}

fn no_file(error: io::Error) -> Error {
    Error::Feature(format!("could not make a file for sharing: {error}"))
}
