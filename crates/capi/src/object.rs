//! Objects that a program builds and passes by pointer: settings, lists, tensors, stamps.
//!
//! The pointer is a key, so a stale or foreign one is not found. All kinds share one table, and a look-up also tests
//! the type, so a pointer to an object of another kind is not found either.

use softacl_engine::{Error, Result, fail};
use softacl_sync::handle::{HandleKind, Key, Slots};
use std::any::Any;
use std::ffi::c_void;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// A type of objects in the table.
pub(crate) trait Object: Any + Send {
    /// Name for messages.
    const NAME: &'static str;
}

enum ObjectTag {}

impl HandleKind for ObjectTag {
    const NUMBER: u8 = 10;
}

type Contents = Option<Box<dyn Any + Send>>;

static OBJECTS: LazyLock<Slots<Mutex<Contents>, ObjectTag>> = LazyLock::new(Slots::default);

fn lock(slot: &Mutex<Contents>) -> MutexGuard<'_, Contents> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Stores an object and returns its pointer.
pub(crate) fn create<T: Object>(object: T) -> Result<*mut c_void> {
    match OBJECTS.insert(|slot, _| *lock(slot) = Some(Box::new(object))) {
        Some(key) => Ok(key.raw() as *mut c_void),
        None => fail(Error::NoHandle(T::NAME)),
    }
}

/// Applies `access` to a live object. It must not access another object.
pub(crate) fn with<T: Object, R>(pointer: *const c_void, access: impl FnOnce(&mut T) -> R) -> Result<R> {
    let Some(key) = live::<T>(pointer) else { return not_live::<T, _>(pointer) };
    let mut slot = lock(OBJECTS.slot(key));
    // Another thread may have destroyed the object in between.
    let object = slot.as_mut().filter(|_| OBJECTS.get(key).is_some()).and_then(|object| object.downcast_mut());
    match object {
        Some(object) => Ok(access(object)),
        None => not_live::<T, _>(pointer),
    }
}

/// Removes an object from the table.
pub(crate) fn destroy<T: Object>(pointer: *const c_void) -> Result<Box<T>> {
    let key = live::<T>(pointer).filter(|key| OBJECTS.retire(*key));
    let Some(key) = key else { return not_live::<T, _>(pointer) };
    let object = lock(OBJECTS.slot(key)).take();
    OBJECTS.recycle(key);
    object.and_then(|object| object.downcast().ok()).map_or_else(|| not_live::<T, _>(pointer), Ok)
}

/// The key of a live object of this type.
fn live<T: Object>(pointer: *const c_void) -> Option<Key<ObjectTag>> {
    let key = Key::from_raw(pointer as usize)?;
    OBJECTS.get(key).filter(|slot| lock(slot).as_ref().is_some_and(|object| object.is::<T>())).map(|_| key)
}

fn not_live<T: Object, R>(pointer: *const c_void) -> Result<R> {
    fail(Error::Argument(format!("{pointer:?} is not a live {}", T::NAME)))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Apple(u32);
    impl Object for Apple {
        const NAME: &'static str = "apple";
    }
    #[derive(Debug)]
    struct Pear;
    impl Object for Pear {
        const NAME: &'static str = "pear";
    }

    #[test]
    fn object_is_found_by_its_own_type_until_it_is_destroyed() {
        let apple = create(Apple(1)).unwrap();
        with(apple, |apple: &mut Apple| apple.0 += 1).unwrap();
        assert!(with(apple, |_: &mut Pear| ()).is_err() && destroy::<Pear>(apple).is_err());
        assert_eq!(destroy::<Apple>(apple).unwrap().0, 2);
        assert!(with(apple, |_: &mut Apple| ()).is_err() && destroy::<Apple>(apple).is_err());
        let other = create(Pear).unwrap();
        assert_ne!(apple, other);
        assert!(destroy::<Pear>(other).is_ok());
        for wild in [0, 16, usize::MAX].map(|address| address as *const c_void) {
            assert!(with(wild, |_: &mut Pear| ()).is_err());
        }
    }
}
