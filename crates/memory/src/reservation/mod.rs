//! Reserved addresses and the memory that is mapped there.
//!
//! All reservations are in one area of addresses, which is created for the first one. Like device memory, the area has
//! two parts: program addresses and backing addresses. Adjacent mappings in one reservation form a run: a copy may
//! cross the borders inside a run.
//!
//! `table` is read by every look-up and written only by a thread that holds `changes`. The mappings of the area change
//! only under `changes`. Mappings that are removed while queued work may use them keep their bytes in `PendingUnmaps`,
//! until that work is done or the addresses are mapped again.

mod area;
mod table;

use self::area::Area;
use self::table::{Mapping, Range, Table};
use crate::address::{MemoryKind, MemoryLocation};
use crate::extent::Extent;
use crate::heap::Idle;
use crate::physical::Physical;
use crate::region::Rights;
use softacl_errors::{Error, MemoryPool, Result, fail};
use softacl_sync::facade::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, lock};
use std::sync::{Arc, OnceLock, PoisonError};

pub use self::table::{GRANULE, MapRequest};

const GIB: usize = 1 << 30;

/// The reserved addresses of a machine.
#[derive(Default)]
pub struct Reservations {
    /// The host may access mapped memory.
    unified: bool,
    area: OnceLock<Area>,
    table: RwLock<Table>,
    changes: Mutex<PendingUnmaps>,
}

/// Ranges that are still mapped because queued work uses them, or because the system refused to unmap them.
#[derive(Default)]
struct PendingUnmaps(Vec<(Extent, Idle)>);

impl PendingUnmaps {
    /// Unmaps a range now, or with a later `finish_unmaps` if the system refuses.
    fn unmap_or_defer(&mut self, area: &Area, extent: Extent) {
        if !area.unmap(extent) {
            self.0.push((extent, Box::new(|| true)));
        }
    }
}

/// The run that contains an address, and the backing address.
#[derive(Debug, Clone, Copy)]
pub struct MappedAddress {
    pub extent: Extent,
    pub kind: MemoryKind,
    pub is_remote: bool,
    pub backing: usize,
}

impl Reservations {
    /// No reservations. `unified`: the host may access mapped memory.
    pub fn new(unified: bool) -> Reservations {
        Reservations { unified, ..Reservations::default() }
    }

    /// Reserves addresses: at `at`, or anywhere if it is `None`. Returns the first one.
    pub fn reserve(&self, size: usize, at: Option<usize>) -> Result<usize> {
        let mut pending = self.changes();
        let area = self.area()?;
        self.finish_unmaps(area, &mut pending);
        let total = area.backing.len();
        let mut table = self.write();
        let free = total.saturating_sub(table.reserved());
        let exhausted = || Error::OutOfMemory { pool: MemoryPool::ReservedAddresses, asked: size, free, total };
        let len = size.checked_next_multiple_of(GRANULE).ok_or_else(exhausted)?;
        let alignment = if size > GIB { GIB } else { GRANULE };
        let (first, last) = (area.first(), area.first() + area.backing.len());
        let start = match at {
            Some(start) => {
                let fits =
                    start % alignment == 0 && start >= first && start.checked_add(len).is_some_and(|end| end <= last);
                if !fits {
                    return fail(Error::Parameter(format!(
                        "{len} bytes cannot be reserved at {start:#x}: reserved addresses are from {first:#x} \
                         to {last:#x}, in multiples of {alignment}"
                    )));
                }
                if table.ranges.range(..start + len).next_back().is_some_and(|(other, range)| other + range.len > start)
                {
                    return fail(Error::Parameter(format!("the addresses at {start:#x} are already reserved")));
                }
                start
            }
            None => table.free_range(first, last, len, alignment).ok_or_else(exhausted)?,
        };
        table.ranges.insert(start, Range { len, is_released: false });
        Ok(start)
    }

