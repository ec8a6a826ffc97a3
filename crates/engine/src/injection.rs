//! What rules do to a machine: the places where tasks, copies, memory and devices meet them.

use crate::keys::StreamKey;
use crate::machine::Machine;
use crate::slow_path::Reason;
use crate::stream::Stream;
use crate::task::external_wait::{ExternalWait, WaitCondition};
use crate::task::moves::Move;
use crate::task::{Control, Task};
use softacl_errors::{Error, Result, fail};
use softacl_faults::{
    BadRange, ByteRange, DeviceHealth, ECC, Effect, FiredRule, Injection, InjectionPoint, LINK, MatchContext, TaskKind,
};
use softacl_memory::MemoryKind;
use softacl_memory::extent::Extent;
use softacl_memory::physical::Physical;
use softacl_memory::reservation::MapRequest;
use softacl_memory::touch::Touch;
use softacl_sync::facade::lock;
use std::sync::Arc;

/// What becomes of a task that is being submitted.
pub(crate) enum InjectionOutcome {
    Run,
    /// It stands behind this first.
    Wait(Arc<ExternalWait>),
    Fail(Error),
}

impl Machine {
    /// The faults that are injected, if any are.
    pub fn injection(&self) -> Option<&Injection> {
        self.config.injection.as_deref()
    }

    /// What a rule about calls says of a call on a device: the error that it returns.
    pub fn injected_call_error(&self, fired: &FiredRule<'_>, device: Option<u32>) -> Option<Error> {
        match (fired.effect, device) {
            (Effect::Code(code), _) => Some(fired.error(code)),
            (Effect::Lost, Some(device)) => Some(self.mark_lost(device, fired)),
            _ => None,
        }
    }

    /// The end of a context drops a task that a rule made stand still, and all behind it: a card that
    /// is reset does not wait for them either.
    pub(crate) fn drop_stuck(&self, key: StreamKey) {
        if self.injection().is_none() {
            return;
        }
        let mut streams = vec![key];
        lock(&self.streams.slot(key).tasks.lane).any(|task| {
            if let Task::Control(Control::Join(run)) = task {
                streams.extend_from_slice(run.streams());
            }
            false
        });
        // One after the other: no two lanes are locked at once.
        let is_stuck = |task: &Task| matches!(task, Task::Control(Control::Await(wait)) if wait.is_stuck());
        if streams.iter().any(|stream| lock(&self.streams.slot(*stream).tasks.lane).any(is_stuck)) {
            self.drop_pending(key, self.streams.slot(key));
            // Steps of a run that was given up go on.
            self.poll_external_waits();
        }
    }

    /// Decides what becomes of a task. Captured work is not asked about: it is when it runs.
    pub(crate) fn outcome_for_task(&self, key: StreamKey, stream: &Stream, task: &Task) -> InjectionOutcome {
        let Some(injection) = self.injection() else { return InjectionOutcome::Run };
        let Some((kind, size)) = transfer_kind(task) else { return InjectionOutcome::Run };
        let device = stream.device();
        let touches = task.accesses(&self.memory);
        if let Err(error) = self.check_damage(injection, &touches) {
            return InjectionOutcome::Fail(*error);
        }
        let context = || MatchContext {
            size: Some(size as u64),
            stream: Some(key.index() as u64),
            device: Some(u64::from(device)),
            peer: None,
        };
        let fits = |point: &InjectionPoint| matches!(point, InjectionPoint::Task(wanted) if wanted.covers(kind));
        let Some(fired) = injection.first_firing(fits, context) else { return InjectionOutcome::Run };
        match fired.effect {
            Effect::Code(code) => {
                injection.damage().record_link_failure(device);
                InjectionOutcome::Fail(fired.error(code))
            }
            Effect::Slow(time) => {
                InjectionOutcome::Wait(Arc::new(ExternalWait::new(WaitCondition::Delay).within(Some(time))))
            }
            Effect::Stuck => {
                let run = task.run().cloned();
                InjectionOutcome::Wait(Arc::new(ExternalWait::new(WaitCondition::Never(run))))
            }
            Effect::Ecc(_) => {
                let bad = self.mark_bad(injection, &touches);
                let what = bad.map_or(String::new(), |bad| format!("uncorrectable memory error in {bad}; "));
                InjectionOutcome::Fail(fired.error_with(ECC, &what))
            }
            Effect::Lost => InjectionOutcome::Fail(self.mark_lost(device, &fired)),
            Effect::Refused => InjectionOutcome::Run,
        }
    }

    /// What blocking copies and fills meet: bad memory and links that are gone.
    pub(crate) fn check_touches(&self, touches: &[Touch]) -> Result<()> {
        self.injection().map_or(Ok(()), |injection| self.check_damage(injection, touches))
    }

    fn check_damage(&self, injection: &Injection, touches: &[Touch]) -> Result<()> {
        let place = |touch: &Touch| self.memory.device_of_mapped(touch.address);
        let mut devices: Vec<u32> = touches.iter().filter_map(place).collect();
        devices.sort_unstable();
        devices.dedup();
        if let [one, other, ..] = *devices {
            self.check_link(injection, one, other, touches.iter().map(|touch| touch.len).max().unwrap_or(0))?;
        }
        let damage = injection.damage();
        match touches.iter().find_map(|touch| damage.bad(touch.address, touch.len)) {
            Some(bad) => fail(Error::Injected { code: ECC, what: format!("uncorrectable memory error in {bad}") }),
            None => Ok(()),
        }
    }

