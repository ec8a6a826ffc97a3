//! Shared buffers: memory with several references, a length, a small user area, and a place in a chain.
//!
//! The program reads and writes the data through its address. Nothing here touches the data, so no reference to it
//! exists. Each reference has a handle, a length and a user area; the data is freed with its last reference.
//!
//! Lock order: a buffer that heads a chain before its members. No two heads are locked at once.

use softacl_errors::{Error, HandleKind as Kind, Result, fail};
use softacl_faults::Resource;
use softacl_faults::system::check_allowed;
use softacl_sync::facade::{Mutex, lock};
use softacl_sync::handle::{HandleKind, Key, Slots};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::Arc;

/// Bytes of the user area of a buffer or a message.
pub const USER_DATA: usize = 96;
/// Alignment of data. The allocator gives more only by touching all pages.
const ALIGNMENT: usize = 16;
/// Maximum number of buffers in a chain, including its head.
pub const MAX_CHAIN: usize = 128;

/// Kind of the handles of buffers.
#[derive(Debug)]
pub enum BufferTag {}

impl HandleKind for BufferTag {
    const NUMBER: u8 = 9;
}

/// The handle of a buffer.
pub type BufferKey = Key<BufferTag>;

/// Address and capacity of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    pub address: usize,
    pub capacity: usize,
}

/// Memory that the program accesses by its address. Pages that it never touches cost nothing.
#[derive(Debug)]
struct Data {
    memory: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the memory belongs to this value alone, and is accessed only by the program.
unsafe impl Send for Data {}
// SAFETY: as above; a shared reference reads only the address and the size.
unsafe impl Sync for Data {}

impl Data {
    /// Allocates zeroed memory. `capacity` is not 0.
    fn new(capacity: usize) -> Result<Data> {
        let is_allowed = check_allowed(Resource::Buffer, capacity).is_ok();
        let layout = Layout::from_size_align(capacity, ALIGNMENT).ok().filter(|_| is_allowed && capacity > 0);
        // SAFETY: the size is not 0.
        let memory = layout.and_then(|layout| Some((NonNull::new(unsafe { alloc_zeroed(layout) })?, layout)));
        match memory {
            Some((memory, layout)) => Ok(Data { memory, layout }),
            None => fail(Error::NoHostBuffer { what: "a shared buffer", asked: capacity }),
        }
    }

    fn extent(&self) -> Extent {
        Extent { address: self.memory.as_ptr() as usize, capacity: self.layout.size() }
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and freed only here.
        unsafe { dealloc(self.memory.as_ptr(), self.layout) };
    }
}

/// One reference to data.
#[derive(Debug)]
struct Reference {
    data: Arc<Data>,
    len: usize,
    user_data: [u8; USER_DATA],
    /// Members of the chain that this buffer heads, without itself.
    members: Vec<BufferKey>,
    /// The head of the chain that this buffer is a member of.
    head: Option<BufferKey>,
}

/// All shared buffers of the process.
#[derive(Default)]
pub struct Buffers {
    slots: Slots<Mutex<Option<Reference>>, BufferTag>,
    /// Serializes changes of chains, which concern two buffers.
    chains: Mutex<()>,
}

impl Buffers {
    /// Allocates zeroed data with one reference. Its length is 0.
    pub fn allocate(&self, capacity: usize) -> Result<BufferKey> {
        if capacity == 0 {
            return fail(Error::Argument("size is 0".to_owned()));
        }
        self.insert(Reference {
            data: Arc::new(Data::new(capacity)?),
            len: 0,
            user_data: [0; USER_DATA],
            members: Vec::new(),
            head: None,
        })
    }

    /// Creates another reference to the data of a buffer, with its present length and user area. The new reference
    /// is in no chain.
    pub fn share(&self, raw: usize) -> Result<BufferKey> {
        let shared = self.with(raw, |buffer| Reference {
            data: Arc::clone(&buffer.data),
            len: buffer.len,
            user_data: buffer.user_data,
            members: Vec::new(),
            head: None,
        })?;
        self.insert(shared)
    }