    /// Ends a reservation, in which nothing may be mapped.
    pub fn release(&self, start: usize) -> Result<()> {
        let mut pending = self.changes();
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
            self.finish_unmaps(area, &mut pending);
        }
        Ok(())
    }

    /// Maps memory in a reserved range.
    pub fn map(&self, request: &MapRequest<'_>) -> Result<()> {
        let mut pending = self.changes();
        let area = self.area()?;
        let mapping = Mapping::new(request);
        let start = request.extent.start - request.extent.start % GRANULE;
        let end = start.checked_add(mapping.span);
        let table = self.read();
        let range = table.range_at(start).filter(|(first, len)| end.is_some_and(|end| end <= first + len));
        let Some((first, len)) = range else {
            return fail(Error::Parameter(format!(
                "the {} bytes at {start:#x} are not all in one reserved range",
                mapping.span
            )));
        };
        let mut overlapping = table.mappings.range(start..start + mapping.span);
        if table.mapping_at(start).is_some() || overlapping.next().is_some() {
            return fail(Error::Parameter(format!("memory is already mapped at {start:#x}: unmap it first")));
        }
        if let Some((_, other)) = table.mappings.range(first..first + len).next() {
            let (mapped, new) = (&other.physical, request.physical);
            if mapped.place != new.place || mapped.is_imported != new.is_imported {
                return fail(Error::Parameter(format!(
                    "{} is already mapped in the reserved range at {first:#x}: the range cannot also contain {}",
                    describe(mapped),
                    describe(new)
                )));
            }
        }
        drop(table);
        // Unmap overlapping ranges whose unmap is pending: their bytes would remain visible around the new ones.
        let overlaps = |extent: &Extent| extent.start < start + mapping.span && start < extent.start + extent.size;
        pending.0.retain(|(extent, _)| !overlaps(extent) || !area.unmap(*extent));
        self.finish_unmaps(area, &mut pending);
        if pending.0.iter().any(|(extent, _)| overlaps(extent)) {
            return fail(Error::Feature("the system could not unmap the previous memory".to_owned()));
        }
        if let Err(error) = area.map(start, &mapping, request.offset, self.unified) {
            // It may be mapped in part.
            pending.unmap_or_defer(area, Extent { start, size: mapping.span });
            return fail(Error::Feature(format!("the memory could not be mapped: {error}")));
        }
        let mut table = self.write();
        table.mappings.insert(start, mapping);
        if request.has_access {
            table.merge_run(start);
        }
        Ok(())
    }

    /// Removes a mapping. `idle` gets the backing address and the length; it returns a closure if queued work may still
    /// use the bytes, and `None` otherwise.
    pub fn unmap(&self, address: usize, idle: impl FnOnce(usize, usize) -> Option<Idle>) -> Result<()> {
        let mut pending = self.changes();
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
            Some(idle) => pending.0.push((extent, idle)),
            None => pending.unmap_or_defer(area, extent),
        }
        self.finish_unmaps(area, &mut pending);
        Ok(())
    }

    /// Sets the rights of locations for a range that whole mappings cover.
    pub fn set_rights(&self, start: usize, size: usize, rights: &[(MemoryLocation, Rights)]) -> Result<()> {
        let _changes = self.changes();
        let area = self.area()?;
        let mut table = self.write();
        let starts = table.cover(start, size).ok_or_else(|| {
            Error::Parameter(format!("the {size} bytes at {start:#x} are not covered by whole mappings"))
        })?;
        for start in starts {
            table.split_run(start);
            let mapping = table.mappings.get_mut(&start).expect("it covers the range");
            mapping.rights.extend(rights.iter().copied());
            let protected = area.protect(start, mapping, self.unified);
            if mapping.access() != Rights::None {
                table.merge_run(start);
            }
            protected.map_err(|error| Error::Feature(format!("the access rights could not be set: {error}")))?;
        }
        Ok(())
    }

    /// The rights of a location at a mapped address.
    pub fn rights(&self, address: usize, home: MemoryLocation) -> Result<Rights> {
        let table = self.read();
        let (_, mapping) = table.mapping_at(address).ok_or_else(|| nothing(address))?;
        Ok(mapping.rights.get(&home).copied().unwrap_or(Rights::None))
    }

    /// The physical memory that is mapped at an address, and the bounds of the mapping.
    pub fn mapped(&self, address: usize) -> Option<(Arc<Physical>, Extent)> {
        let table = self.read();
        let (_, mapping) = table.mapping_at(address)?;
        Some((Arc::clone(&mapping.physical), mapping.extent))
    }

    /// Starts of all mappings of one memory kind.
    pub fn mapped_of(&self, kind: MemoryKind) -> Vec<usize> {
        let table = self.read();
        table.mappings.values().filter(|mapping| mapping.physical.place == kind).map(|m| m.extent.start).collect()
    }

    /// True if the address is in the area, reserved or not.
    #[inline]
    pub fn contains(&self, address: usize) -> bool {
        self.area.get().is_some_and(|area| address.wrapping_sub(area.first()) < area.backing.len())
    }

    /// The first program address and the first backing address of the area.
    pub fn starts(&self) -> impl Iterator<Item = usize> {
        self.area.get().into_iter().flat_map(|area| [area.first(), area.backing.start()])
    }

    /// Resolves an address of the area for a copy. Fails if nothing is mapped there with access.
    pub fn find(&self, side: &'static str, address: usize) -> Result<MappedAddress> {
        let area = self.area()?;
        let table = self.read();
        let run = table.runs.range(..=address).next_back();
        if let Some((&start, run)) = run.filter(|(start, run)| address - **start < run.size) {
            let extent = Extent { start, size: run.size };
            let backing = address.wrapping_add_signed(area.shift);
            return Ok(MappedAddress { extent, kind: run.kind, is_remote: run.is_remote, backing });
        }
        let no_access = table.mapping_at(address).is_some();
        fail(Error::NotMapped { side, address, why: if no_access { NO_ACCESS } else { NOTHING } })
    }

    /// The program address of a backing address. `None` if it is not in the area.
    pub fn program_address(&self, backing: usize) -> Option<usize> {
        let area = self.area.get().filter(|area| area.backing.contains(backing))?;
        Some(backing.wrapping_add_signed(-area.shift))
    }

    /// Unmaps the pending ranges that queued work no longer uses, and removes released reservations without pending
    /// ranges.
    fn finish_unmaps(&self, area: &Area, pending: &mut PendingUnmaps) {
        pending.0.retain(|(extent, idle)| !(idle() && area.unmap(*extent)));
        let mut table = self.write();
        table.ranges.retain(|start, range| {
            let is_inside = |(extent, _): &(Extent, Idle)| extent.start >= *start && extent.start < *start + range.len;
            !range.is_released || pending.0.iter().any(is_inside)
        });
    }

    /// The area. Created by the first call.
    fn area(&self) -> Result<&Area> {
        if let Some(area) = self.area.get() {
            return Ok(area);
        }
        let area = Area::new(self.unified).map_err(|error| {
            Error::Setup(format!(
                "could not reserve the addresses for mapped memory: {error}; raise the limit (ulimit -v)"
            ))
        })?;
        Ok(self.area.get_or_init(|| area))
    }

    /// Locks out other changes.
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

