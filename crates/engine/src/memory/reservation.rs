//! Reserved addresses and what is mapped there.
//!
//! All reservations are in one area of addresses that is made at the first one; it has two parts like
//! the memory of devices, what the program sees and what the engine reaches. Mappings that touch each
//! other in one reservation form a run: a copy may go over the borders inside a run.
//!
//! Who may touch what: `table` is read by every look-up and written only by who holds `changes`; what is
//! mapped in the area changes only under `changes`. Mappings that are taken away while queued work may
//! use them keep their bytes in `leaving`, until that work is done or the addresses are mapped again.

use super::MemoryKind;
use super::heap::{Extent, Idle};
use super::physical::{MemoryLocation, Physical};
use super::region::{Access, Region, Rights};
use crate::error::{Error, MemoryPool, Result, fail};
use crate::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, lock};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, OnceLock, PoisonError};

/// Everything is a multiple of this: the page of a device.
pub(crate) const GRANULE: usize = 2 << 20;
const GIB: usize = 1 << 30;
/// Where reserved addresses are on a device, and how many there are (specification 7).
const AREA_START: usize = 16 << 40;
const AREA_LEN: usize = 8 << 40;
/// The smallest area that is of use.
const AREA_LEAST: usize = 1 << 30;

#[derive(Default)]
pub(crate) struct Reservations {
    /// The host may touch what is mapped.
    unified: bool,
    area: OnceLock<Area>,
    table: RwLock<Table>,
    changes: Mutex<PendingUnmaps>,
}

struct Area {
    /// What the program sees; absent where it is the backing itself.
    public: Option<Region>,
    backing: Region,
    shift: isize,
}

/// Ranges whose bytes are still there for queued work, or because the system has refused to unmap them.
#[derive(Default)]
struct PendingUnmaps(Vec<(Extent, Idle)>);

impl PendingUnmaps {
    /// Hides a range, or does so later.
    fn unmap_or_defer(&mut self, area: &Area, extent: Extent) {
        if !area.hide(extent) {
            self.0.push((extent, Box::new(|| true)));
        }
    }
}

#[derive(Default)]
struct Table {
    /// Reservations by start. Those that were released wait here for their bytes to leave.
    ranges: BTreeMap<usize, Range>,
    mappings: BTreeMap<usize, Mapping>,
    /// Mappings with access that touch each other, for look-ups.
    runs: BTreeMap<usize, MappedRun>,
}

struct Range {
    len: usize,
    is_released: bool,
}

struct Mapping {
    physical: Arc<Physical>,
    /// Bytes of addresses, in granules.
    span: usize,
    /// The bytes that the program was given.
    extent: Extent,
    rights: BTreeMap<MemoryLocation, Rights>,
    is_distant: bool,
}

#[derive(Clone, Copy)]
struct MappedRun {
    size: usize,
    place: MemoryKind,
    is_distant: bool,
}

/// What an address in the area is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MappedAddress {
    pub(crate) extent: Extent,
    pub(crate) place: MemoryKind,
    pub(crate) is_distant: bool,
    pub(crate) reach: usize,
}

/// Physical memory that is to be mapped.
pub(crate) struct MapRequest<'a> {
    pub(crate) physical: &'a Arc<Physical>,
    /// Where in the file.
    pub(crate) offset: usize,
    /// The bytes that the program gets; they start within the first page of the mapping.
    pub(crate) extent: Extent,
    pub(crate) has_access: bool,
    pub(crate) is_distant: bool,
}

impl Reservations {
    pub(crate) fn new(unified: bool) -> Reservations {
        Reservations { unified, ..Reservations::default() }
    }

