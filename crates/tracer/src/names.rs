//! Numbers of names that exist as long as the process: functions, kinds of tasks, kinds of accesses.
//!
//! A name is written to the log when it is first used. Looking up its number takes no lock, because a signal handler
//! may call a function while the interrupted code does so.

use crate::log::Log;
use crate::trace_event::TextId;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Room for names, a power of two and several times their number.
const SLOTS: usize = 4096;
/// Number of slots that are tried for a name.
const MAX_PROBES: usize = 32;

#[derive(Debug)]
pub(crate) struct Names {
    slots: Box<[NameSlot]>,
}

/// The number of a name. The fields are set from the last to the first.
#[derive(Debug, Default)]
struct NameSlot {
    /// Set when the other fields are.
    start: AtomicUsize,
    len: AtomicUsize,
    number: AtomicU32,
    /// Set by the thread that fills the slot.
    is_taken: AtomicU32,
}

impl Names {
    pub(crate) fn new() -> Names {
        Names { slots: (0..SLOTS).map(|_| NameSlot::default()).collect() }
    }

    /// Returns the number of a name. Two threads that use a name for the first time may get different numbers.
    #[inline]
    pub(crate) fn number(&self, name: &'static str, log: &Log) -> TextId {
        let (start, len) = (name.as_ptr() as usize, name.len());
        // Names are at least a few bytes apart, and their addresses differ in the middle bits.
        let first = (start / 4).wrapping_mul(0x9e37_79b9) >> 8;
        for probe in 0..MAX_PROBES {
            let slot = &self.slots[(first + probe) % SLOTS];
            match slot.start.load(Ordering::Acquire) {
                0 => return slot.fill(name, log),
                found if found == start && slot.len.load(Ordering::Relaxed) == len => {
                    return TextId(slot.number.load(Ordering::Relaxed));
                }
                _ => {}
            }
        }
        log.write_text(name)
    }
}

impl NameSlot {
    /// Writes a name to the log, and remembers its number unless another thread fills this slot.
    #[cold]
    fn fill(&self, name: &'static str, log: &Log) -> TextId {
        let number = log.write_text(name);
        if self.is_taken.swap(1, Ordering::Relaxed) == 0 {
            self.number.store(number.0, Ordering::Relaxed);
            self.len.store(name.len(), Ordering::Relaxed);
            self.start.store(name.as_ptr() as usize, Ordering::Release);
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_once() {
        let (log, names) = (Log::new(1000, None).unwrap(), Names::new());
        let text = "aclrtMalloc";
        let [one, other, prefix] = [text, "aclrtFree", &text[..5]].map(|name| names.number(name, &log));
        assert_eq!([text, "aclrtFree", &text[..5]].map(|name| names.number(name, &log)), [one, other, prefix]);
        let texts = log.read().unwrap().texts;
        assert_eq!([one, other, prefix].map(|number| texts.get(number)), ["aclrtMalloc", "aclrtFree", "aclrt"]);
        assert_eq!(log.write_text("next").0, 3);
    }
}
