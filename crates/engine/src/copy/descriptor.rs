//! Copies whose addresses are in device memory and are read when the task runs: by descriptor, and by address cells
//! with offsets.
//!
//! How the device reads them is in `task::descriptor`.

use crate::caller::Caller;
use crate::copy::{kinds, not_null};
use crate::observer::AccessKind;
use crate::task::descriptor::{DescriptorForm, Indirect};
use crate::task::moves::Move;
use softacl_errors::{Error, Result, fail};
use softacl_memory::bytes::{self, AccessFault};
use softacl_memory::touch::{Mode, Touch};

/// Limits of specification 1.6 and 1.7.
const MAX_COUNT: usize = 4 << 30;
const MAX_OFFSET: usize = 0xffff_ffff_ffff;
const ALIGNMENT: usize = 64;

/// The contents of a descriptor, as the program passes them.
#[derive(Debug, Clone, Copy)]
pub struct DescriptorRequest {
    pub descriptor: usize,
    pub kind: i32,
    pub source: usize,
    pub target: usize,
    pub count: usize,
    pub config: usize,
}

/// A copy between addresses that two cells contain, as the program passes it.
#[derive(Debug, Clone, Copy)]
pub struct OffsetRequest {
    pub target_cell: usize,
    pub capacity: usize,
    pub target_offset: usize,
    pub source_cell: usize,
    pub count: usize,
    pub source_offset: usize,
    pub kind: i32,
}

