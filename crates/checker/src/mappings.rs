//! Physical memory that is mapped at several addresses. The ledger and the map of written bytes use one address per
//! byte of physical memory, so that accesses through two mappings meet.
//!
//! Addresses outside mappings stand for themselves.

use softacl_engine::observer::{SharedFile, Touch};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// First address that stands for physical memory. No program address is this large.
const PHYSICAL: usize = 1 << 62;
/// Distance between the addresses of two pieces of physical memory.
const STRIDE: usize = 1 << 44;

#[derive(Debug, Clone, Copy)]
struct Mapping {
    size: usize,
    /// Address of the first byte in the numbering of physical memory.
    physical: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Mappings {
    by_start: BTreeMap<usize, Mapping>,
    /// First address by identity of the physical memory.
    bases: HashMap<usize, usize>,
    /// What other processes call the memory that they can access, by its first address.
    shared: HashMap<usize, SharedFile>,
    /// Device and inode of every file that was shared.
    files: BTreeSet<(u64, u64)>,
}

impl Mappings {
    pub(crate) fn map(&mut self, start: usize, size: usize, identity: usize) {
        let physical = self.base(identity);
        if !self.by_start.values().any(|mapping| mapping.physical == physical) {
            // Other memory may have had this identity.
            self.shared.remove(&physical);
        }
        self.by_start.insert(start, Mapping { size, physical });
    }

    /// Removes a mapping. Returns `false` if its physical memory is still mapped elsewhere.
    pub(crate) fn unmap(&mut self, start: usize) -> bool {
        let Some(ended) = self.by_start.remove(&start) else { return true };
        !self.by_start.values().any(|mapping| mapping.physical == ended.physical)
    }

    /// Marks physical memory as accessible to other processes.
    pub(crate) fn share(&mut self, identity: usize, file: SharedFile) {
        let base = self.base(identity);
        self.shared.insert(base, file);
        self.files.insert((file.device, file.inode));
    }

    /// Device and inode of every file that was shared.
    pub(crate) fn shared_files(&self) -> Vec<(u64, u64)> {
        self.files.iter().copied().collect()
    }

    /// True if other processes can access some memory.
    pub(crate) fn has_shared(&self) -> bool {
        !self.shared.is_empty()
    }

    /// True if another process can access the byte at an address.
    pub(crate) fn is_shared(&self, address: usize) -> bool {
        self.shared_place(address).is_some()
    }

    /// The file of the byte at an address that other processes can access, and its place in the file.
    pub(crate) fn shared_place(&self, address: usize) -> Option<(SharedFile, u64)> {
        if self.shared.is_empty() {
            return None;
        }
        let (start, mapping) = self.mapping(address)?;
        let file = *self.shared.get(&mapping.physical)?;
        Some((file, file.offset + (address - start) as u64))
    }

    /// The address that stands for the byte at a program address.
    pub(crate) fn canonical(&self, address: usize) -> usize {
        match self.mapping(address) {
            Some((start, mapping)) => mapping.physical + (address - start),
            None => address,
        }
    }

    pub(crate) fn canonical_touch(&self, touch: &Touch) -> Touch {
        Touch { address: self.canonical(touch.address), ..*touch }
    }

    /// A program address of the byte that `canonical` stands for.
    pub(crate) fn program_address(&self, canonical: usize) -> usize {
        if canonical < PHYSICAL {
            return canonical;
        }
        let base = canonical - canonical % STRIDE;
        let mapped = self.by_start.iter().find(|(_, mapping)| mapping.physical == base);
        mapped.map_or(canonical, |(start, _)| start + (canonical - base))
    }

    fn base(&mut self, identity: usize) -> usize {
        let next = PHYSICAL + self.bases.len() * STRIDE;
        *self.bases.entry(identity).or_insert(next)
    }

    fn mapping(&self, address: usize) -> Option<(usize, Mapping)> {
        let (start, mapping) = self.by_start.range(..=address).next_back()?;
        (address < start + mapping.size).then_some((*start, *mapping))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_mappings_of_one_memory_have_one_address() {
        let mut mappings = Mappings::default();
        mappings.map(0x10000, 0x1000, 7);
        mappings.map(0x30000, 0x1000, 7);
        mappings.map(0x50000, 0x1000, 8);
        assert_eq!(mappings.canonical(0x10010), mappings.canonical(0x30010));
        assert_ne!(mappings.canonical(0x10010), mappings.canonical(0x50010));
        assert_eq!((mappings.canonical(0x11000), mappings.canonical(0xffff)), (0x11000, 0xffff));
        assert_eq!(mappings.program_address(mappings.canonical(0x30010)), 0x10010);
        assert!(!mappings.unmap(0x10000) && mappings.unmap(0x30000) && mappings.unmap(0x50000));
        assert_eq!(mappings.canonical(0x10010), 0x10010);
    }

    #[test]
    fn every_mapping_of_shared_memory_is_shared() {
        let mut mappings = Mappings::default();
        mappings.map(0x10000, 0x1000, 7);
        mappings.share(7, SharedFile { device: 1, inode: 2, offset: 0x2000 });
        mappings.map(0x30000, 0x1000, 7);
        assert!(mappings.is_shared(0x10000) && mappings.is_shared(0x30fff) && !mappings.is_shared(0x31000));
        assert_eq!(mappings.shared_place(0x30010).map(|(_, at)| at), Some(0x2010));
        assert!(mappings.unmap(0x30000) || mappings.unmap(0x10000));
        mappings.map(0x50000, 0x1000, 7);
        assert!(!mappings.is_shared(0x50000), "other memory has the identity now");
    }
}
