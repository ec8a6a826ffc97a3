//! Costs: the figures of a chip in nanoseconds.

use crate::work::{Call, Engine, Place, Work};
use softacl_profiles::{Chip, FigureName, Figures, Unit};

/// Which end of the intervals to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Everything is as fast as the intervals allow.
    Fastest,
    Expected,
    /// Everything is as slow as the intervals allow.
    Slowest,
}

/// What operations take, in nanoseconds: a fixed time, or a time per byte. `None` if it is not known.
#[derive(Debug, Clone)]
pub struct Costs {
    ns: Vec<Option<f64>>,
}

impl Costs {
    /// The costs of a chip.
    pub fn of(chip: &Chip, bound: Bound) -> Costs {
        Costs::new(&chip.timing, bound)
    }

    pub fn new(figures: &Figures, bound: Bound) -> Costs {
        let ns = |name: &FigureName| {
            let figure = figures.get(*name)?;
            let [low, high] = figure.interval;
            // A high time is slow, a high bandwidth is fast.
            let value = match (bound, figure.unit) {
                (Bound::Expected, _) => figure.value,
                (Bound::Fastest, Unit::Microseconds) | (Bound::Slowest, Unit::GigabytesPerSecond) => low,
                (Bound::Slowest, Unit::Microseconds) | (Bound::Fastest, Unit::GigabytesPerSecond) => high,
            };
            Some(match figure.unit {
                Unit::Microseconds => value * 1e3,
                Unit::GigabytesPerSecond => 1.0 / value,
            })
        };
        Costs { ns: FigureName::ALL.iter().map(ns).collect() }
    }

    /// A figure, in nanoseconds or nanoseconds per byte.
    pub fn get(&self, name: FigureName) -> Option<f64> {
        self.ns[name as usize]
    }

    /// A fixed cost. An unknown one is an error, so that the caller can name it.
    fn known(&self, name: FigureName) -> Result<f64, FigureName> {
        self.get(name).ok_or(name)
    }

    /// Host time of submitting a task.
    pub fn submit(&self, work: &Work) -> Result<u64, FigureName> {
        let time = match *work {
            Work::Copy { entries, is_batch, .. } => {
                let one = self.known(submit_figure(work))?;
                if is_batch {
                    let saved = self.known(FigureName::BatchEntrySaving)?;
                    self.known(FigureName::BatchCall)? + f64::from(entries) * (one - saved).max(0.0)
                } else {
                    one
                }
            }
            Work::Kernel { .. } => self.known(FigureName::SubmitKernel)?,
            Work::Event => self.known(FigureName::SubmitEvent)?,
            Work::HostFunction { .. } | Work::Nothing => 0.0,
        };
        Ok(time as u64)
    }

    /// Host time of a call about memory.
    pub fn call(&self, call: Call) -> Result<u64, FigureName> {
        let time = match call {
            Call::Malloc => self.known(FigureName::Malloc)?,
            Call::Free => self.known(FigureName::Free)?,
            Call::MallocHost => self.known(FigureName::MallocHost)?,
            Call::FreeHost => self.known(FigureName::FreeHost)?,
            Call::Register { pages } => {
                let further = f64::from(pages.saturating_sub(1));
                self.known(FigureName::RegisterCall)? + further * self.known(FigureName::RegisterPage)?
            }
        };
        Ok(time as u64)
    }

    /// Time that a task keeps its engine busy.
    pub fn device(&self, work: &Work) -> Result<u64, FigureName> {
        let time = match *work {
            Work::Copy { source, target, bytes, entries, .. } => {
                let (start, bandwidth) = transfer_figures(source, target);
                let start = start.and_then(|name| self.get(name)).unwrap_or(0.0);
                f64::from(entries) * start + self.known(bandwidth)? * bytes as f64
            }
            Work::Kernel { ns: Some(ns), .. } => self.known(FigureName::KernelStart)? + ns as f64,
            Work::Kernel { ns: None, .. } => self.known(FigureName::KernelStart)?,
            Work::Event => self.known(FigureName::EventTask)?,
            Work::HostFunction { ns } => ns as f64,
            Work::Nothing => 0.0,
        };
        Ok(time as u64)
    }
}

/// The figure for the host time of a copy.
fn submit_figure(work: &Work) -> FigureName {
    match work.engine() {
        Engine::HostToDevice(_) | Engine::DeviceToHost(_) | Engine::Host => FigureName::SubmitHostCopy,
        _ => FigureName::SubmitDeviceCopy,
    }
}

/// The figures for the device time of a copy: before the first byte, and the bandwidth.
fn transfer_figures(source: Place, target: Place) -> (Option<FigureName>, FigureName) {
    match (source, target) {
        (Place::Pageable, Place::Device(_)) => (None, FigureName::PageableToDevice),
        (Place::Device(_), Place::Pageable) => (None, FigureName::DeviceToPageable),
        (Place::Device(from), Place::Device(to)) if from == to => (None, FigureName::InsideDevice),
        // On chips with two dies, devices 0 and 1 are one package, 2 and 3 the next.
        (Place::Device(from), Place::Device(to)) if from / 2 == to / 2 => {
            (Some(FigureName::PeerStart), FigureName::Peer)
        }
        (Place::Device(_), Place::Device(_)) => (Some(FigureName::FarPeerStart), FigureName::FarPeer),
        (Place::Device(_), Place::Pinned) => (None, FigureName::DeviceToHost),
        (Place::Pinned, Place::Device(_)) => (None, FigureName::HostToDevice),
        (Place::Pinned | Place::Pageable, Place::Pinned | Place::Pageable) => (None, FigureName::HostToHost),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use softacl_profiles::profile;

    fn costs(bound: Bound) -> Costs {
        Costs::of(profile(Some("Ascend910C"), None).unwrap().chip, bound)
    }

    #[test]
    fn bounds_enclose_the_expected_time() {
        let work = Work::copy(Place::Pinned, Place::Device(0), 1 << 20);
        let [fast, expected, slow] =
            [Bound::Fastest, Bound::Expected, Bound::Slowest].map(|bound| costs(bound).device(&work).unwrap());
        assert!(fast < expected && expected < slow, "{fast} {expected} {slow}");
        assert_eq!(expected, (f64::from(1 << 20) / 56.0) as u64);
    }

    #[test]
    fn unknown_figures_are_named() {
        let inside = Work::copy(Place::Device(0), Place::Device(0), 1);
        assert_eq!(costs(Bound::Expected).device(&inside), Err(FigureName::InsideDevice));
        let none = Costs::of(profile(Some("Ascend310P"), None).unwrap().chip, Bound::Expected);
        assert_eq!(none.submit(&Work::Event), Err(FigureName::SubmitEvent));
    }

    #[test]
    fn entries_of_a_batch_save_the_call() {
        let costs = costs(Bound::Expected);
        let one = Work::copy(Place::Pinned, Place::Device(0), 4096);
        let batch = Work::Copy {
            source: Place::Pinned,
            target: Place::Device(0),
            bytes: 64 * 4096,
            entries: 64,
            is_batch: true,
        };
        let (calls, joined) = (64 * costs.submit(&one).unwrap(), costs.submit(&batch).unwrap());
        assert!(joined < calls && joined > calls / 2, "{joined} {calls}");
        assert!(costs.device(&batch).unwrap().abs_diff(64 * costs.device(&one).unwrap()) <= 64);
    }
}
