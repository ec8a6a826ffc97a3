//! What rules do to a machine: the places where tasks, copies, memory and devices meet them.

use super::damage::{BadRange, DeviceHealth, ECC, HEARTBEAT, LINK};
use super::rule::{Effect, Facts, Part, Point, TaskKind};
use super::{Injection, Strike};
use crate::context::Condition;
use crate::drive::outside::{Sign, Vigil};
use crate::error::{Error, Result, fail};
use crate::machine::Machine;
use crate::memory::Place;
use crate::memory::heap::Extent;
use crate::memory::physical::Physical;
use crate::memory::reservation::Plan;
use crate::probe::Touch;
use crate::stream::{Stream, StreamKey};
use crate::sync::{Ordering, lock};
use crate::task::Task;
use std::sync::Arc;

/// What becomes of a task that is being submitted.
pub(crate) enum Fate {
    Run,
    /// It stands behind this first.
    Wait(Arc<Vigil>),
    Fail(Error),
}

impl Machine {
    /// The faults that are injected, if any are.
    pub fn injection(&self) -> Option<&Injection> {
        self.config.injection.as_deref()
    }

    /// What a rule about calls says of a call on a device: the error that it returns.
    pub fn struck_call(&self, strike: &Strike<'_>, device: Option<u32>) -> Option<Error> {
        match (strike.effect, device) {
            (Effect::Code(code), _) => Some(strike.error(code)),
            (Effect::Lost, Some(device)) => Some(self.lose(device, strike)),
            _ => None,
        }
    }

    /// Refuses what uses a device that is being aborted or that is lost. Called when the condition is not 0.
    #[cold]
    pub(crate) fn check_condition(&self, device: u32) -> Result<()> {
        let condition = self.devices[device as usize].condition.load(Ordering::Acquire);
        if condition & Condition::LOST != 0 {
            return fail(lost(device));
        }
        if condition & Condition::ABORTING != 0 {
            return fail(Error::Aborting(device));
        }
        Ok(())
    }

    /// Refuses a device that is lost. One whose tasks are being aborted may be set.
    pub(crate) fn check_condition_of(&self, device: i64) -> Result<()> {
        let condition = self.device(device)?.condition.load(Ordering::Acquire);
        if condition & Condition::LOST != 0 { fail(lost(device as u32)) } else { Ok(()) }
    }

    /// The end of a context drops a task that a rule made stand still, and all behind it: a card that
    /// is reset does not wait for them either.
    pub(crate) fn drop_stuck(&self, key: StreamKey) {
        if self.injection().is_none() {
            return;
        }
        let mut lanes = vec![key];
        lock(&self.streams.slot(key).track.lane).any(|task| {
            if let Task::Join(run) = task {
                lanes.extend_from_slice(run.lanes());
            }
            false
        });
        // One after the other: no two lanes are locked at once.
        let is_stuck = |task: &Task| matches!(task, Task::Await(vigil) if vigil.is_stuck());
        if lanes.iter().any(|lane| lock(&self.streams.slot(*lane).track.lane).any(is_stuck)) {
            self.drop_pending(key, self.streams.slot(key));
            // Steps of a run that was given up go on.
            self.look_again();
        }
    }

    /// Decides what becomes of a task. Captured work is not asked about: it is when it runs.
    pub(crate) fn fate(&self, key: StreamKey, stream: &Stream, task: &Task) -> Fate {
        let Some(injection) = self.injection() else { return Fate::Run };
        let Some((kind, size)) = moving(task) else { return Fate::Run };
        let device = stream.device();
        let touches = task.accesses(&self.memory);
        if let Err(error) = self.struck_touches(injection, &touches) {
            return Fate::Fail(*error);
        }
        let facts = || Facts {
            size: Some(size as u64),
            stream: Some(key.index() as u64),
            device: Some(u64::from(device)),
            peer: None,
        };
        let fits = |point: &Point| matches!(point, Point::Task(wanted) if wanted.covers(kind));
        let Some(strike) = injection.strike(fits, facts) else { return Fate::Run };
        match strike.effect {
            Effect::Code(code) => {
                lock(&injection.damage).note_failure(device);
                Fate::Fail(strike.error(code))
            }
            Effect::Slow(time) => Fate::Wait(Arc::new(Vigil::new(Sign::Pause).within(Some(time)))),
            Effect::Stuck => {
                let run = match task {
                    Task::Node { run, .. } => Some(Arc::clone(run)),
                    _ => None,
                };
                Fate::Wait(Arc::new(Vigil::new(Sign::Never(run))))
            }
            Effect::Ecc(_) => {
                let bad = self.spoil(injection, &touches);
                let what = bad.map_or(String::new(), |bad| format!("uncorrectable memory error in {bad}; "));
                Fate::Fail(strike.tell(ECC, &what))
            }
            Effect::Lost => Fate::Fail(self.lose(device, &strike)),
            Effect::Refused => Fate::Run,
        }
    }

