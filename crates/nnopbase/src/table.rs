//! The table of objects. A handle is an index with a generation and a mark, so that a destroyed object, an address or an
//! object of another library is never mistaken for a live one.

use crate::objects::Object;
use crate::status::Failure;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Upper bits of every handle. Not an address on any supported processor: an access through a handle faults.
const MARK: usize = 0xac15 << 48;
const BITS: u32 = 24;
const LIMIT: usize = 1 << BITS;

static TABLE: Mutex<Table> = Mutex::new(Table { slots: Vec::new(), free: Vec::new() });

pub struct Table {
    slots: Vec<Slot>,
    free: Vec<usize>,
}

struct Slot {
    generation: usize,
    object: Option<Object>,
}

/// Locks the table of the process.
pub fn table() -> MutexGuard<'static, Table> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Table {
    /// Stores an object and returns its handle.
    pub fn insert(&mut self, object: Object) -> Result<usize, Failure> {
        let index = match self.free.pop() {
            Some(index) => index,
            None if self.slots.len() < LIMIT => {
                self.slots.push(Slot { generation: 0, object: None });
                self.slots.len() - 1
            }
            None => return Err(Failure::Invalid(format!("{LIMIT} objects exist; destroy those that are not in use"))),
        };
        let slot = &mut self.slots[index];
        slot.object = Some(object);
        Ok(MARK | slot.generation << BITS | index)
    }

    pub fn get(&self, handle: usize) -> Option<&Object> {
        let slot = self.slots.get(index(handle)?)?;
        if slot.generation == generation(handle) { slot.object.as_ref() } else { None }
    }

    pub fn get_mut(&mut self, handle: usize) -> Option<&mut Object> {
        let slot = self.slots.get_mut(index(handle)?)?;
        if slot.generation == generation(handle) { slot.object.as_mut() } else { None }
    }

    /// Removes an object. Its handle is never valid again.
    pub fn remove(&mut self, handle: usize) -> Option<Object> {
        let index = index(handle)?;
        let slot = self.slots.get_mut(index)?;
        if slot.generation != generation(handle) {
            return None;
        }
        let object = slot.object.take()?;
        slot.generation += 1;
        // A slot whose generations are used up is not used again.
        if slot.generation < LIMIT {
            self.free.push(index);
        }
        Some(object)
    }
}

fn index(handle: usize) -> Option<usize> {
    (handle >> 48 == MARK >> 48).then_some(handle & (LIMIT - 1))
}

fn generation(handle: usize) -> usize {
    handle >> BITS & (LIMIT - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handle_of_a_reused_slot_is_not_that_of_the_old_object() {
        let mut table = Table { slots: Vec::new(), free: Vec::new() };
        let first = table.insert(Object::IntArray(vec![1])).unwrap();
        assert!(table.remove(first).is_some() && table.remove(first).is_none());
        let second = table.insert(Object::IntArray(vec![2])).unwrap();
        assert_eq!(index(first), index(second));
        assert!(table.get(first).is_none() && table.get(second).is_some());
        for wild in [0, 1, 8, first + 1, second + 1, second ^ MARK, usize::MAX, &raw const table as usize] {
            assert!(table.get(wild).is_none() && table.get_mut(wild).is_none() && table.remove(wild).is_none());
        }
    }

    #[test]
    fn slot_with_exhausted_generations_is_retired() {
        let mut table = Table { slots: vec![Slot { generation: LIMIT - 1, object: None }], free: vec![0] };
        let last = table.insert(Object::IntArray(vec![])).unwrap();
        assert!(table.remove(last).is_some());
        assert_eq!(index(table.insert(Object::IntArray(vec![])).unwrap()), Some(1));
        assert!(table.get(last).is_none());
    }
}
