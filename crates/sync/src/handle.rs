//! Handles: generational keys into tables, never dereferenced as pointers.
//!
//! A stale, foreign or random handle is not found. Slots are never freed, so a look-up takes no lock and no reference
//! count: the value remains valid memory. Code that modifies a value checks the generation again under the lock of the
//! value.
//!
//! `occupant` is written only under the lock of `vacant`. `value` is shared as soon as its chunk exists.

use crate::facade::{AtomicU64, Mutex, Ordering, lock};
use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;
use std::num::NonZeroU64;
use std::sync::OnceLock;

const INDEX_BITS: u32 = 20;
const GENERATION_BITS: u32 = 24;
const GENERATION_MASK: u32 = (1 << GENERATION_BITS) - 1;
const CHUNK: usize = if cfg!(loom) { 2 } else { 256 };
const CHUNKS: usize = if cfg!(loom) { 2 } else { (1 << INDEX_BITS) / CHUNK };
/// Upper bits that make every handle a non-canonical address, so that dereferencing one faults immediately.
const MARK: u64 = 0x5ac1 << 48;
/// A bit of the mark. A slot that is not live stores its last key without this bit, which equals no key.
const LIVE: u64 = 1 << 48;

/// A type that lives in a handle table. The number distinguishes handles of different kinds.
pub trait HandleKind {
    const NUMBER: u8;
}

/// A key into `Slots<T>`.
pub struct Key<T>(NonZeroU64, PhantomData<fn() -> T>);

impl<T> Clone for Key<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Key<T> {}
impl<T> PartialEq for Key<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl<T> Eq for Key<T> {}
impl<T> std::hash::Hash for Key<T> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}
impl<T> fmt::Debug for Key<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl<T: HandleKind> Key<T> {
    fn new(index: usize, generation: u32) -> Self {
        let raw = MARK
            | u64::from(T::NUMBER) << (INDEX_BITS + GENERATION_BITS)
            | u64::from(generation & GENERATION_MASK) << INDEX_BITS
            | index as u64;
        Key(NonZeroU64::new(raw).expect("the mark is not zero"), PhantomData)
    }

    /// Converts a handle that the program passed. `None` if it cannot be a handle of this kind.
    #[inline]
    pub fn from_raw(raw: usize) -> Option<Self> {
        let raw = raw as u64;
        let head = raw >> (INDEX_BITS + GENERATION_BITS);
        let expected = (MARK >> (INDEX_BITS + GENERATION_BITS)) | u64::from(T::NUMBER);
        (head == expected).then(|| Key(NonZeroU64::new(raw).expect("the mark is not zero"), PhantomData))
    }

    pub fn raw(self) -> usize {
        self.0.get() as usize
    }

    /// The index of the slot: a small number, stable while the handle is live and reused afterwards.
    pub fn index(self) -> usize {
        (self.0.get() & ((1 << INDEX_BITS) - 1)) as usize
    }

    /// The key of the first value in the first slot.
    pub fn first() -> Self {
        Key::new(0, 1)
    }
}

/// A slot of a table.
pub struct Slot<T> {
    /// The key of the value; without `LIVE` after the value has ended; 0 before the first one.
    occupant: AtomicU64,
    pub value: T,
}

impl<T: Default> Slot<T> {
    fn vacant() -> Self {
        Slot { occupant: AtomicU64::new(0), value: T::default() }
    }
}

impl<T> Slot<T> {
    /// True if the key is live and this is its slot.
    #[inline]
    pub fn holds<K: HandleKind>(&self, key: Key<K>) -> bool {
        self.occupant.load(Ordering::Acquire) == key.0.get()
    }

    /// The generation of the current value, or of the last one.
    fn generation(&self) -> u32 {
        (self.occupant.load(Ordering::Acquire) >> INDEX_BITS) as u32 & GENERATION_MASK
    }
}

/// Slots that are allocated together and never freed. The length is part of the type, so that a look-up tests no bound.
type Chunk<T> = OnceLock<Box<[Slot<T>; CHUNK]>>;

struct Vacant {
    /// Oldest first, so that a handle is reused as late as possible.
    slots: VecDeque<u32>,
    next: usize,
}

/// A table of values that are looked up by key. `K` is the kind of its keys: the type of the values, or a tag type for
/// modules that name keys but do not depend on the values.
pub struct Slots<T, K = T> {
    chunks: Box<[Chunk<T>; CHUNKS]>,
    vacant: Mutex<Vacant>,
    kind: PhantomData<fn() -> K>,
}

impl<T: Default, K: HandleKind> Default for Slots<T, K> {
    fn default() -> Self {
        Slots {
            chunks: boxed_array(OnceLock::new),
            vacant: Mutex::new(Vacant { slots: VecDeque::new(), next: 0 }),
            kind: PhantomData,
        }
    }
}