    /// Reserves addresses: at `wish`, or wherever there is room.
    pub(crate) fn reserve(&self, size: usize, wish: Option<usize>) -> Result<usize> {
        let mut leaving = self.changes();
        let area = self.area()?;
        self.finish_unmaps(area, &mut leaving);
        let none = || Error::OutOfMemory {
            pool: MemoryPool::ReservedAddresses,
            asked: size,
            free: 0,
            total: area.backing.len(),
        };
        let len = size.checked_next_multiple_of(GRANULE).ok_or_else(none)?;
        let alignment = if size > GIB { GIB } else { GRANULE };
        let mut table = self.write();
        let (first, last) = (area.first(), area.first() + area.backing.len());
        let start = match wish {
            Some(start) => {
                let fits =
                    start % alignment == 0 && start >= first && start.checked_add(len).is_some_and(|end| end <= last);
                if !fits {
                    return fail(Error::Parameter(format!(
                        "{len} bytes cannot be reserved at {start:#x}: reserved addresses are from {first:#x} to {last:#x}, in multiples of {alignment}"
                    )));
                }
                if table.ranges.range(..start + len).next_back().is_some_and(|(other, range)| other + range.len > start)
                {
                    return fail(Error::Parameter(format!("addresses at {start:#x} are reserved already")));
                }
                start
            }
            None => table.room(first, last, len, alignment).ok_or_else(none)?,
        };
        table.ranges.insert(start, Range { len, is_released: false });
        Ok(start)
    }

    pub(crate) fn release(&self, start: usize) -> Result<()> {
        let mut leaving = self.changes();
        let mut table = self.write();
        let unknown = || Error::Parameter(format!("{start:#x} is not the start of a reserved range"));
        let len = table.ranges.get(&start).filter(|range| !range.is_released).ok_or_else(unknown)?.len;
        if let Some((mapped, _)) = table.mappings.range(start..start + len).next() {
            return fail(Error::Parameter(format!(
                "memory is still mapped at {mapped:#x} in the reserved range at {start:#x}: unmap it first"
            )));
        }
        table.ranges.get_mut(&start).expect("just found").is_released = true;
        drop(table);
        if let Some(area) = self.area.get() {
            self.finish_unmaps(area, &mut leaving);
        }
        Ok(())
    }

    /// Maps memory in a reserved range.
    pub(crate) fn map(&self, plan: &MapRequest<'_>) -> Result<()> {
        let mut leaving = self.changes();
        let area = self.area()?;
        let mapping = Mapping::new(plan);
        let start = plan.extent.start - plan.extent.start % GRANULE;
        let end = start.checked_add(mapping.span);
        let table = self.read();
        let range = table.range_at(start).filter(|(first, len)| end.is_some_and(|end| end <= first + len));
        let Some((first, len)) = range else {
            return fail(Error::Parameter(format!(
                "{} bytes at {start:#x} are not all in one reserved range",
                mapping.span
            )));
        };
        let (before, mut there) = (table.mapping_at(start), table.mappings.range(start..start + mapping.span));
        if before.is_some() || there.next().is_some() {
            return fail(Error::Parameter(format!("memory is mapped at {start:#x} already: unmap it first")));
        }
        if let Some((_, other)) = table.mappings.range(first..first + len).next() {
            let (there, here) = (&other.physical, plan.physical);
            if there.place != here.place || there.is_imported != here.is_imported {
                return fail(Error::Parameter(format!(
                    "the reserved range at {first:#x} has {} mapped already, and one range cannot have {} as well",
                    describe(there),
                    describe(here)
                )));
            }
        }
        drop(table);
        // What leaves and overlaps must go now: its bytes would show around the new ones.
        let clash = |extent: &Extent| extent.start < start + mapping.span && start < extent.start + extent.size;
        leaving.0.retain(|(extent, _)| !clash(extent) || !area.hide(*extent));
        self.finish_unmaps(area, &mut leaving);
        if leaving.0.iter().any(|(extent, _)| clash(extent)) {
            return fail(Error::Feature("the system could not unmap what was there before".to_owned()));
        }
        if let Err(error) = area.show(start, &mapping, plan.offset, self.unified) {
            // A part of it may be there.
            leaving.unmap_or_defer(area, Extent { start, size: mapping.span });
            return fail(Error::Feature(format!("the memory could not be mapped: {error}")));
        }
        let mut table = self.write();
        table.mappings.insert(start, mapping);
        if plan.has_access {
            table.merge_run(start);
        }
        Ok(())
    }