const NOTHING: &str = "where nothing is mapped";
const NO_ACCESS: &str = "where memory is mapped without access: call aclrtMemSetAccess";

fn nothing(address: usize) -> Error {
    Error::Parameter(format!("nothing is mapped at {address:#x}"))
}

/// The noun phrase for messages.
fn describe(physical: &Physical) -> String {
    let origin = if physical.is_imported { "imported " } else { "" };
    format!("{origin}{}", physical.place.describe())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn physical(granules: usize) -> Arc<Physical> {
        Arc::new(Physical::create(granules * GRANULE, MemoryLocation::Device(0), 4).unwrap())
    }

    fn request(physical: &Arc<Physical>, start: usize) -> MapRequest<'_> {
        let extent = Extent { start, size: physical.size };
        MapRequest { physical, offset: 0, extent, has_access: true, is_remote: false }
    }

    #[test]
    fn adjacent_mappings_form_one_run() {
        let reserved = Reservations::new(false);
        let start = reserved.reserve(72 << 30, None).unwrap();
        let (a, b, c) = (physical(1), physical(2), physical(1));
        let size = |address| reserved.find("source", address).map(|mapped| mapped.extent.size / GRANULE).ok();
        reserved.map(&request(&a, start)).unwrap();
        reserved.map(&request(&c, start + 3 * GRANULE)).unwrap();
        assert_eq!((size(start), size(start + GRANULE), size(start + 3 * GRANULE)), (Some(1), None, Some(1)));
        reserved.map(&request(&b, start + GRANULE)).unwrap();
        assert_eq!((size(start), size(start + 4 * GRANULE - 1), size(start + 4 * GRANULE)), (Some(4), Some(4), None));
        assert!(reserved.map(&request(&a, start + 2 * GRANULE)).is_err());
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
        reserved.map(&MapRequest { has_access: false, ..request(&a, start) }).unwrap();
        reserved.map(&request(&b, start + GRANULE)).unwrap();
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
    fn released_addresses_with_queued_work_are_not_reused() {
        use std::sync::atomic::{AtomicBool, Ordering};
        let reserved = Reservations::new(false);
        let start = reserved.reserve(GRANULE, None).unwrap();
        let memory = physical(1);
        reserved.map(&request(&memory, start)).unwrap();
        let done = Arc::new(AtomicBool::new(false));
        let idle = Arc::clone(&done);
        reserved.unmap(start, |_, _| Some(Box::new(move || idle.load(Ordering::Relaxed)))).unwrap();
        reserved.release(start).unwrap();
        assert!(reserved.reserve(GRANULE, Some(start)).is_err());
        done.store(true, Ordering::Relaxed);
        assert_eq!(reserved.reserve(GRANULE, Some(start)).unwrap(), start);
    }
}