    /// What blocking copies and fills meet: bad memory and links that are gone.
    pub(crate) fn check_touches(&self, touches: &[Touch]) -> Result<()> {
        self.injection().map_or(Ok(()), |injection| self.struck_touches(injection, touches))
    }

    fn struck_touches(&self, injection: &Injection, touches: &[Touch]) -> Result<()> {
        let place = |touch: &Touch| self.memory.home_of(touch.address);
        let mut devices: Vec<u32> = touches.iter().filter_map(place).collect();
        devices.sort_unstable();
        devices.dedup();
        if let [one, other, ..] = *devices {
            self.cross(injection, one, other, touches.iter().map(|touch| touch.len).max().unwrap_or(0))?;
        }
        let damage = lock(&injection.damage);
        match touches.iter().find_map(|touch| damage.bad(touch.address, touch.len)) {
            Some(bad) => fail(Error::Injected { code: ECC, what: format!("uncorrectable memory error in {bad}") }),
            None => Ok(()),
        }
    }

    /// A copy goes from one device to another.
    fn cross(&self, injection: &Injection, one: u32, other: u32, size: usize) -> Result<()> {
        let gone =
            || Error::Injected { code: LINK, what: format!("the link between devices {one} and {other} is gone") };
        if lock(&injection.damage).is_cut(one, other) {
            return fail(gone());
        }
        let facts = || Facts {
            size: Some(size as u64),
            stream: None,
            device: Some(u64::from(one)),
            peer: Some(u64::from(other)),
        };
        match injection.strike(|point| *point == Point::Link, facts) {
            Some(strike) => match strike.effect {
                Effect::Code(code) => fail(strike.error(code)),
                _ => {
                    lock(&injection.damage).cut(one, other);
                    fail(strike.tell(LINK, &format!("the link between devices {one} and {other} is gone; ")))
                }
            },
            None => Ok(()),
        }
    }

    /// Device memory was allocated. With an error, who has allocated it gives it back.
    pub(crate) fn check_allocation(&self, device: u32, size: usize) -> Result<Option<Part>> {
        let Some(injection) = self.injection() else { return Ok(None) };
        let facts = || Facts { size: Some(size as u64), device: Some(u64::from(device)), ..Facts::default() };
        let Some(strike) = injection.strike(|point| *point == Point::Allocation, facts) else { return Ok(None) };
        match strike.effect {
            Effect::Code(code) => fail(strike.error(code)),
            Effect::Ecc(part) => Ok(Some(part.unwrap_or(Part { offset: 0, len: size as u64 }))),
            _ => Ok(None),
        }
    }

    /// A part of an allocation goes bad.
    pub(crate) fn spoil_part(&self, device: u32, start: usize, size: usize, part: Part) {
        let offset = usize::try_from(part.offset).unwrap_or(usize::MAX).min(size);
        let len = usize::try_from(part.len).unwrap_or(usize::MAX).min(size - offset);
        if let Some(injection) = self.injection() {
            lock(&injection.damage).spoil(BadRange { device, start: start + offset, len });
        }
    }

    /// Physical memory was mapped: what is bad of it is so at its addresses. In several places at once it
    /// is bad in the first, which is where it can be repaired.
    pub(crate) fn lay_damage(&self, plan: &Plan<'_>) {
        if let (Some(_), Place::Device(device)) = (self.injection(), plan.physical.place) {
            for part in lock(&plan.physical.bad).drain(..) {
                self.spoil_part(device, plan.extent.start, plan.extent.size, part);
            }
        }
    }

    /// Physical memory was unmapped: it stays bad, its addresses do not.
    pub(crate) fn lift_damage(&self, physical: &Physical, extent: Extent) {
        if let (Some(injection), Place::Device(device)) = (self.injection(), physical.place) {
            let lifted = lock(&injection.damage).lift(device, extent.start, extent.size);
            lock(&physical.bad).extend(lifted);
        }
    }