    /// Releases a reference, with the members of the chain that it heads. A member is released with its head only.
    pub fn free(&self, raw: usize) -> Result<()> {
        let _chains = lock(&self.chains);
        let key = self.key(raw)?;
        let head = self.with(raw, |buffer| buffer.head)?;
        if let Some(head) = head {
            return fail(Error::Parameter(format!(
                "the buffer is a member of the chain of {:#x}, which frees it",
                head.raw()
            )));
        }
        let members = self.remove(key).map_or_else(Vec::new, |buffer| buffer.members);
        members.into_iter().for_each(|member| drop(self.remove(member)));
        Ok(())
    }

    /// Address and capacity of the data.
    pub fn extent(&self, raw: usize) -> Result<Extent> {
        self.with(raw, |buffer| buffer.data.extent())
    }

    /// Number of bytes in use.
    pub fn len(&self, raw: usize) -> Result<usize> {
        self.with(raw, |buffer| buffer.len)
    }

    /// Sets the number of bytes in use.
    pub fn set_len(&self, raw: usize, len: usize) -> Result<()> {
        self.with(raw, |buffer| {
            let capacity = buffer.data.extent().capacity;
            if len > capacity {
                return fail(Error::Parameter(format!("the length {len} exceeds the capacity of {capacity} bytes")));
            }
            buffer.len = len;
            Ok(())
        })?
    }

    /// Returns `size` bytes of the user area.
    pub fn user_data(&self, raw: usize, offset: usize, size: usize) -> Result<Vec<u8>> {
        let range = user_range(offset, size)?;
        self.with(raw, |buffer| buffer.user_data[range].to_vec())
    }

    /// Replaces bytes of the user area.
    pub fn set_user_data(&self, raw: usize, offset: usize, bytes: &[u8]) -> Result<()> {
        let range = user_range(offset, bytes.len())?;
        self.with(raw, |buffer| buffer.user_data[range].copy_from_slice(bytes))
    }

    /// Appends a buffer to the chain of `head`. The chain owns it from then on.
    pub fn append(&self, head: usize, raw: usize) -> Result<()> {
        let _chains = lock(&self.chains);
        let (head_key, key) = (self.key(head)?, self.key(raw)?);
        let is_chained = self.with(raw, |buffer| buffer.head.is_some() || !buffer.members.is_empty())?;
        if is_chained || head_key == key {
            return fail(Error::Parameter("the buffer is already part of a chain".to_owned()));
        }
        self.with(head, |chain| {
            if chain.head.is_some() {
                return fail(Error::Parameter("the head is a member of another chain".to_owned()));
            }
            if chain.members.len() + 1 >= MAX_CHAIN {
                return fail(Error::Parameter(format!("the chain already has {MAX_CHAIN} buffers, the limit")));
            }
            chain.members.push(key);
            Ok(())
        })??;
        self.with(raw, |buffer| buffer.head = Some(head_key))
    }

    /// Number of buffers in the chain of `head`, including itself.
    pub fn chain_len(&self, head: usize) -> Result<usize> {
        self.with(head, |chain| 1 + chain.members.len())
    }

    /// Handle of one buffer of a chain. Index 0 is the head.
    pub fn chain_member(&self, head: usize, index: usize) -> Result<usize> {
        let found = self.with(head, |chain| match index.checked_sub(1) {
            None => Ok(head),
            Some(index) => chain.members.get(index).map(|member| member.raw()).ok_or(1 + chain.members.len()),
        })?;
        found.or_else(|count| fail(Error::Parameter(format!("index {index} is not below the {count} buffers"))))
    }

