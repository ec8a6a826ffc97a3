//! Attributes of operators: names with values, collected before an operator is called.

use crate::entry::{array, export, text};
use softacl_engine::{Error, Result, fail};
use softacl_faults::system::try_collect;
use softacl_sync::handle::{HandleKind, Key, Slots};
use std::collections::BTreeMap;
use std::ffi::{c_char, c_void};
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

/// What an `aclopAttr*` names.
#[derive(Default)]
struct Attributes(Mutex<Values>);

impl HandleKind for Attributes {
    const NUMBER: u8 = 6;
}

static ATTRIBUTES: LazyLock<Slots<Attributes>> = LazyLock::new(Slots::default);

/// The values now. NULL is none.
pub(crate) fn values(attributes: *const c_void) -> Result<Values> {
    if attributes.is_null() {
        return Ok(Values::new());
    }
    match Key::from_raw(attributes as usize).and_then(|key| ATTRIBUTES.get(key)) {
        Some(found) => Ok(found.0.lock().unwrap_or_else(PoisonError::into_inner).clone()),
        None => fail(Error::Argument(format!("{attributes:?} are no live operator attributes"))),
    }
}

fn set(attributes: *mut c_void, name: *const c_char, value: Value) -> Result<()> {
    let Some(name) = text(name, "attrName")? else { return fail(Error::Null("attrName")) };
    match Key::from_raw(attributes as usize).and_then(|key| ATTRIBUTES.get(key)) {
        Some(found) => {
            found.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name, value);
            Ok(())
        }
        None => fail(Error::Argument(format!("{attributes:?} are no live operator attributes"))),
    }
}

/// A list that C hands over; an empty one may be NULL.
fn list<T: Clone>(count: i32, values: *const T) -> Result<Vec<T>> {
    let Ok(count) = usize::try_from(count) else {
        return fail(Error::Argument(format!("numValues is {count}")));
    };
    match array(values, count, "values")? {
        Some(values) => try_collect(values.iter().cloned().map(Ok), "attribute"),
        None if count == 0 => Ok(Vec::new()),
        None => fail(Error::Null("values")),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn aclopCreateAttr() -> *mut c_void {
    let fill = |made: &Attributes, _| made.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    ATTRIBUTES.insert(fill).map_or(ptr::null_mut(), |key| key.raw() as *mut c_void)
}

#[unsafe(no_mangle)]
pub extern "C" fn aclopDestroyAttr(attributes: *const c_void) {
    if let Some(key) = Key::from_raw(attributes as usize) {
        ATTRIBUTES.remove(key);
    }
}

export! {
    fn aclopSetAttrBool(attributes: *mut c_void, name: *const c_char, value: u8) |_caller| { set(attributes, name, Value::Bool(value != 0)) }
    fn aclopSetAttrInt(attributes: *mut c_void, name: *const c_char, value: i64) |_caller| { set(attributes, name, Value::Int(value)) }
    fn aclopSetAttrFloat(attributes: *mut c_void, name: *const c_char, value: f32) |_caller| { set(attributes, name, Value::Float(value)) }
    fn aclopSetAttrDataType(attributes: *mut c_void, name: *const c_char, value: i32) |_caller| { set(attributes, name, Value::DataType(value)) }

    fn aclopSetAttrString(attributes: *mut c_void, name: *const c_char, value: *const c_char) |_caller| {
        let Some(value) = text(value, "attrValue")? else { return fail(Error::Null("attrValue")) };
        set(attributes, name, Value::Text(value))
    }

    fn aclopSetAttrListBool(attributes: *mut c_void, name: *const c_char, count: i32, values: *const u8) |_caller| {
        set(attributes, name, Value::Bools(list(count, values)?.into_iter().map(|value| value != 0).collect()))
    }

    fn aclopSetAttrListInt(attributes: *mut c_void, name: *const c_char, count: i32, values: *const i64) |_caller| {
        set(attributes, name, Value::Ints(list(count, values)?))
    }

    fn aclopSetAttrListFloat(attributes: *mut c_void, name: *const c_char, count: i32, values: *const f32) |_caller| {
        set(attributes, name, Value::Floats(list(count, values)?))
    }

    fn aclopSetAttrListListInt(
        attributes: *mut c_void, name: *const c_char, count: i32, lengths: *const i32, values: *const *const i64
    ) |_caller| {
        let (lengths, values) = (list(count, lengths)?, list(count, values)?);
        let lists = lengths.into_iter().zip(values).map(|(length, values)| list(length, values));
        set(attributes, name, Value::IntLists(lists.collect::<Result<_>>()?))
    }
}
