//! Ranges of device memory that several processes share, named by a text key. Handles of physical memory are shared in
//! `virtual_memory`.

use crate::allocation::device_page;
use crate::caller::Caller;
use crate::observer::Advisory;
use crate::virtual_memory::{identity, read_key, shared_file};
use ascendcl_sys::{
    ACL_DDR_MEM_P2P_HUGE, ACL_DDR_MEM_P2P_NORMAL, ACL_HBM_MEM_P2P_HUGE, ACL_HBM_MEM_P2P_HUGE1G, ACL_HBM_MEM_P2P_NORMAL,
    ACL_MEM_P2P_HUGE, ACL_MEM_P2P_HUGE1G, ACL_MEM_P2P_NORMAL,
};
use softacl_errors::{Error, Result, fail};
use softacl_memory::export::{ExportInfo, Purpose};
use softacl_memory::extent::{Extent, PAGE};
use softacl_memory::physical::Physical;
use softacl_memory::reservation::{GRANULE, MapRequest};
use softacl_memory::use_lock::UseLock;
use softacl_memory::{MemoryKind, MemoryLocation, ResolvedAddress};
use softacl_sync::facade::lock;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// `aclrtMemAttr` values of physical memory that other devices can access.
const P2P_ATTRIBUTES: [i32; 8] = [
    ACL_DDR_MEM_P2P_HUGE,
    ACL_DDR_MEM_P2P_NORMAL,
    ACL_HBM_MEM_P2P_HUGE,
    ACL_HBM_MEM_P2P_NORMAL,
    ACL_HBM_MEM_P2P_HUGE1G,
    ACL_MEM_P2P_NORMAL,
    ACL_MEM_P2P_HUGE,
    ACL_MEM_P2P_HUGE1G,
];