    fn insert(&self, reference: Reference) -> Result<BufferKey> {
        match self.slots.insert(|slot, _| *lock(slot) = Some(reference)) {
            Some(key) => Ok(key),
            None => fail(Error::NoHandle("shared buffer")),
        }
    }

    fn key(&self, raw: usize) -> Result<BufferKey> {
        match BufferKey::from_raw(raw).filter(|key| self.slots.get(*key).is_some()) {
            Some(key) => Ok(key),
            None => fail(Error::Handle { what: Kind::SharedBuffer, handle: raw }),
        }
    }

    fn remove(&self, key: BufferKey) -> Option<Reference> {
        let slot = self.slots.retire(key).then(|| self.slots.slot(key))?;
        let removed = lock(slot).take();
        self.slots.recycle(key);
        removed
    }

    /// Applies `access` to a live buffer.
    fn with<T>(&self, raw: usize, access: impl FnOnce(&mut Reference) -> T) -> Result<T> {
        let key = self.key(raw)?;
        let slot = self.slots.slot(key);
        let mut buffer = lock(slot);
        match buffer.as_mut().filter(|_| self.slots.get(key).is_some()) {
            Some(buffer) => Ok(access(buffer)),
            None => fail(Error::Handle { what: Kind::SharedBuffer, handle: raw }),
        }
    }
}

/// Checks a range of the user area.
fn user_range(offset: usize, size: usize) -> Result<std::ops::Range<usize>> {
    match offset.checked_add(size) {
        Some(end) if end <= USER_DATA => Ok(offset..end),
        _ => {
            fail(Error::Parameter(format!("{size} bytes at offset {offset} exceed the user area of {USER_DATA} bytes")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_lives_until_its_last_reference_is_freed() {
        let buffers = Buffers::default();
        let first = buffers.allocate(100).unwrap().raw();
        buffers.set_len(first, 7).unwrap();
        buffers.set_user_data(first, 90, b"sixsix").unwrap();
        let second = buffers.share(first).unwrap().raw();
        assert_eq!(buffers.extent(first), buffers.extent(second));
        assert_eq!(buffers.len(second), Ok(7));
        buffers.set_len(second, 9).unwrap();
        buffers.free(first).unwrap();
        assert!(buffers.len(first).is_err() && buffers.free(first).is_err());
        assert_eq!((buffers.len(second), buffers.user_data(second, 90, 6)), (Ok(9), Ok(b"sixsix".to_vec())));
        assert!(buffers.set_len(second, 101).is_err() && buffers.user_data(second, 91, 6).is_err());
        assert!(buffers.user_data(second, usize::MAX, 2).is_err());
    }

    #[test]
    fn chain_is_freed_with_its_head() {
        let buffers = Buffers::default();
        let [head, one, two] = [0; 3].map(|_| buffers.allocate(8).unwrap().raw());
        buffers.append(head, one).unwrap();
        buffers.append(head, two).unwrap();
        assert_eq!(buffers.chain_len(head), Ok(3));
        assert_eq!([0, 1, 2].map(|index| buffers.chain_member(head, index).unwrap()), [head, one, two]);
        assert!(buffers.chain_member(head, 3).is_err());
        for (chain, member) in [(head, head), (head, one), (one, two), (one, head)] {
            assert!(buffers.append(chain, member).is_err(), "{chain:#x} {member:#x}");
        }
        assert!(buffers.free(one).is_err());
        buffers.free(head).unwrap();
        assert!([head, one, two].into_iter().all(|buffer| buffers.len(buffer).is_err()));
    }

    #[test]
    fn chain_has_a_limit() {
        let buffers = Buffers::default();
        let head = buffers.allocate(1).unwrap().raw();
        for _ in 1..MAX_CHAIN {
            buffers.append(head, buffers.allocate(1).unwrap().raw()).unwrap();
        }
        let last = buffers.allocate(1).unwrap().raw();
        assert!(buffers.append(head, last).is_err());
        assert_eq!(buffers.free(last), Ok(()));
    }
}