impl Caller<'_> {
    /// Size of a descriptor on this chip, in bytes.
    pub fn descriptor_size(&self, kind: i32) -> Result<usize> {
        self.check_kind_range(kind)?;
        self.descriptor_form()?;
        check_inner(kind)?;
        Ok(self.machine.config.profile.chip.copy.descriptor_bytes as usize)
    }

    /// Writes a descriptor to device memory, immediately.
    pub fn set_descriptor(&self, request: DescriptorRequest) -> Result<()> {
        let DescriptorRequest { descriptor, kind, source, target, count, config } = request;
        not_null(descriptor, "desc")?;
        self.check_kind_range(kind)?;
        not_null(source, "srcAddr")?;
        not_null(target, "dstAddr")?;
        if count == 0 {
            return fail(Error::Argument("the copy has no bytes (count is 0)".to_owned()));
        }
        if config != 0 {
            return fail(Error::Argument("config must be NULL".to_owned()));
        }
        let form = self.descriptor_form()?;
        check_inner(kind)?;
        if count > MAX_COUNT {
            return fail(Error::Parameter(format!("{count} bytes are more than the 4 GiB of a descriptor copy")));
        }
        check_alignment(descriptor)?;
        let size = self.machine.config.profile.chip.copy.descriptor_bytes as usize;
        let backing = self.descriptor_backing(descriptor, size)?;
        let finder = self.machine.memory.finder();
        let (from, to) = (finder.find("source", source)?, finder.find("destination", target)?);
        if !from.place.is_device() || from.place != to.place {
            return fail(Error::Parameter(format!(
                "a descriptor copies within one device, not from {} to {}",
                from.describe(),
                to.describe()
            )));
        }
        self.context()?;
        // The length field has 32 bits: exactly 4 GiB is stored as 0, as on the device.
        let (length_at, source_at, target_at) = form.offsets();
        let mut image = [0; 64];
        image[length_at..length_at + 4].copy_from_slice(&(count as u32).to_le_bytes());
        image[source_at..source_at + 8].copy_from_slice(&source.to_le_bytes());
        image[target_at..target_at + 8].copy_from_slice(&target.to_le_bytes());
        let inaccessible = |AccessFault| Error::Inaccessible { side: "descriptor", address: descriptor, len: size };
        let touches = || vec![Touch { address: descriptor, len: size, mode: Mode::Write }];
        // SAFETY: the range is of a request of a `Caller`, resolved and bounded above.
        let run = || Ok(unsafe { bytes::write(backing, &image[..size]) }.map_err(inaccessible)?);
        self.machine.with_access(AccessKind::DescriptorWrite, touches, run)
    }

    /// Queues a copy by descriptor. The descriptor is read when the task runs.
    pub fn copy_described(&self, descriptor: usize, kind: i32, stream: usize) -> Result<()> {
        not_null(descriptor, "desc")?;
        self.check_kind_range(kind)?;
        not_null(stream, "stream")?;
        let form = self.descriptor_form()?;
        let explicit = self.explicit_stream(stream)?;
        check_inner(kind)?;
        let size = self.machine.config.profile.chip.copy.descriptor_bytes as usize;
        self.descriptor_backing(descriptor, size)?;
        check_alignment(descriptor)?;
        let at = self.submission(explicit)?;
        self.queue(at, Move::Described { descriptor, form })
    }

    /// Queues a copy between addresses that device memory contains when the task runs.
    pub fn copy_with_offset(&self, request: OffsetRequest, stream: usize) -> Result<()> {
        let OffsetRequest { target_cell, capacity, target_offset, source_cell, count, source_offset, kind } = request;
        if count == 0 {
            return Ok(());
        }
        if kind != kinds::INNER_DEVICE_TO_DEVICE || kind >= self.machine.config.cann.copy_kinds {
            return fail(Error::Parameter(format!(
                "copy kind {kind} is not allowed here: only 6 is, in versions that have it"
            )));
        }
        if !self.machine.config.profile.chip.copy.offset {
            return fail(self.machine.unsupported("a copy with offsets"));
        }
        let explicit = self.explicit_stream(stream)?;
        for (name, cell) in [("dst", target_cell), ("src", source_cell)] {
            if cell == 0 {
                return fail(Error::Parameter(format!("{name} is NULL")));
            }
        }
        if count > capacity {
            return fail(Error::Capacity { count, capacity });
        }
        if count > MAX_COUNT {
            return fail(Error::Parameter(format!("{count} bytes are more than 4 GiB")));
        }
        for (name, offset) in [("dstDataOffset", target_offset), ("srcDataOffset", source_offset)] {
            if offset > MAX_OFFSET {
                return fail(Error::Parameter(format!("{name} {offset:#x} has more than 48 bits")));
            }
        }
        if target_offset >= capacity || count > capacity - target_offset {
            return fail(Error::Capacity { count: target_offset.saturating_add(count), capacity });
        }
        let at = self.submission(explicit)?;
        let indirect = Indirect { target_cell, target_offset, source_cell, source_offset, len: count };
        self.queue(at, Move::Indirect(Box::new(indirect)))
    }

    /// Refuses a copy kind that the emulated version does not have.
    fn check_kind_range(&self, kind: i32) -> Result<()> {
        let count = self.machine.config.cann.copy_kinds;
        if (0..count).contains(&kind) {
            return Ok(());
        }
        fail(Error::Argument(format!("copy kind {kind} does not exist; kinds are 0 to {}", count - 1)))
    }

    /// The layout of descriptors on this chip.
    fn descriptor_form(&self) -> Result<DescriptorForm> {
        match self.machine.config.profile.chip.copy.descriptor_bytes {
            32 => Ok(DescriptorForm::Short),
            64 => Ok(DescriptorForm::Long),
            _ => fail(self.machine.unsupported("a copy by descriptor")),
        }
    }

    /// Resolves a descriptor to its backing address.
    fn descriptor_backing(&self, descriptor: usize, size: usize) -> Result<usize> {
        let resolved = self.machine.memory.finder().find("descriptor", descriptor)?;
        if !resolved.place.is_device() {
            return fail(Error::Parameter(format!(
                "the descriptor at {descriptor:#x} is {}, and must be in device memory",
                resolved.describe()
            )));
        }
        resolved.covers("descriptor", size)?;
        Ok(resolved.reach)
    }
}

fn check_inner(kind: i32) -> Result<()> {
    if kind == kinds::INNER_DEVICE_TO_DEVICE {
        return Ok(());
    }
    fail(Error::Feature(format!("descriptors exist for copy kind 6 (within a device) only, not for kind {kind}")))
}

fn check_alignment(descriptor: usize) -> Result<()> {
    if descriptor.is_multiple_of(ALIGNMENT) {
        return Ok(());
    }
    fail(Error::Parameter(format!("the descriptor at {descriptor:#x} is not aligned to {ALIGNMENT} bytes")))
}