    /// Takes a mapping away. `idle` says whether queued work may use the bytes that the engine reaches
    /// at an address, and until when.
    pub(crate) fn unmap(&self, address: usize, idle: impl FnOnce(usize, usize) -> Option<Idle>) -> Result<()> {
        let mut leaving = self.changes();
        let start = address - address % GRANULE;
        let mut table = self.write();
        if table.mappings.get(&start).is_none_or(|mapping| mapping.extent.start != address) {
            return fail(Error::Parameter(format!("{address:#x} is not the start of mapped memory")));
        }
        table.split_run(start);
        let mapping = table.mappings.remove(&start).expect("just found");
        drop(table);
        let area = self.area()?;
        let extent = Extent { start, size: mapping.span };
        match idle(start.wrapping_add_signed(area.shift), mapping.span) {
            Some(idle) => leaving.0.push((extent, idle)),
            None => leaving.unmap_or_defer(area, extent),
        }
        self.finish_unmaps(area, &mut leaving);
        Ok(())
    }

    /// Gives rights for a range that whole mappings cover.
    pub(crate) fn set_rights(&self, start: usize, size: usize, rights: &[(MemoryLocation, Rights)]) -> Result<()> {
        let _changes = self.changes();
        let area = self.area()?;
        let mut table = self.write();
        let starts = table
            .cover(start, size)
            .ok_or_else(|| Error::Parameter(format!("{size} bytes at {start:#x} are not covered by whole mappings")))?;
        for start in starts {
            table.split_run(start);
            let mapping = table.mappings.get_mut(&start).expect("it covers the range");
            mapping.rights.extend(rights.iter().copied());
            let protected = area.protect(start, mapping, self.unified);
            if mapping.access() != Rights::None {
                table.merge_run(start);
            }
            protected.map_err(|error| Error::Feature(format!("the rights could not be set: {error}")))?;
        }
        Ok(())
    }

    pub(crate) fn rights(&self, address: usize, home: MemoryLocation) -> Result<Rights> {
        let table = self.read();
        let (_, mapping) = table.mapping_at(address).ok_or_else(|| nothing(address))?;
        Ok(mapping.rights.get(&home).copied().unwrap_or(Rights::None))
    }

    /// The physical memory that is mapped at an address, and where it begins there.
    pub(crate) fn mapped(&self, address: usize) -> Option<(Arc<Physical>, Extent)> {
        let table = self.read();
        let (_, mapping) = table.mapping_at(address)?;
        Some((Arc::clone(&mapping.physical), mapping.extent))
    }

    /// Starts of everything that is mapped and is at a place.
    pub(crate) fn mapped_of(&self, place: MemoryKind) -> Vec<usize> {
        let table = self.read();
        table.mappings.values().filter(|mapping| mapping.physical.place == place).map(|m| m.extent.start).collect()
    }

    #[inline]
    pub(crate) fn contains(&self, address: usize) -> bool {
        self.area.get().is_some_and(|area| address.wrapping_sub(area.first()) < area.backing.len())
    }

    /// Where the addresses of the area begin, for the program and for the engine.
    pub(crate) fn starts(&self) -> impl Iterator<Item = usize> {
        self.area.get().into_iter().flat_map(|area| [area.first(), area.backing.start()])
    }

    /// What copies can use at an address of the area.
    pub(crate) fn find(&self, side: &'static str, address: usize) -> Result<MappedAddress> {
        let area = self.area()?;
        let table = self.read();
        let run = table.runs.range(..=address).next_back();
        if let Some((&start, run)) = run.filter(|(start, run)| address - **start < run.size) {
            let extent = Extent { start, size: run.size };
            let reach = address.wrapping_add_signed(area.shift);
            return Ok(MappedAddress { extent, place: run.place, is_distant: run.is_distant, reach });
        }
        let no_access = table.mapping_at(address).is_some();
        fail(Error::NotMapped { side, address, why: if no_access { NO_ACCESS } else { NOTHING } })
    }

