//! Fault injection: the points at which fault rules apply to tasks, copies, memory and devices.
//!
//! The rules, their matching and the damage that they leave are in `softacl_faults`. What a lost device refuses is in
//! `context::stop`.

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
use softacl_sync::facade::{lock, sleep_or_yield};
use std::sync::Arc;
use std::time::Duration;

/// What fault rules do with a submitted task.
pub(crate) enum InjectionOutcome {
    Run,
    /// Runs after this wait.
    Wait(Arc<ExternalWait>),
    Fail(Error),
}

impl Machine {
    /// The fault injection of this machine, if enabled.
    pub fn injection(&self) -> Option<&Injection> {
        self.config.injection.as_deref()
    }

    /// The error that a rule for calls gives a call on `device`. `None` if the rule does not make calls fail.
    pub fn injected_call_error(&self, fired: &FiredRule<'_>, device: Option<u32>) -> Option<Error> {
        match (fired.effect, device) {
            (Effect::Code(code), _) => Some(fired.error(code)),
            (Effect::Lost, Some(device)) => Some(self.mark_lost(device, fired)),
            _ => None,
        }
    }

    /// Drops stuck tasks and everything queued after them when a context ends. A real device reset does not wait for
    /// them either.
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
        // One after the other: two lanes are never locked at once.
        let is_stuck = |task: &Task| matches!(task, Task::Control(Control::Await(wait)) if wait.is_stuck());
        if streams.iter().any(|stream| lock(&self.streams.slot(*stream).tasks.lane).any(is_stuck)) {
            self.drop_pending(key, self.streams.slot(key));
            // Wakes the steps of a run that was canceled.
            self.poll_external_waits();
        }
    }

    /// Applies fault rules to a submitted task. Captured tasks are not matched: they are matched when they run.
    pub(crate) fn outcome_for_task(&self, key: StreamKey, stream: &Stream, task: &Task) -> InjectionOutcome {
        let Some(injection) = self.injection() else { return InjectionOutcome::Run };
        let Some((kind, size)) = transfer_kind(task) else { return InjectionOutcome::Run };
        let device = stream.device();
        let touches = task.accesses(&self.memory);
        let delay = |time| InjectionOutcome::Wait(Arc::new(ExternalWait::new(WaitCondition::Delay).within(Some(time))));
        match self.check_damage(injection, &touches) {
            Ok(None) => {}
            Ok(Some(slow)) => return delay(slow),
            Err(error) => return InjectionOutcome::Fail(*error),
        }
        let other = || self.devices_of(&touches).into_iter().find(|other| *other != device);
        let context = || MatchContext {
            size: Some(size as u64),
            stream: Some(key.index() as u64),
            device: Some(u64::from(device)),
            peer: other().map(u64::from),
        };
        let fits = |point: &InjectionPoint| matches!(point, InjectionPoint::Task(wanted) if wanted.covers(kind));
        let Some(fired) = injection.first_firing(fits, context) else { return InjectionOutcome::Run };
        match fired.effect {
            Effect::Code(code) => {
                injection.damage().record_failure(device);
                InjectionOutcome::Fail(fired.error(code))
            }
            Effect::Slow(time) => delay(time),
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

    /// Refuses a blocking copy or fill that accesses bad memory or crosses a broken link, and delays it on a slow one.
    pub(crate) fn check_touches(&self, touches: &[Touch]) -> Result<()> {
        let Some(injection) = self.injection() else { return Ok(()) };
        match (self.check_damage(injection, touches)?, self.clock()) {
            (None, _) => {}
            (Some(slow), Some(clock)) => clock.pass(slow),
            (Some(slow), None) => sleep_or_yield(slow),
        }
        Ok(())
    }

    /// The devices whose memory is accessed.
    fn devices_of(&self, touches: &[Touch]) -> Vec<u32> {
        let device = |touch: &Touch| self.memory.device_of_mapped(touch.address);
        let mut devices: Vec<u32> = touches.iter().filter_map(device).collect();
        devices.sort_unstable();
        devices.dedup();
        devices
    }

    /// Refuses accesses to bad memory, and accesses to two devices whose link is broken. Returns how long a slow link
    /// delays the access.
    fn check_damage(&self, injection: &Injection, touches: &[Touch]) -> Result<Option<Duration>> {
        let mut slow = None;
        if let [one, other, ..] = *self.devices_of(touches) {
            slow = self.check_link(injection, one, other, touches.iter().map(|touch| touch.len).max().unwrap_or(0))?;
        }
        let damage = injection.damage();
        match touches.iter().find_map(|touch| damage.bad(touch.address, touch.len)) {
            Some(bad) => fail(Error::Injected { code: ECC, what: format!("uncorrectable memory error in {bad}") }),
            None => Ok(slow),
        }
    }

    /// Applies link rules to a copy between two devices. Returns how long it is delayed.
    fn check_link(&self, injection: &Injection, one: u32, other: u32, size: usize) -> Result<Option<Duration>> {
        let broken =
            || Error::Injected { code: LINK, what: format!("the link between devices {one} and {other} is broken") };
        if injection.damage().is_link_broken(one, other) {
            return fail(broken());
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
                Effect::Slow(time) => Ok(Some(time)),
                _ => {
                    injection.damage().break_link(one, other);
                    fail(fired.error_with(LINK, &format!("the link between devices {one} and {other} is broken; ")))
                }
            },
            None => Ok(None),
        }
    }

    /// Applies fault rules to a new allocation. Returns the range that goes bad, if any. On an error, the caller frees
    /// the allocation.
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

    /// Marks a part of an allocation as bad.
    pub(crate) fn mark_part_bad(&self, device: u32, start: usize, size: usize, part: ByteRange) {
        let offset = usize::try_from(part.offset).unwrap_or(usize::MAX).min(size);
        let len = usize::try_from(part.len).unwrap_or(usize::MAX).min(size - offset);
        if let Some(injection) = self.injection() {
            injection.damage().mark_bad(BadRange { device, start: start + offset, len });
        }
    }

    /// Attaches the bad ranges of physical memory to the addresses where it was mapped. Memory that is mapped several
    /// times is bad at its first mapping only, which is where it can be repaired.
    pub(crate) fn attach_damage(&self, request: &MapRequest<'_>) {
        if let (Some(_), MemoryKind::Device(device)) = (self.injection(), request.physical.place) {
            for part in lock(&request.physical.bad).drain(..) {
                self.mark_part_bad(device, request.extent.start, request.extent.size, part);
            }
        }
    }

    /// Detaches the bad ranges of unmapped addresses: the physical memory stays bad, the addresses do not.
    pub(crate) fn detach_damage(&self, physical: &Physical, extent: Extent) {
        if let (Some(injection), MemoryKind::Device(device)) = (self.injection(), physical.place) {
            let lifted = injection.damage().detach(device, extent.start, extent.size);
            lock(&physical.bad).extend(lifted);
        }
    }

    /// Marks the accessed device memory as bad. Returns the first range.
    fn mark_bad(&self, injection: &Injection, touches: &[Touch]) -> Option<BadRange> {
        let ranges = touches.iter().filter_map(|touch| {
            let device = self.memory.device_of_mapped(touch.address)?;
            Some(BadRange { device, start: touch.address, len: touch.len })
        });
        let mut damage = injection.damage();
        let mut first = None;
        for range in ranges {
            damage.mark_bad(range);
            first.get_or_insert(range);
        }
        first
    }

    /// Returns the health of a device.
    pub fn health(&self, device: i64) -> Result<DeviceHealth> {
        let is_lost = self.device(device)?.reasons.has(Reason::Lost);
        let Some(injection) = self.injection() else { return Ok(DeviceHealth::Well) };
        let (damage, device) = (injection.damage(), device as u32);
        let ranges = damage.ranges_of(device);
        Ok(if is_lost {
            DeviceHealth::Lost
        } else if !ranges.is_empty() {
            DeviceHealth::BadMemory(ranges)
        } else if damage.has_broken_link(device) {
            DeviceHealth::LinkGone
        } else if damage.has_failed(device) {
            DeviceHealth::Failed
        } else {
            DeviceHealth::Well
        })
    }

    /// Repairs bad memory of a device in a range. Returns `false` if none was bad.
    pub fn repair_memory(&self, device: i64, start: usize, len: usize) -> Result<bool> {
        self.device(device)?;
        Ok(self.injection().is_some_and(|injection| injection.damage().repair(device as u32, start, len)))
    }

    /// Repairs the links of a device and clears the failures of its tasks.
    pub fn repair_device(&self, device: i64) -> Result<()> {
        self.device(device)?;
        if let Some(injection) = self.injection() {
            let mut damage = injection.damage();
            damage.repair_links(device as u32);
            damage.forget_failure(device as u32);
        }
        Ok(())
    }
}

/// Kind and size of a task that moves bytes. `None` for other tasks.
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
        Move::Random(random) => (TaskKind::Fill, random.len()),
        Move::Kernel(kernel) => (TaskKind::Kernel, kernel.bytes()),
        Move::Reduce(reduction) => (TaskKind::Reduce, reduction.len),
        Move::Rearrange(rearranged) => (TaskKind::Copy, rearranged.ranges()[1].iter().map(|(_, len)| len).sum()),
        _ => return None,
    })
}
