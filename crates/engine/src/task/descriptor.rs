//! Copies whose addresses the device reads when they run: descriptors, and cells that contain addresses.
//!
//! When such a copy is submitted, only its own address is checked. The ranges that it names are validated here, when it
//! runs, as the device does.

use softacl_errors::{Error, Result, fail};
use softacl_memory::Memory;
use softacl_memory::bytes::{self, AccessFault, Span};

/// Layout of a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DescriptorForm {
    Short,
    Long,
}

/// A copy between addresses that two cells contain.
#[derive(Debug, Clone)]
pub(crate) struct Indirect {
    pub(crate) target_cell: usize,
    pub(crate) target_offset: usize,
    pub(crate) source_cell: usize,
    pub(crate) source_offset: usize,
    pub(crate) len: usize,
}

/// Reads a descriptor as the device does. Returns the copy that it currently describes.
pub(crate) fn described(memory: &Memory, descriptor: usize, form: DescriptorForm) -> Result<Span> {
    let bytes: [u8; 64] = match form {
        DescriptorForm::Long => read(memory, "descriptor", descriptor)?,
        DescriptorForm::Short => {
            let short: [u8; 32] = read(memory, "descriptor", descriptor)?;
            let mut padded = [0; 64];
            padded[..32].copy_from_slice(&short);
            padded
        }
    };
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let (len, source, target) = form.offsets();
    let len = u32::from_le_bytes(bytes[len..len + 4].try_into().expect("four bytes"));
    on_device(memory, word(target) as usize, word(source) as usize, len as usize)
}

impl DescriptorForm {
    /// Size of a descriptor, in bytes.
    pub(crate) fn size(self) -> usize {
        match self {
            DescriptorForm::Short => 32,
            DescriptorForm::Long => 64,
        }
    }

    /// Offsets of length, source and destination.
    pub(crate) fn offsets(self) -> (usize, usize, usize) {
        match self {
            DescriptorForm::Short => (12, 16, 24),
            DescriptorForm::Long => (48, 32, 40),
        }
    }
}

impl Indirect {
    /// Reads both cells. Returns the copy that they currently describe.
    pub(crate) fn resolve(&self, memory: &Memory) -> Result<Span> {
        let target = usize::from_le_bytes(read(memory, "destination cell", self.target_cell)?);
        let source = usize::from_le_bytes(read(memory, "source cell", self.source_cell)?);
        on_device(memory, target.wrapping_add(self.target_offset), source.wrapping_add(self.source_offset), self.len)
    }
}

/// Reads `N` bytes of device memory.
fn read<const N: usize>(memory: &Memory, what: &'static str, address: usize) -> Result<[u8; N]> {
    let resolved = memory.finder().find(what, address).map_err(device_copy)?;
    if !resolved.place.is_device() {
        return fail(Error::DeviceCopy(format!("the {what} at {address:#x} is not in device memory")));
    }
    resolved.covers(what, N).map_err(device_copy)?;
    let unmapped = |AccessFault| Error::DeviceCopy(format!("the {what} at {address:#x} is no longer mapped"));
    // SAFETY: the range is live device memory, resolved and bounded above.
    Ok(unsafe { bytes::read(resolved.reach) }.map_err(unmapped)?)
}

/// Validates a copy that the device found in its memory: both ranges must be allocated, in bounds and on one device.
fn on_device(memory: &Memory, target: usize, source: usize, len: usize) -> Result<Span> {
    let finder = memory.finder();
    let target = finder.find("destination", target).map_err(device_copy)?;
    let source = finder.find("source", source).map_err(device_copy)?;
    if !target.place.is_device() || target.place != source.place {
        return fail(Error::DeviceCopy(format!(
            "it goes from {} at {:#x} to {} at {:#x}, and must stay on one device",
            source.describe(),
            source.address,
            target.describe(),
            target.address,
        )));
    }
    target.covers("destination", len).map_err(device_copy)?;
    source.covers("source", len).map_err(device_copy)?;
    Ok(Span { target: target.reach, source: source.reach, len })
}

/// Converts a validation error to the error of a copy that fails on the device.
fn device_copy(error: Box<Error>) -> Box<Error> {
    Box::new(Error::DeviceCopy(error.to_string()))
}