    /// Device memory that was touched goes bad; the first of it is returned.
    fn spoil(&self, injection: &Injection, touches: &[Touch]) -> Option<BadRange> {
        let ranges = touches.iter().filter_map(|touch| {
            let device = self.memory.home_of(touch.address)?;
            Some(BadRange { device, start: touch.address, len: touch.len })
        });
        let mut damage = lock(&injection.damage);
        let mut first = None;
        for range in ranges {
            damage.spoil(range);
            first.get_or_insert(range);
        }
        first
    }

    /// A device stops to answer: its contexts are stopped and it refuses everything until it is reset.
    fn lose(&self, device: u32, strike: &Strike<'_>) -> Error {
        let error = strike.tell(HEARTBEAT, &format!("device {device} was lost and must be reset; "));
        if let Some(device) = self.devices.get(device as usize) {
            device.condition.fetch_or(Condition::LOST, Ordering::SeqCst);
        }
        // For good, as for every stopped context: short ways do not ask for it.
        self.oddities.fetch_add(1, Ordering::SeqCst);
        for (_, context) in self.contexts.live() {
            if context.device() == device {
                context.stop(&error);
            }
        }
        error
    }

    /// A device was reset: what rules have broken is whole again.
    pub(crate) fn restore(&self, device: u32) {
        if let Some(injection) = self.injection() {
            self.devices[device as usize].condition.fetch_and(!Condition::LOST, Ordering::SeqCst);
            lock(&injection.damage).reset(device);
        }
    }

    /// What is wrong with a device.
    pub fn health(&self, device: i64) -> Result<DeviceHealth> {
        let condition = self.device(device)?.condition.load(Ordering::Acquire);
        let Some(injection) = self.injection() else { return Ok(DeviceHealth::Well) };
        let (damage, device) = (lock(&injection.damage), device as u32);
        let ranges = damage.ranges_of(device);
        Ok(if condition & Condition::LOST != 0 {
            DeviceHealth::Lost
        } else if !ranges.is_empty() {
            DeviceHealth::BadMemory(ranges)
        } else if damage.has_cut_link(device) {
            DeviceHealth::LinkGone
        } else if damage.has_failed(device) {
            DeviceHealth::Failed
        } else {
            DeviceHealth::Well
        })
    }

    /// Bad memory of a device at these addresses becomes good. Whether there was any.
    pub fn repair_memory(&self, device: i64, start: usize, len: usize) -> Result<bool> {
        self.device(device)?;
        Ok(self.injection().is_some_and(|injection| lock(&injection.damage).mend(device as u32, start, len)))
    }

    /// Links of a device work again, and failures of its tasks are forgotten.
    pub fn repair_device(&self, device: i64) -> Result<()> {
        self.device(device)?;
        if let Some(injection) = self.injection() {
            let mut damage = lock(&injection.damage);
            damage.mend_links(device as u32);
            damage.forget_failure(device as u32);
        }
        Ok(())
    }
}

fn lost(device: u32) -> Error {
    Error::Injected { code: HEARTBEAT, what: format!("device {device} is lost and must be reset") }
}

/// The kind of a task that moves bytes, and how many.
fn moving(task: &Task) -> Option<(TaskKind, usize)> {
    Some(match task {
        Task::Copy(span) => (TaskKind::Copy, span.len),
        Task::Staged { buffer, .. } => (TaskKind::Copy, buffer.len()),
        Task::Described { .. } => (TaskKind::Copy, 0),
        Task::Indirect(indirect) => (TaskKind::Copy, indirect.len),
        Task::Batch(batch) => (TaskKind::Batch, batch.bytes),
        Task::Plane(plane) => (TaskKind::Plane, plane.width * plane.height),
        Task::Fill { len, .. } => (TaskKind::Fill, *len),
        Task::FillWords { count, .. } => (TaskKind::Fill, 4 * count),
        Task::Reduce(reduction) => (TaskKind::Reduce, reduction.len),
        Task::Rearrange(rearranged) => (TaskKind::Copy, rearranged.ranges()[1].iter().map(|(_, len)| len).sum()),
        Task::Node { node, .. } => return node.content().with_task(moving),
        _ => return None,
    })
}
