//! The memory of a case: a pinned source and a device target for softacl, and the same sizes on huge pages for the
//! references. Verifies the bytes on the device after the case.

use super::memory::{self, HostMemory};
use anyhow::{Result, ensure};
use ascendcl::{Context, DeviceBuffer, PinnedBuffer};

pub struct Fixture {
    pub source: Addressed<PinnedBuffer<u8>>,
    pub target: Addressed<DeviceBuffer<u8>>,
    pub reference_source: HostMemory,
    pub reference_target: HostMemory,
    bytes: usize,
}

/// A buffer that the benchmark uses by address.
pub struct Addressed<B> {
    start: usize,
    buffer: B,
}

impl<B> Addressed<B> {
    pub fn at(&self, offset: usize) -> usize {
        self.start + offset
    }
}

impl Addressed<PinnedBuffer<u8>> {
    fn pinned(context: &Context, bytes: usize) -> Result<Self> {
        let mut buffer = context.alloc_pinned(bytes)?;
        Ok(Addressed { start: buffer.as_mut_ptr() as usize, buffer })
    }
}

impl Addressed<DeviceBuffer<u8>> {
    pub fn device(context: &Context, bytes: usize) -> Result<Self> {
        let buffer = context.alloc_uninit(bytes)?;
        Ok(Addressed { start: buffer.as_raw() as usize, buffer })
    }
}

impl Fixture {
    pub fn new(context: &Context, bytes: usize) -> Result<Fixture> {
        let mut fixture = Fixture {
            source: Addressed::pinned(context, bytes)?,
            target: Addressed::device(context, bytes)?,
            reference_source: HostMemory::new(bytes)?,
            reference_target: HostMemory::new(bytes)?,
            bytes,
        };
        memory::fill(fixture.source.at(0), bytes, 1);
        memory::fill(fixture.reference_source.at(0), bytes, 2);
        memory::fill(fixture.reference_target.at(0), bytes, 3);
        // Differs from the source, so that missing bytes are detected.
        fixture.target.buffer.copy_from_slice(fixture.reference_target.bytes(bytes))?;
        Ok(fixture)
    }

    /// Compares pieces on the device with their sources. Returns the number of bytes compared.
    pub fn verify(&self, pieces: impl IntoIterator<Item = (usize, usize)>, len: usize) -> Result<usize> {
        let mut found = HostMemory::new(self.bytes)?;
        self.target.buffer.copy_to_slice(found.bytes_mut(self.bytes))?;
        let mut verified = 0;
        for (target, source) in pieces {
            ensure!(
                memory::equal(found.at(target), self.source.at(source), len),
                "wrong bytes on the device: the {len} bytes at offset {target} differ from the source at {source}"
            );
            verified += len;
        }
        Ok(verified)
    }
}

#[cfg(test)]
mod tests {
    use super::super::c_api;
    use super::*;
    use ascendcl::Device;

    #[test]
    fn missing_bytes_are_detected() {
        let context = Device::new(0).and_then(Device::new_context).expect("a context");
        let fixture = Fixture::new(&context, 4096).expect("memory");
        let stream = context.new_stream().expect("a stream");
        let error = fixture.verify([(64, 128)], 64).expect_err("nothing was copied");
        assert!(error.to_string().contains("offset 64"), "{error}");
        c_api::upload(fixture.target.at(64), fixture.source.at(128), 64, &stream).expect("queued");
        c_api::synchronize(&stream).expect("synchronized");
        assert_eq!(fixture.verify([(64, 128)], 64).expect("the bytes arrived"), 64);
        assert!(fixture.verify([(64, 128), (128, 192)], 64).is_err());
    }
}
