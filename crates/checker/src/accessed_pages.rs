//! Pages in flight that the host has accessed, for an observer of orders. Nothing is kept before they were taken once.

use softacl_engine::observer::{Mode, Touch};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Addresses of accessed pages, since they were taken last.
#[derive(Debug, Default)]
pub(crate) struct AccessedPages(Mutex<Option<Vec<usize>>>);

impl AccessedPages {
    pub(crate) fn extend(&self, pages: Vec<usize>) {
        if let Some(accessed) = &mut *self.lock() {
            accessed.extend(pages);
        }
    }

    /// Returns the accesses to pages of `page` bytes. Only the first one to a page is seen between two calls, so each counts as a write.
    pub(crate) fn take(&self, page: usize) -> Vec<Touch> {
        let pages = self.lock().replace(Vec::new()).unwrap_or_default();
        pages.into_iter().map(|address| Touch { address, len: page, mode: Mode::Write }).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Vec<usize>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
