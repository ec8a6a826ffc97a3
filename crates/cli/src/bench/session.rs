//! State that all cases of a run share: context, repeat policy, progress bar, and PoCL if it is installed.

use super::memory::CacheFlush;
use super::pocl::Pocl;
use anyhow::Result;
use ascendcl::Context;
use indicatif::ProgressBar;
use std::cell::{Cell, OnceCell};
use std::time::Duration;

pub struct Session {
    pub quick: bool,
    pub progress: ProgressBar,
    context: Context,
    pocl: OnceCell<Result<Pocl, String>>,
    flush: OnceCell<CacheFlush>,
    repeats: Cell<RepeatPolicy>,
}

/// How often runners are repeated: until the time budget is spent, within bounds.
#[derive(Clone, Copy)]
pub struct RepeatPolicy {
    pub min_rounds: usize,
    pub max_rounds: usize,
    pub budget: Duration,
}

impl Session {
    pub fn new(context: Context, quick: bool, progress: ProgressBar) -> Session {
        let repeats = if quick {
            RepeatPolicy { min_rounds: 3, max_rounds: 5, budget: Duration::from_millis(50) }
        } else {
            RepeatPolicy { min_rounds: 9, max_rounds: 41, budget: Duration::from_millis(1500) }
        };
        let (pocl, flush) = (OnceCell::new(), OnceCell::new());
        Session { quick, progress, context, pocl, flush, repeats: Cell::new(repeats) }
    }

    /// The context of device 0, which is current on this thread.
    pub fn context(&self) -> &Context {
        &self.context
    }

    pub fn repeats(&self) -> RepeatPolicy {
        self.repeats.get()
    }

    pub fn set_repeats(&self, repeats: RepeatPolicy) {
        self.repeats.set(repeats);
    }

    /// Maximum number of rounds, including the warm-up.
    pub fn max_rounds(&self) -> usize {
        self.repeats().max_rounds + 1
    }

    /// Opens PoCL on first use. Returns the reason if it is not available.
    pub fn pocl(&self) -> Result<&Pocl, &str> {
        self.pocl.get_or_init(|| Pocl::open().map_err(|error| format!("{error:#}"))).as_ref().map_err(String::as_str)
    }

    /// PoCL, if a case has used it.
    pub fn pocl_in_use(&self) -> Option<&Pocl> {
        self.pocl.get()?.as_ref().ok()
    }

    /// Evicts everything else from the caches.
    pub fn flush_caches(&self) -> Result<()> {
        if self.flush.get().is_none() {
            let _ = self.flush.set(CacheFlush::new()?);
        }
        self.flush.get().into_iter().for_each(CacheFlush::flush);
        Ok(())
    }

    pub fn tick(&self) {
        self.progress.tick();
    }
}
