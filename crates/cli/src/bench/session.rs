//! What all cases share during a run: how long to measure, the progress bar, PoCL when there is one.

use super::memory::CacheFlush;
use super::pocl::Pocl;
use anyhow::Result;
use indicatif::ProgressBar;
use std::cell::{Cell, OnceCell};
use std::time::Duration;

pub struct Session {
    pub quick: bool,
    pub progress: ProgressBar,
    pocl: OnceCell<Result<Pocl, String>>,
    flush: OnceCell<CacheFlush>,
    pace: Cell<RepeatPolicy>,
}

/// How often a race is repeated: until the budget is spent, within bounds.
#[derive(Clone, Copy)]
pub struct RepeatPolicy {
    pub least: usize,
    pub most: usize,
    pub budget: Duration,
}

impl Session {
    pub fn new(quick: bool, progress: ProgressBar) -> Session {
        let pace = if quick {
            RepeatPolicy { least: 3, most: 5, budget: Duration::from_millis(50) }
        } else {
            RepeatPolicy { least: 9, most: 41, budget: Duration::from_millis(1500) }
        };
        Session { quick, progress, pocl: OnceCell::new(), flush: OnceCell::new(), pace: Cell::new(pace) }
    }

    pub fn pace(&self) -> RepeatPolicy {
        self.pace.get()
    }

    pub fn set_pace(&self, pace: RepeatPolicy) {
        self.pace.set(pace);
    }

    /// Most rounds that a race may have, the warm-up included.
    pub fn most_rounds(&self) -> usize {
        self.pace().most + 1
    }

    /// Opened when first asked for; a machine without it says why.
    pub fn pocl(&self) -> Result<&Pocl, &str> {
        self.pocl.get_or_init(|| Pocl::open().map_err(|error| format!("{error:#}"))).as_ref().map_err(String::as_str)
    }

    /// PoCL, when a case has used it.
    pub fn pocl_in_use(&self) -> Option<&Pocl> {
        self.pocl.get()?.as_ref().ok()
    }

    /// Makes everything cold.
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
