//! How a call finds, changes and destroys an object.

use crate::objects::{Object, Tensor};
use crate::status::Failure;
use crate::table::{Table, table};

/// What an object is, for messages.
pub const TENSOR: &str = "tensor";

/// Reads an object. `select` returns the part of it that the call uses, or `None` if it is of another kind.
pub fn with<T>(handle: usize, what: &'static str, select: impl FnOnce(&Object) -> Option<T>) -> Result<T, Failure> {
    if handle == 0 {
        return Err(Failure::Null(what));
    }
    table().get(handle).and_then(select).ok_or_else(|| unknown(handle, what))
}

/// Changes a tensor.
pub fn change_tensor(handle: usize, change: impl FnOnce(&mut Tensor)) -> Result<(), Failure> {
    if handle == 0 {
        return Err(Failure::Null(TENSOR));
    }
    match table().get_mut(handle) {
        Some(Object::Tensor(tensor)) => {
            change(tensor);
            Ok(())
        }
        _ => Err(unknown(handle, TENSOR)),
    }
}

/// Destroys an object of the kind that `is_kind` accepts, and the members of a list. NULL is accepted.
pub fn destroy(handle: usize, what: &'static str, is_kind: impl FnOnce(&Object) -> bool) -> Result<(), Failure> {
    if handle == 0 {
        return Ok(());
    }
    let mut table = table();
    if !table.get(handle).is_some_and(is_kind) {
        return Err(unknown(handle, what));
    }
    remove(&mut table, handle);
    Ok(())
}

fn remove(table: &mut Table, handle: usize) {
    // A member that was destroyed before is gone; no list contains a list.
    if let Some(Object::TensorList(members) | Object::ScalarList(members)) = table.remove(handle) {
        for member in members {
            table.remove(member);
        }
    }
}

pub fn unknown(handle: usize, what: &str) -> Failure {
    Failure::Invalid(format!("{handle:#x} is not a live {what}; was it destroyed?"))
}