impl<T: Default, K: HandleKind> Slots<T, K> {
    /// Takes a vacant slot, calls `prepare` with its value, and makes it live. `None` if the table is full.
    pub fn insert(&self, prepare: impl FnOnce(&T, Key<K>)) -> Option<Key<K>> {
        let mut vacant = lock(&self.vacant);
        let index = match vacant.slots.pop_front() {
            Some(index) => index as usize,
            None if vacant.next < CHUNK * CHUNKS => {
                vacant.next += 1;
                vacant.next - 1
            }
            None => return None,
        };
        let slot = self.slot_or_create(index);
        let key = Key::new(index, slot.generation().wrapping_add(1));
        prepare(&slot.value, key);
        slot.occupant.store(key.0.get(), Ordering::Release);
        Some(key)
    }

    /// The value of a live key.
    #[inline]
    pub fn get(&self, key: Key<K>) -> Option<&T> {
        self.find(key).map(|slot| &slot.value)
    }

    /// The slot of a live key, for callers that check later whether it is still live.
    #[inline]
    pub fn find(&self, key: Key<K>) -> Option<&Slot<T>> {
        let slot = &self.chunks[key.index() / CHUNK].get()?[key.index() % CHUNK];
        slot.holds(key).then_some(slot)
    }

    /// The value in the slot of a key, even if the key is no longer live.
    #[inline]
    pub fn slot(&self, key: Key<K>) -> &T {
        &self.slot_or_create(key.index()).value
    }

    /// Invalidates a key and frees its slot. Returns `false` if the key was not live: of several racing removals,
    /// exactly one succeeds.
    pub fn remove(&self, key: Key<K>) -> bool {
        let ended = self.retire(key);
        if ended {
            self.recycle(key);
        }
        ended
    }

    /// Invalidates a key but keeps its slot, whose value is still in use, until `recycle`. Returns `false` if the key
    /// was not live.
    pub fn retire(&self, key: Key<K>) -> bool {
        let _guard = lock(&self.vacant);
        if self.get(key).is_none() {
            return false;
        }
        self.slot_or_create(key.index()).occupant.store(key.0.get() & !LIVE, Ordering::Release);
        true
    }

    /// Frees the slot of a retired key for reuse.
    pub fn recycle(&self, key: Key<K>) {
        lock(&self.vacant).slots.push_back(key.index() as u32);
    }

    /// All live values. Values that are inserted or removed during the iteration may be missing or present.
    pub fn live(&self) -> impl Iterator<Item = (Key<K>, &T)> {
        let top = lock(&self.vacant).next;
        (0..top).filter_map(|index| {
            let slot = &self.chunks[index / CHUNK].get()?[index % CHUNK];
            let key = Key::from_raw(slot.occupant.load(Ordering::Acquire) as usize)?;
            Some((key, &slot.value))
        })
    }

    fn slot_or_create(&self, index: usize) -> &Slot<T> {
        let chunk = self.chunks[index / CHUNK].get_or_init(|| boxed_array(Slot::vacant));
        &chunk[index % CHUNK]
    }
}

/// An array that is constructed on the heap, because it may be too large for a stack.
fn boxed_array<T, const N: usize>(make: impl Fn() -> T) -> Box<[T; N]> {
    let items: Box<[T]> = (0..N).map(|_| make()).collect();
    items.try_into().unwrap_or_else(|_| unreachable!("N items were made"))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Thing;
    impl HandleKind for Thing {
        const NUMBER: u8 = 3;
    }
    #[derive(Default)]
    struct Other;
    impl HandleKind for Other {
        const NUMBER: u8 = 4;
    }

    #[test]
    fn removed_key_is_never_found_again() {
        let slots = Slots::<Thing>::default();
        let first = slots.insert(|_, _| {}).unwrap();
        assert!(slots.get(first).is_some());
        assert!(slots.remove(first));
        assert!(!slots.remove(first));
        let second = slots.insert(|_, _| {}).unwrap();
        assert_eq!(first.index(), second.index());
        assert!(slots.get(first).is_none() && slots.get(second).is_some());
        assert_eq!(slots.live().count(), 1);
    }

    #[test]
    fn handles_of_other_kinds_and_random_values_are_rejected() {
        let key = Slots::<Thing>::default().insert(|_, _| {}).unwrap();
        assert_eq!(Key::<Thing>::from_raw(key.raw()), Some(key));
        assert_eq!(Key::<Other>::from_raw(key.raw()), None);
        for raw in [0, 1, 0x7fff_0000_1000, usize::MAX] {
            assert_eq!(Key::<Thing>::from_raw(raw), None);
        }
        let beyond = Key::<Thing>::from_raw(key.raw() | 0xf_ff00).unwrap();
        assert!(Slots::<Thing>::default().get(beyond).is_none());
    }
}
