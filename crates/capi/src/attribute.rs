//! Attributes of operators: named values, collected before an operator is called.

use crate::argument::{Argument as _, InPtr, TextPtr};
use crate::entry::export;
use softacl_engine::{Error, Result, fail};
use softacl_faults::system::try_collect;
use softacl_memory::segv;
use softacl_sync::handle::{HandleKind, Key, Slots};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::fmt;
use std::ptr;
use std::sync::{LazyLock, Mutex, PoisonError};

/// The value of one attribute.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Bool(bool),
    Int(i64),
    Float(f32),
    Text(String),
    DataType(i32),
    Bools(Vec<bool>),
    Ints(Vec<i64>),
    Floats(Vec<f32>),
    IntLists(Vec<Vec<i64>>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(value) => write!(f, "{value}"),
            Value::Int(value) => write!(f, "{value}"),
            Value::Float(value) => write!(f, "{value:?}"),
            Value::Text(value) => write!(f, "{value:?}"),
            Value::DataType(value) => f.write_str(&crate::tensor::type_name(*value)),
            Value::Bools(values) => write!(f, "{values:?}"),
            Value::Ints(values) => write!(f, "{values:?}"),
            Value::Floats(values) => write!(f, "{values:?}"),
            Value::IntLists(values) => write!(f, "{values:?}"),
        }
    }
}

pub(crate) type Values = BTreeMap<String, Value>;

/// The object behind an `aclopAttr*`.
#[derive(Default)]
struct Attributes(Mutex<Values>);

impl HandleKind for Attributes {
    const NUMBER: u8 = 6;
}

static ATTRIBUTES: LazyLock<Slots<Attributes>> = LazyLock::new(Slots::default);

/// Returns the current values. NULL has none.
pub(crate) fn values(attributes: *const c_void) -> Result<Values> {
    if attributes.is_null() {
        return Ok(Values::new());
    }
    match Key::from_raw(attributes as usize).and_then(|key| ATTRIBUTES.get(key)) {
        Some(found) => Ok(found.0.lock().unwrap_or_else(PoisonError::into_inner).clone()),
        None => fail(Error::Argument(format!("{attributes:?} is not a live set of operator attributes"))),
    }
}

fn set(attributes: *mut c_void, name: TextPtr, value: Value) -> Result<()> {
    let name = name.read()?;
    match Key::from_raw(attributes as usize).and_then(|key| ATTRIBUTES.get(key)) {
        Some(found) => {
            found.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name, value);
            Ok(())
        }
        None => fail(Error::Argument(format!("{attributes:?} is not a live set of operator attributes"))),
    }
}

/// Reads a list. An empty one may be NULL.
fn list<T: Copy>(count: i32, values: Option<InPtr<T>>) -> Result<Vec<T>> {
    let Ok(count) = usize::try_from(count) else {
        return fail(Error::Argument(format!("numValues is {count}")));
    };
    match values {
        Some(values) => {
            let guard = segv::enter();
            try_collect(values.array(count, &guard)?.iter().copied().map(Ok), "attribute")
        }
        None if count == 0 => Ok(Vec::new()),
        None => fail(Error::Null("values")),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn aclopCreateAttr() -> *mut c_void {
    let fill = |created: &Attributes, _| created.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    ATTRIBUTES.insert(fill).map_or(ptr::null_mut(), |key| key.raw() as *mut c_void)
}

#[unsafe(no_mangle)]
pub extern "C" fn aclopDestroyAttr(attributes: *const c_void) {
    if let Some(key) = Key::from_raw(attributes as usize) {
        ATTRIBUTES.remove(key);
    }
}

export! {
    fn aclopSetAttrBool(attributes: *mut c_void, name: TextPtr, value: u8) |_call| {
        set(attributes, name, Value::Bool(value != 0))
    }
    fn aclopSetAttrInt(attributes: *mut c_void, name: TextPtr, value: i64) |_call| {
        set(attributes, name, Value::Int(value))
    }
    fn aclopSetAttrFloat(attributes: *mut c_void, name: TextPtr, value: f32) |_call| {
        set(attributes, name, Value::Float(value))
    }
    fn aclopSetAttrDataType(attributes: *mut c_void, name: TextPtr, value: i32) |_call| {
        set(attributes, name, Value::DataType(value))
    }

    fn aclopSetAttrString(attributes: *mut c_void, name: TextPtr, value: TextPtr) |_call| {
        set(attributes, name, Value::Text(value.read()?))
    }

    fn aclopSetAttrListBool(attributes: *mut c_void, name: TextPtr, count: i32, values: Option<InPtr<u8>>) |_call| {
        set(attributes, name, Value::Bools(list(count, values)?.into_iter().map(|value| value != 0).collect()))
    }

    fn aclopSetAttrListInt(attributes: *mut c_void, name: TextPtr, count: i32, values: Option<InPtr<i64>>) |_call| {
        set(attributes, name, Value::Ints(list(count, values)?))
    }

    fn aclopSetAttrListFloat(attributes: *mut c_void, name: TextPtr, count: i32, values: Option<InPtr<f32>>) |_call| {
        set(attributes, name, Value::Floats(list(count, values)?))
    }

    fn aclopSetAttrListListInt(
        attributes: *mut c_void, name: TextPtr, count: i32, lengths: Option<InPtr<i32>>,
        values: Option<InPtr<*const i64>>
    ) |_call| {
        let (lengths, values) = (list(count, lengths)?, list(count, values)?);
        let lists = lengths.into_iter().zip(values).map(|(length, values)| {
            // SAFETY: the program passes an array of pointers to lists that it permits to read.
            let values = unsafe { Option::<InPtr<i64>>::from_program(values, "values") }?;
            list(length, values)
        });
        set(attributes, name, Value::IntLists(lists.collect::<Result<_>>()?))
    }
}