    /// The address by which the program knows what the engine reaches at `reach`.
    pub(crate) fn visible(&self, reach: usize) -> Option<usize> {
        let area = self.area.get().filter(|area| area.backing.contains(reach))?;
        Some(reach.wrapping_add_signed(-area.shift))
    }

    /// Hides what no queued work uses any more, and forgets released ranges that it was in.
    fn finish_unmaps(&self, area: &Area, leaving: &mut PendingUnmaps) {
        leaving.0.retain(|(extent, idle)| !(idle() && area.hide(*extent)));
        let mut table = self.write();
        table.ranges.retain(|start, range| {
            let used = |(extent, _): &(Extent, Idle)| extent.start >= *start && extent.start < *start + range.len;
            !range.is_released || leaving.0.iter().any(used)
        });
    }

    fn area(&self) -> Result<&Area> {
        if let Some(area) = self.area.get() {
            return Ok(area);
        }
        let made = Area::new(self.unified).map_err(|error| {
            Error::Setup(format!("could not reserve addresses for mapping: {error}; raise the limit (ulimit -v)"))
        })?;
        Ok(self.area.get_or_init(|| made))
    }

    fn changes(&self) -> MutexGuard<'_, PendingUnmaps> {
        lock(&self.changes)
    }

    fn read(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Table> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }
}

const NOTHING: &str = "where nothing is mapped (any more)";
const NO_ACCESS: &str = "where memory is mapped without access: call aclrtMemSetAccess";

fn nothing(address: usize) -> Error {
    Error::Parameter(format!("nothing is mapped at {address:#x}"))
}

fn describe(physical: &Physical) -> String {
    let whose = if physical.is_imported { "imported " } else { "" };
    format!("{whose}{}", physical.place.describe())
}

impl Area {
    /// As many addresses as the process may have, where a device has them if that is possible.
    fn new(unified: bool) -> io::Result<Area> {
        let mut len = AREA_LEN;
        loop {
            let made = Region::reserve_at(AREA_START, len).or_else(|_| Region::reserve(len, Access::None));
            let backing = match (&made, unified) {
                (Ok(_), false) => Some(Region::reserve(len, Access::None)),
                _ => None,
            };
            match (made, backing) {
                (Ok(backing), None) => return Ok(Area { public: None, backing, shift: 0 }),
                (Ok(public), Some(Ok(backing))) => {
                    let shift = backing.start().wrapping_sub(public.start()) as isize;
                    return Ok(Area { public: Some(public), backing, shift });
                }
                (Err(error), _) | (_, Some(Err(error))) if len <= AREA_LEAST => return Err(error),
                _ => len /= 2,
            }
        }
    }

    fn first(&self) -> usize {
        self.public.as_ref().unwrap_or(&self.backing).start()
    }

    fn show(&self, start: usize, mapping: &Mapping, offset: usize, unified: bool) -> io::Result<()> {
        let (file, len, rights) = (&mapping.physical.file, mapping.len(), mapping.access());
        let offset = offset - offset % super::heap::PAGE;
        self.backing.map_file(start.wrapping_add_signed(self.shift), len, file, offset, rights)?;
        match self.program_side(mapping, unified) {
            Some(public) => public.map_file(start, len, file, offset, rights),
            None => Ok(()),
        }
    }

    fn protect(&self, start: usize, mapping: &Mapping, unified: bool) -> io::Result<()> {
        let (len, rights) = (mapping.len(), mapping.access());
        self.backing.protect(start.wrapping_add_signed(self.shift), len, rights)?;
        match self.program_side(mapping, unified) {
            Some(public) => public.protect(start, len, rights),
            None => Ok(()),
        }
    }

    /// Where the program touches host memory itself.
    fn program_side(&self, mapping: &Mapping, unified: bool) -> Option<&Region> {
        self.public.as_ref().filter(|_| !unified && !mapping.physical.place.is_device())
    }

