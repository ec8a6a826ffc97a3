//! The areas of registered memory: which registrations are watched, and which area contains an address.
//!
//! Only whole pages of a registration are watched: its first and last page may hold other data of the program, such as
//! the records of an allocator. Memory that is not plainly readable and writable, and the stack of the calling thread,
//! are not watched either. The fault handler reads this list. It takes the lock, which no thread holds while it
//! accesses memory of the program.

use super::area::{Area, Door, PAGE};
use softacl_engine::observer::Window;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

#[derive(Default)]
pub(super) struct RegisteredAreas {
    /// Areas, sorted by first byte. A change replaces the list: nothing is allocated or freed under the lock, because
    /// the allocator calls back when it frees memory.
    areas: RwLock<Vec<&'static Area>>,
    count: AtomicUsize,
    /// Areas without a registration, for the next registration of the same range. An area is never freed, because a
    /// fault handler may use it while it is removed. The lock also serializes changes.
    unused: Mutex<Vec<&'static Area>>,
}

impl RegisteredAreas {
    /// Watches the whole pages of a registration. Returns `false` if they cannot be watched.
    pub(super) fn add(&self, start: usize, size: usize) -> bool {
        let pages = start.next_multiple_of(PAGE)..(start + size) / PAGE * PAGE;
        let Some(memory) = watchable_memory(&pages).filter(|_| !pages.is_empty()) else { return false };
        let is_shared = memory == WatchableMemory::Shared;
        let mut unused = self.unused();
        let is_same = |area: &&Area| area.bounds() == (pages.start, pages.len()) && area.is_shared == is_shared;
        let known = unused.iter().position(is_same);
        let area = match known.map(|index| unused.swap_remove(index)) {
            Some(area) => area,
            None => {
                let window = Window { start: pages.start, len: pages.len(), shift: 0 };
                &*Box::leak(Box::new(Area::new(window, Door::MemoryFile, is_shared)))
            }
        };
        let mut areas = self.all();
        areas.insert(areas.partition_point(|other| other.bounds().0 < pages.start), area);
        self.replace(areas);
        true
    }

    /// Stops watching a registration, whose counts are zero.
    pub(super) fn remove(&self, start: usize) {
        let mut unused = self.unused();
        let mut areas = self.all();
        if let Some(index) = areas.iter().position(|area| area.bounds().0 == start.next_multiple_of(PAGE)) {
            unused.push(areas.remove(index));
            self.replace(areas);
        }
    }

    fn unused(&self) -> MutexGuard<'_, Vec<&'static Area>> {
        self.unused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn replace(&self, mut areas: Vec<&'static Area>) {
        self.count.store(areas.len(), Ordering::Release);
        std::mem::swap(&mut *self.areas.write().unwrap_or_else(PoisonError::into_inner), &mut areas);
    }

    /// The area that contains an address.
    pub(super) fn at(&self, address: usize) -> Option<&'static Area> {
        self.meeting(address, 1).pop()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// The areas that a range meets.
    pub(super) fn meeting(&self, start: usize, len: usize) -> Vec<&'static Area> {
        if self.is_empty() {
            return Vec::new();
        }
        let areas = self.areas.read().unwrap_or_else(PoisonError::into_inner);
        let end = areas.partition_point(|area| area.bounds().0 < start.saturating_add(len));
        let first = areas[..end].partition_point(|area| area.bounds().0 + area.bounds().1 <= start);
        areas[first..end].to_vec()
    }

    /// All areas.
    pub(super) fn all(&self) -> Vec<&'static Area> {
        self.areas.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Memory that can be watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WatchableMemory {
    Private,
    /// A shared mapping: the memory may have other mappings, here or in other processes.
    Shared,
}

/// Returns what a range is if every page of it is mapped readable and writable, not executable, and not part of the
/// stack of the calling thread: a signal cannot be delivered on a protected stack.
fn watchable_memory(pages: &Range<usize>) -> Option<WatchableMemory> {
    let here = (&raw const pages) as usize;
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let mut covered = pages.start;
    let mut memory = WatchableMemory::Private;
    for line in maps.lines() {
        let (range, rest) = line.split_once(' ')?;
        let (from, to) = range.split_once('-')?;
        let (from, to) = (usize::from_str_radix(from, 16).ok()?, usize::from_str_radix(to, 16).ok()?);
        if to <= covered {
            continue;
        }
        if from > covered || !rest.starts_with("rw-") || rest.ends_with("[stack]") || (from..to).contains(&here) {
            return None;
        }
        if rest.starts_with("rw-s") {
            memory = WatchableMemory::Shared;
        }
        covered = to;
        if covered >= pages.end {
            return Some(memory);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_pages_of_watchable_memory_are_watched() {
        let areas = RegisteredAreas::default();
        let heap = vec![0_u8; 5 * PAGE];
        let start = heap.as_ptr() as usize;
        assert!(!areas.add(start, PAGE / 2), "no whole page");
        assert!(areas.add(start, heap.len()));
        let first = start.next_multiple_of(PAGE);
        assert!(areas.at(first).is_some() && areas.at(first - 1).is_none());
        assert_eq!(areas.meeting(start, heap.len()).len(), 1);
        areas.remove(start);
        assert!(areas.at(first).is_none());
        let stack = [0_u8; 3 * PAGE];
        assert!(!areas.add(stack.as_ptr() as usize, stack.len()), "a stack");
        assert!(!areas.add(only_whole_pages_of_watchable_memory_are_watched as *const () as usize, 3 * PAGE), "code");
    }
}