impl Caller<'_> {
    /// Exports a range of device memory and returns its key.
    pub fn export_range(&self, address: usize, size: usize, asks_process: bool) -> Result<String> {
        let memory = &self.machine.memory;
        let resolved = memory.finder().find("exported", address)?;
        let MemoryKind::Device(device) = resolved.place else {
            return fail(Error::NotDeviceMemory { address, kind: resolved.describe() });
        };
        resolved.covers("exported", size)?;
        check_page(&resolved, memory.reserved.mapped(address).map(|(_, extent)| extent))?;
        let (physical, extent) = match memory.reserved.mapped(address) {
            Some((physical, _)) if physical.is_imported => {
                return fail(Error::Parameter(
                    "the memory was imported: only the process that created it can export it".to_owned(),
                ));
            }
            Some((_, extent)) if size > extent.size - (address - extent.start) => {
                return fail(Error::Parameter(format!(
                    "the {size} bytes at {address:#x} are several mappings: export them one by one"
                )));
            }
            Some(mapped) => {
                self.check_p2p_policy(address, P2P_ATTRIBUTES.contains(&mapped.0.attribute))?;
                mapped
            }
            None => {
                let not_allocated = || Error::NotAllocated { side: "exported", address, device };
                let extent = memory.device_extent(address).ok_or_else(not_allocated)?;
                self.check_p2p_policy(address, memory.exchange.is_p2p(extent.start))?;
                (memory.as_physical(device, extent)?, extent)
            }
        };
        let info = ExportInfo {
            purpose: Purpose::Range,
            offset: address - extent.start,
            len: size,
            home: self.machine.with_physical_id(MemoryLocation::Device(device)),
            attribute: physical.attribute,
            asks_process,
        };
        let key = memory.exchange.export(&physical, &info, false)?;
        self.machine.begin_sharing();
        if let Some(observer) = self.machine.observer() {
            observer.mapped(extent.start, extent.size, identity(&physical));
            observer.shared(identity(&physical), shared_file(&physical, 0));
        }
        self.machine.advise(|| Advisory::Viewed { address, len: size });
        Ok(key.text())
    }

    /// Refuses the export of memory without a P2P policy on a chip that asks for one.
    fn check_p2p_policy(&self, address: usize, has_policy: bool) -> Result<()> {
        let profile = &self.machine.config.profile;
        if has_policy || !profile.chip.peer.export_needs_p2p_policy {
            return Ok(());
        }
        fail(Error::Parameter(format!(
            "the memory at {address:#x} was allocated without a P2P policy, and {} exports no other: allocate it with \
             ACL_MEM_MALLOC_HUGE_FIRST_P2P",
            profile.soc
        )))
    }

    /// Refuses a text that is not a key. Whether the key is live is found out by its import.
    pub fn check_range_key(&self, key: &str) -> Result<()> {
        read_key(key).map(|_| ())
    }

    /// Allows processes to import a key.
    pub fn allow_processes(&self, key: &str, processes: &[u32]) -> Result<()> {
        self.machine.memory.exchange.allow(read_key(key)?, Purpose::Range, processes)
    }

    /// Maps the memory behind a key. Importing a key again returns the same address.
    pub fn import_range(&self, key: &str, enables_peer: bool) -> Result<usize> {
        let (_, context) = self.context()?;
        let (key, memory, ours) = (read_key(key)?, &self.machine.memory, context.device());
        let mut imports = lock(&memory.exchange.imports);
        if let Some((address, count)) = imports.get_mut(&key) {
            *count += 1;
            return Ok(*address);
        }
        let profile = &self.machine.config.profile;
        if profile.chip.peer.without_ipc.contains(&profile.soc) {
            return fail(Error::NoImport { soc: profile.soc.clone() });
        }
        let found = self.machine.open_export(key, Purpose::Range)?;
        memory.exchange.mark_used();
        self.machine.begin_sharing();
        let MemoryLocation::Device(theirs) = found.offer.home else {
            return fail(Error::Internal("a key of a range names no device".to_owned()));
        };
        let is_remote = self.machine.config.devices[ours as usize] != theirs;
        if is_remote {
            self.check_peer_access(ours, theirs, enables_peer)?;
        }
        let seen = self.machine.user_device(theirs.into()).unwrap_or(ours);
        let (offset, len) = (found.offer.offset, found.offer.len);
        let lead = offset % PAGE;
        let physical = Physical::of(found.file, len, MemoryLocation::Device(seen), found.offer.attribute);
        let use_lock = self.machine.observer().and_then(|_| UseLock::hold(&found.record));
        let physical = Arc::new(physical.imported(use_lock));
        let start = memory.reserved.reserve(lead + len, None)?;
        let extent = Extent { start: start + lead, size: len };
        let request = MapRequest { physical: &physical, offset, extent, has_access: true, is_remote };
        self.machine.map_physical(&request).inspect_err(|_| {
            // Cannot fail: nothing is mapped in the reservation.
            let _ = memory.reserved.release(start);
        })?;
        imports.insert(key, (extent.start, 1));
        Ok(extent.start)
    }

    /// Unmaps an imported range, or revokes an exported key.
    pub fn close_range(&self, key: &str) -> Result<()> {
        let (key, memory) = (read_key(key)?, &self.machine.memory);
        let mut imports = lock(&memory.exchange.imports);
        if let Some((address, count)) = imports.get_mut(&key) {
            let address = *address;
            *count -= 1;
            if *count > 0 {
                return Ok(());
            }
            imports.remove(&key);
            self.machine.unmap_physical(address)?;
            return memory.reserved.release(address - address % GRANULE);
        }
        self.machine.check_shared_unused("memory", || memory.exchange.users(key));
        if memory.exchange.revoke(key) {
            return Ok(());
        }
        fail(Error::Parameter("the key is neither imported nor exported by this process (anymore)".to_owned()))
    }

    /// Checks access to memory of another device. Enables peer access if the import requests it; otherwise it must be
    /// enabled.
    fn check_peer_access(&self, ours: u32, theirs: u32, enables_peer: bool) -> Result<()> {
        let machine = self.machine;
        match (machine.user_device(theirs.into()), enables_peer) {
            (Ok(theirs), true) => {
                machine.devices[ours as usize].peers.fetch_or(1 << theirs, Ordering::AcqRel);
                machine.devices[theirs as usize].peers.fetch_or(1 << ours, Ordering::AcqRel);
                Ok(())
            }
            (Err(_), false) if machine.config.profile.chip.peer.enable_required => fail(Error::NoPeerAccess {
                from: ours,
                to: theirs,
                remedy: "import with ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS".to_owned(),
            }),
            _ => Ok(()),
        }
    }
}

/// Refuses the export of memory that does not start at a page of its allocation or of its mapping.
fn check_page(resolved: &ResolvedAddress, mapping: Option<Extent>) -> Result<()> {
    let Some(extent) = mapping.or(resolved.extent) else { return Ok(()) };
    let page = if mapping.is_some() { GRANULE } else { device_page(extent.size) };
    let offset = resolved.address - extent.start;
    if offset.is_multiple_of(page) {
        return Ok(());
    }
    fail(Error::Parameter(format!(
        "{:#x} is byte {offset} of its allocation, which has pages of {page} bytes: export from the start of a page",
        resolved.address
    )))
}