    /// `false`: the system has refused, and the bytes are still there.
    #[must_use]
    fn hide(&self, extent: Extent) -> bool {
        let hidden = self.backing.unmap(extent.start.wrapping_add_signed(self.shift), extent.size);
        hidden.and_then(|()| self.public.as_ref().map_or(Ok(()), |it| it.unmap(extent.start, extent.size))).is_ok()
    }
}

impl Mapping {
    fn new(plan: &MapRequest<'_>) -> Mapping {
        let physical = Arc::clone(plan.physical);
        let lead = plan.extent.start % GRANULE;
        let span = (lead + plan.extent.size).next_multiple_of(GRANULE);
        let rights = plan.has_access.then_some((physical.home, Rights::ReadWrite)).into_iter().collect();
        Mapping { physical, span, extent: plan.extent, rights, is_distant: plan.is_distant }
    }

    /// The most that anyone may do. Which device may reach which is not decided here.
    fn access(&self) -> Rights {
        self.rights.values().copied().max().unwrap_or(Rights::None)
    }

    /// Bytes of the file that are shown, in pages.
    fn len(&self) -> usize {
        (self.extent.start % GRANULE + self.extent.size).next_multiple_of(super::heap::PAGE)
    }
}

impl Table {
    /// A free place, with a granule behind it that belongs to nobody.
    fn room(&self, first: usize, last: usize, len: usize, alignment: usize) -> Option<usize> {
        let mut start = first.next_multiple_of(alignment);
        for (&other, range) in &self.ranges {
            if start.checked_add(len)?.checked_add(GRANULE)? <= other {
                break;
            }
            start = start.max((other + range.len + GRANULE).next_multiple_of(alignment));
        }
        (start.checked_add(len)? <= last).then_some(start)
    }

    /// Start and length of the reservation that contains an address.
    fn range_at(&self, address: usize) -> Option<(usize, usize)> {
        let (&start, range) = self.ranges.range(..=address).next_back()?;
        (address - start < range.len && !range.is_released).then_some((start, range.len))
    }

    fn mapping_at(&self, address: usize) -> Option<(usize, &Mapping)> {
        let (&start, mapping) = self.mappings.range(..=address).next_back()?;
        (address - start < mapping.span).then_some((start, mapping))
    }

    /// Starts of the mappings that exactly make up a range.
    fn cover(&self, start: usize, size: usize) -> Option<Vec<usize>> {
        let (mut at, end) = (start, start.checked_add(size)?);
        let mut starts = Vec::new();
        while at < end {
            starts.push(at);
            at += self.mappings.get(&at)?.span;
        }
        (at == end).then_some(starts)
    }

    /// Lets copies use a mapping, together with those that it touches.
    fn merge_run(&mut self, start: usize) {
        let mapping = &self.mappings[&start];
        let Extent { mut start, size } = mapping.extent;
        let (mut end, place, is_distant) = (start + size, mapping.physical.place, mapping.is_distant);
        let range = self.range_at(start);
        let fits = |table: &Table, at: usize, run: &MappedRun| {
            (run.place, run.is_distant) == (place, is_distant) && table.range_at(at) == range
        };
        let before = self.runs.range(..start).next_back().map(|(start, run)| (*start, *run));
        if let Some((first, run)) = before.filter(|(first, run)| first + run.size == start && fits(self, *first, run)) {
            self.runs.remove(&first);
            start = first;
            debug_assert!(run.size > 0);
        }
        if let Some(run) = self.runs.get(&end).copied().filter(|run| fits(self, end, run)) {
            self.runs.remove(&end);
            end += run.size;
        }
        self.runs.insert(start, MappedRun { size: end - start, place, is_distant });
    }