    /// A copy goes from one device to another.
    fn check_link(&self, injection: &Injection, one: u32, other: u32, size: usize) -> Result<()> {
        let gone =
            || Error::Injected { code: LINK, what: format!("the link between devices {one} and {other} is gone") };
        if injection.damage().is_link_broken(one, other) {
            return fail(gone());
        }
        let context = || MatchContext {
            size: Some(size as u64),
            stream: None,
            device: Some(u64::from(one)),
            peer: Some(u64::from(other)),
        };
        match injection.first_firing(|point| *point == InjectionPoint::Link, context) {
            Some(fired) => match fired.effect {
                Effect::Code(code) => fail(fired.error(code)),
                _ => {
                    injection.damage().break_link(one, other);
                    fail(fired.error_with(LINK, &format!("the link between devices {one} and {other} is gone; ")))
                }
            },
            None => Ok(()),
        }
    }

    /// Device memory was allocated. With an error, who has allocated it gives it back.
    pub(crate) fn check_allocation(&self, device: u32, size: usize) -> Result<Option<ByteRange>> {
        let Some(injection) = self.injection() else { return Ok(None) };
        let context =
            || MatchContext { size: Some(size as u64), device: Some(u64::from(device)), ..MatchContext::default() };
        let Some(fired) = injection.first_firing(|point| *point == InjectionPoint::Allocation, context) else {
            return Ok(None);
        };
        match fired.effect {
            Effect::Code(code) => fail(fired.error(code)),
            Effect::Ecc(part) => Ok(Some(part.unwrap_or(ByteRange { offset: 0, len: size as u64 }))),
            _ => Ok(None),
        }
    }

    /// A part of an allocation goes bad.
    pub(crate) fn mark_part_bad(&self, device: u32, start: usize, size: usize, part: ByteRange) {
        let offset = usize::try_from(part.offset).unwrap_or(usize::MAX).min(size);
        let len = usize::try_from(part.len).unwrap_or(usize::MAX).min(size - offset);
        if let Some(injection) = self.injection() {
            injection.damage().spoil(BadRange { device, start: start + offset, len });
        }
    }

    /// Physical memory was mapped: what is bad of it is so at its addresses. In several places at once it
    /// is bad in the first, which is where it can be repaired.
    pub(crate) fn attach_damage(&self, request: &MapRequest<'_>) {
        if let (Some(_), MemoryKind::Device(device)) = (self.injection(), request.physical.place) {
            for part in lock(&request.physical.bad).drain(..) {
                self.mark_part_bad(device, request.extent.start, request.extent.size, part);
            }
        }
    }

    /// Physical memory was unmapped: it stays bad, its addresses do not.
    pub(crate) fn detach_damage(&self, physical: &Physical, extent: Extent) {
        if let (Some(injection), MemoryKind::Device(device)) = (self.injection(), physical.place) {
            let lifted = injection.damage().lift(device, extent.start, extent.size);
            lock(&physical.bad).extend(lifted);
        }
    }

    /// Device memory that was touched goes bad; the first of it is returned.
    fn mark_bad(&self, injection: &Injection, touches: &[Touch]) -> Option<BadRange> {
        let ranges = touches.iter().filter_map(|touch| {
            let device = self.memory.device_of_mapped(touch.address)?;
            Some(BadRange { device, start: touch.address, len: touch.len })
        });
        let mut damage = injection.damage();
        let mut first = None;
        for range in ranges {
            damage.spoil(range);
            first.get_or_insert(range);
        }
        first
    }

    /// What is wrong with a device.
    pub fn health(&self, device: i64) -> Result<DeviceHealth> {
        let is_lost = self.device(device)?.reasons.has(Reason::Lost);
        let Some(injection) = self.injection() else { return Ok(DeviceHealth::Well) };
        let (damage, device) = (injection.damage(), device as u32);
        let ranges = damage.ranges_of(device);
        Ok(if is_lost {
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
        Ok(self.injection().is_some_and(|injection| injection.damage().repair(device as u32, start, len)))
    }

    /// Links of a device work again, and failures of its tasks are forgotten.
    pub fn repair_device(&self, device: i64) -> Result<()> {
        self.device(device)?;
        if let Some(injection) = self.injection() {
            let mut damage = injection.damage();
            damage.mend_links(device as u32);
            damage.forget_failure(device as u32);
        }
        Ok(())
    }
}

/// The kind of a task that moves bytes, and how many.
fn transfer_kind(task: &Task) -> Option<(TaskKind, usize)> {
    let work = match task {
        Task::Move(work) => work,
        Task::Control(Control::Node { node, .. }) => return node.content().with_task(transfer_kind),
        Task::Control(_) => return None,
    };
    Some(match work {
        Move::Copy(span) => (TaskKind::Copy, span.len),
        Move::Staged { buffer, .. } => (TaskKind::Copy, buffer.len()),
        Move::Described { .. } => (TaskKind::Copy, 0),
        Move::Indirect(indirect) => (TaskKind::Copy, indirect.len),
        Move::Batch(batch) => (TaskKind::Batch, batch.bytes),
        Move::Plane(plane) => (TaskKind::Plane, plane.width * plane.height),
        Move::Fill { len, .. } => (TaskKind::Fill, *len),
        Move::FillWords { count, .. } => (TaskKind::Fill, 4 * count),
        Move::Reduce(reduction) => (TaskKind::Reduce, reduction.len),
        Move::Rearrange(rearranged) => (TaskKind::Copy, rearranged.ranges()[1].iter().map(|(_, len)| len).sum()),
        _ => return None,
    })
}
