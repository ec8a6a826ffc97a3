//! The memory that a case runs on: a pinned source and a device target for softacl, and as much on
//! huge pages for the references. Says afterwards whether the right bytes arrived.

use super::memory::{self, HostMemory};
use crate::acl::{self, DeviceMemory, PinnedMemory};
use anyhow::{Result, ensure};

pub struct Fixture {
    pub source: PinnedMemory,
    pub target: DeviceMemory,
    pub reference_source: HostMemory,
    pub reference_target: HostMemory,
    bytes: usize,
}

impl Fixture {
    pub fn new(bytes: usize) -> Result<Fixture> {
        let ground = Fixture {
            source: PinnedMemory::allocate(bytes)?,
            target: DeviceMemory::new(bytes)?,
            reference_source: HostMemory::new(bytes)?,
            reference_target: HostMemory::new(bytes)?,
            bytes,
        };
        memory::fill(ground.source.at(0), bytes, 1);
        memory::fill(ground.reference_source.at(0), bytes, 2);
        memory::fill(ground.reference_target.at(0), bytes, 3);
        // Something else than the source, so that bytes that never arrive are seen.
        acl::copy(ground.target.at(0), ground.reference_target.at(0), bytes)?;
        Ok(ground)
    }

    /// Compares pieces on the device with their sources, and gives the bytes compared.
    pub fn verify(&self, pieces: impl IntoIterator<Item = (usize, usize)>, len: usize) -> Result<usize> {
        let found = HostMemory::new(self.bytes)?;
        acl::copy(found.at(0), self.target.at(0), self.bytes)?;
        let mut verified = 0;
        for (target, source) in pieces {
            ensure!(
                memory::equal(found.at(target), self.source.at(source), len),
                "wrong bytes on the device: the {len} bytes at offset {target} are not those of the source at {source}"
            );
            verified += len;
        }
        Ok(verified)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_did_not_arrive_are_seen() {
        acl::set_device(0).expect("a device");
        let ground = Fixture::new(4096).expect("memory");
        let stream = acl::Stream::new().expect("a stream");
        let error = ground.verify([(64, 128)], 64).expect_err("nothing was copied");
        assert!(error.to_string().contains("offset 64"), "{error}");
        acl::upload_async(ground.target.at(64), ground.source.at(128), 64, &stream).expect("queued");
        stream.synchronize().expect("done");
        assert_eq!(ground.verify([(64, 128)], 64).expect("right"), 64);
        assert!(ground.verify([(64, 128), (128, 192)], 64).is_err());
    }
}