    /// Takes a mapping out of its run.
    fn split_run(&mut self, start: usize) {
        let Extent { start, size } = self.mappings[&start].extent;
        let Some((first, run)) = self.runs.range(..=start).next_back().map(|(first, run)| (*first, *run)) else {
            return;
        };
        let (end, last) = (start + size, first + run.size);
        if start >= last {
            return;
        }
        self.runs.remove(&first);
        if first < start {
            self.runs.insert(first, MappedRun { size: start - first, ..run });
        }
        if end < last {
            self.runs.insert(end, MappedRun { size: last - end, ..run });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn physical(granules: usize) -> Arc<Physical> {
        Arc::new(Physical::create(granules * GRANULE, MemoryLocation::Device(0), 4).unwrap())
    }

    fn plan(physical: &Arc<Physical>, start: usize) -> MapRequest<'_> {
        let extent = Extent { start, size: physical.size };
        MapRequest { physical, offset: 0, extent, has_access: true, is_distant: false }
    }

    #[test]
    fn mappings_that_touch_are_one_run() {
        let reserved = Reservations::new(false);
        let start = reserved.reserve(72 << 30, None).unwrap();
        let (a, b, c) = (physical(1), physical(2), physical(1));
        let size = |address| reserved.find("source", address).map(|sight| sight.extent.size / GRANULE).ok();
        reserved.map(&plan(&a, start)).unwrap();
        reserved.map(&plan(&c, start + 3 * GRANULE)).unwrap();
        assert_eq!((size(start), size(start + GRANULE), size(start + 3 * GRANULE)), (Some(1), None, Some(1)));
        reserved.map(&plan(&b, start + GRANULE)).unwrap();
        assert_eq!((size(start), size(start + 4 * GRANULE - 1), size(start + 4 * GRANULE)), (Some(4), Some(4), None));
        assert!(reserved.map(&plan(&a, start + 2 * GRANULE)).is_err());
        assert!(reserved.release(start).is_err());
        reserved.unmap(start + GRANULE, |_, _| None).unwrap();
        assert_eq!((size(start), size(start + GRANULE), size(start + 3 * GRANULE)), (Some(1), None, Some(1)));
        reserved.unmap(start, |_, _| None).unwrap();
        reserved.unmap(start + 3 * GRANULE, |_, _| None).unwrap();
        reserved.release(start).unwrap();
        assert!(reserved.release(start).is_err());
    }

    #[test]
    fn changing_access_splits_and_merges_runs() {
        let reserved = Reservations::new(false);
        let start = reserved.reserve(2 * GRANULE, None).unwrap();
        let (a, b) = (physical(1), physical(1));
        reserved.map(&MapRequest { has_access: false, ..plan(&a, start) }).unwrap();
        reserved.map(&plan(&b, start + GRANULE)).unwrap();
        assert_eq!(reserved.rights(start, a.home).unwrap(), Rights::None);
        assert!(reserved.find("source", start).unwrap_err().to_string().contains("aclrtMemSetAccess"));
        assert!(reserved.set_rights(start, GRANULE / 2, &[(a.home, Rights::Read)]).is_err());
        reserved.set_rights(start, 2 * GRANULE, &[(a.home, Rights::Read)]).unwrap();
        assert_eq!(reserved.rights(start + GRANULE + 1, a.home).unwrap(), Rights::Read);
        assert_eq!(reserved.find("source", start).unwrap().extent.size, 2 * GRANULE);
        reserved.set_rights(start + GRANULE, GRANULE, &[(a.home, Rights::None)]).unwrap();
        assert_eq!(reserved.find("source", start).unwrap().extent.size, GRANULE);
    }

    #[test]
    fn released_addresses_with_work_on_them_are_not_given_out() {
        use std::sync::atomic::{AtomicBool, Ordering};
        let reserved = Reservations::new(false);
        let start = reserved.reserve(GRANULE, None).unwrap();
        let memory = physical(1);
        reserved.map(&plan(&memory, start)).unwrap();
        let done = Arc::new(AtomicBool::new(false));
        let idle = Arc::clone(&done);
        reserved.unmap(start, |_, _| Some(Box::new(move || idle.load(Ordering::Relaxed)))).unwrap();
        reserved.release(start).unwrap();
        assert!(reserved.reserve(GRANULE, Some(start)).is_err());
        done.store(true, Ordering::Relaxed);
        assert_eq!(reserved.reserve(GRANULE, Some(start)).unwrap(), start);
    }
}
