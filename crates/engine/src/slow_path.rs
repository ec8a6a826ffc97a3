//! The slow path: the reasons that close the fast path.
//!
//! A copy, a wait or a free takes the fast path while the set of reasons is empty, which one load tests. Each reason
//! has a name and is held by a [`ReasonGuard`]; dropping the guard removes it. A failed context closes the fast path
//! until it is destroyed, a lost device until it is reset, and an abort until it has finished.
//!
//! Each device has a second set, which submits test. A reason that concerns a device is in both sets.
//!
//! Not here: conditions of one stream (`Stream::is_redirected`), and the threads of an executor.

use softacl_sync::facade::{AtomicU32, Mutex, Ordering, lock};
use std::sync::Arc;

/// Why calls take the slow path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// A schedule decides when tasks run.
    Schedule,
    /// An observer is attached.
    Observer,
    /// A virtual clock counts the time of calls.
    VirtualClock,
    /// The observer protects pages.
    PageGuard,
    /// Fault rules are installed.
    FaultRules,
    /// Unaligned copies are refused.
    StrictAlignment,
    /// The program runs on the chip, where host and device memory are one.
    OnChip,
    /// Tasks of a device are being aborted.
    Aborting,
    /// Tasks of a stream are being aborted.
    AbortingStream,
    /// A device is lost until it is reset.
    Lost,
    /// A failure has stopped a context.
    StoppedContext,
    /// A thread asked for the id of its newest task.
    LastTask,
}

impl Reason {
    const ALL: [Reason; 12] = [
        Reason::Schedule,
        Reason::Observer,
        Reason::VirtualClock,
        Reason::PageGuard,
        Reason::FaultRules,
        Reason::StrictAlignment,
        Reason::OnChip,
        Reason::Aborting,
        Reason::AbortingStream,
        Reason::Lost,
        Reason::StoppedContext,
        Reason::LastTask,
    ];

    const fn bit(self) -> u32 {
        1 << self as u32
    }

    fn name(self) -> &'static str {
        match self {
            Reason::Schedule => "a schedule",
            Reason::Observer => "an observer",
            Reason::VirtualClock => "a virtual clock",
            Reason::PageGuard => "protected pages",
            Reason::FaultRules => "fault rules",
            Reason::StrictAlignment => "strict alignment",
            Reason::OnChip => "a program on the chip",
            Reason::Aborting => "an abort in progress",
            Reason::AbortingStream => "an abort of a stream in progress",
            Reason::Lost => "a lost device",
            Reason::StoppedContext => "a stopped context",
            Reason::LastTask => "a question for task ids",
        }
    }
}

/// A set of reasons. Each can be held several times.
///
/// `bits` is written only under `holders`: bit n is set while reason n is held. It can be read at any time.
#[derive(Debug, Default)]
pub(crate) struct Reasons {
    bits: AtomicU32,
    holders: Mutex<[u32; Reason::ALL.len()]>,
}

impl Reasons {
    /// True if no reason is held.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.bits.load(Ordering::Acquire) == 0
    }

    /// True if a reason is held.
    #[inline]
    pub(crate) fn has(&self, reason: Reason) -> bool {
        self.bits.load(Ordering::Acquire) & reason.bit() != 0
    }

    /// True if at least one of two reasons is held.
    #[inline]
    pub(crate) fn has_either(&self, one: Reason, other: Reason) -> bool {
        self.bits.load(Ordering::Acquire) & (one.bit() | other.bit()) != 0
    }

    /// True if at least one of these reasons is held.
    #[inline]
    pub(crate) fn has_any<const N: usize>(&self, reasons: [Reason; N]) -> bool {
        self.bits.load(Ordering::Acquire) & reasons.iter().fold(0, |bits, reason| bits | reason.bit()) != 0
    }

    /// Holds a reason until the guard is dropped.
    pub(crate) fn hold(self: &Arc<Self>, reason: Reason) -> ReasonGuard {
        self.add(reason);
        ReasonGuard { reason, set: Arc::clone(self), device: None }
    }

    /// Holds a reason in this set and in the set of a device until the guard is dropped.
    pub(crate) fn hold_for(self: &Arc<Self>, device: &Arc<Reasons>, reason: Reason) -> ReasonGuard {
        // This set first: a call that finds it empty does not test the set of the device.
        self.add(reason);
        device.add(reason);
        ReasonGuard { reason, set: Arc::clone(self), device: Some(Arc::clone(device)) }
    }

    /// Names of the reasons that are held.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        Reason::ALL.into_iter().filter(|reason| self.has(*reason)).map(Reason::name).collect()
    }

    fn add(&self, reason: Reason) {
        let mut holders = lock(&self.holders);
        holders[reason as usize] += 1;
        self.bits.fetch_or(reason.bit(), Ordering::SeqCst);
    }

    fn remove(&self, reason: Reason) {
        let mut holders = lock(&self.holders);
        holders[reason as usize] -= 1;
        if holders[reason as usize] == 0 {
            self.bits.fetch_and(!reason.bit(), Ordering::SeqCst);
        }
    }
}

/// Holds a reason. Dropping it removes the reason unless another guard holds it.
#[derive(Debug)]
#[must_use = "the reason is released when the guard is dropped"]
pub(crate) struct ReasonGuard {
    reason: Reason,
    set: Arc<Reasons>,
    device: Option<Arc<Reasons>>,
}

impl Drop for ReasonGuard {
    fn drop(&mut self) {
        if let Some(device) = &self.device {
            device.remove(self.reason);
        }
        self.set.remove(self.reason);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_lasts_until_its_last_guard_is_dropped() {
        let reasons = Arc::new(Reasons::default());
        let first = reasons.hold(Reason::Aborting);
        let second = reasons.hold(Reason::Aborting);
        drop(first);
        assert!(reasons.has(Reason::Aborting) && !reasons.is_empty());
        drop(second);
        assert!(reasons.is_empty() && reasons.names().is_empty());
    }

    #[test]
    fn reasons_are_independent() {
        let reasons = Arc::new(Reasons::default());
        let lost = reasons.hold(Reason::Lost);
        let aborting = reasons.hold(Reason::Aborting);
        drop(lost);
        assert!(!reasons.has(Reason::Lost) && reasons.has_either(Reason::Lost, Reason::Aborting));
        assert_eq!(reasons.names(), ["an abort in progress"]);
        drop(aborting);
    }

    #[test]
    fn reason_of_a_device_is_in_both_sets() {
        let (machine, device) = (Arc::new(Reasons::default()), Arc::new(Reasons::default()));
        let guard = machine.hold_for(&device, Reason::Lost);
        assert!(machine.has(Reason::Lost) && device.has(Reason::Lost));
        drop(guard);
        assert!(machine.is_empty() && device.is_empty());
    }

    #[test]
    fn every_reason_has_a_bit_and_a_name() {
        let reasons = Arc::new(Reasons::default());
        let guards: Vec<ReasonGuard> = Reason::ALL.into_iter().map(|reason| reasons.hold(reason)).collect();
        assert_eq!(reasons.names().len(), Reason::ALL.len());
        drop(guards);
        assert!(reasons.is_empty());
    }
}
