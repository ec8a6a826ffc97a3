//! The addresses of all reservations, and the system calls that map memory there.

use super::table::Mapping;
use crate::extent::{Extent, PAGE};
use crate::region::{Access, Region};
use std::io;

/// Start and length of the reserved addresses on a device (specification 7).
const AREA_START: usize = 16 << 40;
const AREA_LEN: usize = 8 << 40;
/// Smallest useful area.
const AREA_MIN_LEN: usize = 1 << 30;

/// The addresses of all reservations.
pub(super) struct Area {
    /// Program addresses; `None` if they are the backing addresses.
    pub(super) public: Option<Region>,
    pub(super) backing: Region,
    /// Distance from program addresses to backing addresses.
    pub(super) shift: isize,
}

impl Area {
    /// Reserves as many addresses as the process may have, at the addresses of a real device if they are free.
    pub(super) fn new(unified: bool) -> io::Result<Area> {
        let mut len = AREA_LEN;
        loop {
            let public = Region::reserve_at(AREA_START, len).or_else(|_| Region::reserve(len, Access::None));
            let backing = match (&public, unified) {
                (Ok(_), false) => Some(Region::reserve(len, Access::None)),
                _ => None,
            };
            match (public, backing) {
                (Ok(backing), None) => return Ok(Area { public: None, backing, shift: 0 }),
                (Ok(public), Some(Ok(backing))) => {
                    let shift = backing.start().wrapping_sub(public.start()) as isize;
                    return Ok(Area { public: Some(public), backing, shift });
                }
                (Err(error), _) | (_, Some(Err(error))) if len <= AREA_MIN_LEN => return Err(error),
                _ => len /= 2,
            }
        }
    }

    /// The first program address.
    pub(super) fn first(&self) -> usize {
        self.public.as_ref().unwrap_or(&self.backing).start()
    }

    /// Maps the file of a mapping.
    pub(super) fn map(&self, start: usize, mapping: &Mapping, offset: usize, unified: bool) -> io::Result<()> {
        let (file, len, rights) = (&mapping.physical.file, mapping.len(), mapping.access());
        let offset = offset - offset % PAGE;
        self.backing.map_file(start.wrapping_add_signed(self.shift), len, file, offset, rights)?;
        match self.program_side(mapping, unified) {
            Some(public) => public.map_file(start, len, file, offset, rights),
            None => Ok(()),
        }
    }

    /// Applies the rights of a mapping.
    pub(super) fn protect(&self, start: usize, mapping: &Mapping, unified: bool) -> io::Result<()> {
        let (len, rights) = (mapping.len(), mapping.access());
        self.backing.protect(start.wrapping_add_signed(self.shift), len, rights)?;
        match self.program_side(mapping, unified) {
            Some(public) => public.protect(start, len, rights),
            None => Ok(()),
        }
    }

    /// The region of program addresses, if the program may access the mapping there: only host and managed memory.
    pub(super) fn program_side(&self, mapping: &Mapping, unified: bool) -> Option<&Region> {
        let is_accessible = !mapping.physical.place.is_device() || mapping.physical.is_shared_with_host;
        self.public.as_ref().filter(|_| !unified && is_accessible)
    }

    /// Unmaps a range. Returns `false` if the system refuses and the bytes are still mapped.
    #[must_use]
    pub(super) fn unmap(&self, extent: Extent) -> bool {
        let unmapped = self.backing.unmap(extent.start.wrapping_add_signed(self.shift), extent.size);
        unmapped
            .and_then(|()| self.public.as_ref().map_or(Ok(()), |public| public.unmap(extent.start, extent.size)))
            .is_ok()
    }
}
