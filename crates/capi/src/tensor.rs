//! Tensor descriptions, which clients pass to operators. No device memory is accessed here.
//!
//! A description pointer is a key, so a stale or foreign one is not found.

use crate::argument::{Argument as _, InPtr, OutPtr, TextPtr, UntypedPtr};
use crate::entry::export;
use ascendcl_sys::*;
use softacl_engine::{Error, Result, fail, segv};
use softacl_faults::system::try_collect;
use softacl_sync::handle::{HandleKind, Key, Slots};
use std::ffi::{c_char, c_void};
use std::fmt;
use std::ptr;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Maximum number of dimensions of a tensor, far above what clients use.
const MAX_DIMENSIONS: usize = 64;
/// Dimension of a tensor of unknown rank.
const UNKNOWN_RANK: i64 = -2;

/// The object behind an `aclTensorDesc*`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Description {
    pub(crate) data_type: i32,
    pub(crate) dimensions: Vec<i64>,
    pub(crate) format: i32,
    /// Format and shape in device memory, if they differ.
    pub(crate) storage: Option<(i32, Vec<i64>)>,
    pub(crate) name: String,
    /// An `aclMemType`: the location of the data.
    pub(crate) placement: i32,
    /// The value, if it was passed with the description.
    pub(crate) constant: Option<Vec<u8>>,
}

impl Description {
    /// Returns the number of elements. `None` if a dimension is unknown.
    pub(crate) fn elements(&self) -> Option<usize> {
        self.dimensions
            .iter()
            .try_fold(1usize, |product, dimension| product.checked_mul(usize::try_from(*dimension).ok()?))
    }
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}", type_name(self.data_type), self.dimensions)?;
        if self.format != ACL_FORMAT_ND && self.format != ACL_FORMAT_NCHW {
            write!(f, " in format {}", self.format)?;
        }
        match &self.storage {
            Some((format, dimensions)) if (*format, dimensions) != (self.format, &self.dimensions) => {
                write!(f, " stored as {dimensions:?} in format {format}")
            }
            _ => Ok(()),
        }
    }
}

/// Returns the name of a data type for messages.
pub(crate) fn type_name(data_type: i32) -> String {
    let name = match data_type {
        ACL_FLOAT => "float32",
        ACL_FLOAT16 => "float16",
        ACL_BF16 => "bfloat16",
        ACL_DOUBLE => "float64",
        ACL_INT8 => "int8",
        ACL_INT16 => "int16",
        ACL_INT32 => "int32",
        ACL_INT64 => "int64",
        ACL_UINT8 => "uint8",
        ACL_UINT16 => "uint16",
        ACL_UINT32 => "uint32",
        ACL_UINT64 => "uint64",
        ACL_BOOL => "bool",
        ACL_COMPLEX64 => "complex64",
        ACL_COMPLEX128 => "complex128",
        other => return format!("type {other}"),
    };
    name.to_owned()
}

#[derive(Default)]
struct Tensor(Mutex<Description>);

impl HandleKind for Tensor {
    const NUMBER: u8 = 5;
}

static TENSORS: LazyLock<Slots<Tensor>> = LazyLock::new(Slots::default);

/// Applies `access` to a live description. `None` if there is none behind the pointer.
fn with<T>(tensor: *const c_void, access: impl FnOnce(&mut Description) -> T) -> Option<T> {
    let found = TENSORS.get(Key::from_raw(tensor as usize)?)?;
    Some(access(&mut found.0.lock().unwrap_or_else(PoisonError::into_inner)))
}

fn change(tensor: *const c_void, change: impl FnOnce(&mut Description) -> Result<()>) -> Result<()> {
    match with(tensor, change) {
        Some(result) => result,
        None => fail(Error::Argument(format!("{tensor:?} is not a live tensor description"))),
    }
}

/// Returns a copy of a description.
pub(crate) fn description(tensor: *const c_void) -> Result<Description> {
    match with(tensor, |found| found.clone()) {
        Some(found) => Ok(found),
        None => fail(Error::Argument(format!("{tensor:?} is not a live tensor description"))),
    }
}

fn dimensions(count: i32, values: Option<InPtr<i64>>) -> Result<Vec<i64>> {
    let count = usize::try_from(count).ok().filter(|count| *count <= MAX_DIMENSIONS);
    let Some(count) = count else {
        return fail(Error::Argument(format!("numDims is not in 0 to {MAX_DIMENSIONS}")));
    };
    match values {
        Some(values) => Ok(values.array(count, &segv::enter())?.to_vec()),
        None if count == 0 => Ok(Vec::new()),
        None => fail(Error::Null("dims")),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclCreateTensorDesc(data_type: i32, count: i32, dims: *const i64, format: i32) -> *mut c_void {
    // SAFETY: the argument of this call, which the program permits to read.
    let Ok(dims) = (unsafe { Option::<InPtr<i64>>::from_program(dims, "dims") }) else { return ptr::null_mut() };
    let Ok(dimensions) = dimensions(count, dims) else { return ptr::null_mut() };
    let description = Description { data_type, dimensions, format, ..Description::default() };
    let fill = |tensor: &Tensor, _| *tensor.0.lock().unwrap_or_else(PoisonError::into_inner) = description;
    TENSORS.insert(fill).map_or(ptr::null_mut(), |key| key.raw() as *mut c_void)
}

#[unsafe(no_mangle)]
pub extern "C" fn aclDestroyTensorDesc(tensor: *const c_void) {
    if let Some(key) = Key::from_raw(tensor as usize) {
        TENSORS.remove(key);
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn aclGetTensorDescType(tensor: *const c_void) -> i32 {
    with(tensor, |tensor| tensor.data_type).unwrap_or(ACL_DT_UNDEFINED)
}

#[unsafe(no_mangle)]
pub extern "C" fn aclGetTensorDescFormat(tensor: *const c_void) -> i32 {
    with(tensor, |tensor| tensor.format).unwrap_or(ACL_FORMAT_UNDEFINED)
}

#[unsafe(no_mangle)]
pub extern "C" fn aclGetTensorDescNumDims(tensor: *const c_void) -> usize {
    with(tensor, |tensor| tensor.dimensions.len()).unwrap_or(0)
}

/// Returns 0 if a dimension is unknown.
#[unsafe(no_mangle)]
pub extern "C" fn aclGetTensorDescElementCount(tensor: *const c_void) -> usize {
    with(tensor, |tensor| tensor.elements()).flatten().unwrap_or(0)
}

/// Returns the bytes of the tensor, or 0 if a dimension or the size of the type is unknown.
#[unsafe(no_mangle)]
pub extern "C" fn aclGetTensorDescSize(tensor: *const c_void) -> usize {
    let bytes =
        |tensor: &mut Description| tensor.elements()?.checked_mul(crate::buffer::aclDataTypeSize(tensor.data_type));
    with(tensor, bytes).flatten().unwrap_or(0)
}

/// The older form, which cannot distinguish an error from a size.
#[unsafe(no_mangle)]
pub extern "C" fn aclGetTensorDescDim(tensor: *const c_void, index: usize) -> i64 {
    with(tensor, |tensor| tensor.dimensions.get(index).copied()).flatten().unwrap_or(-1)
}

export! {
    fn aclGetTensorDescDimV2(tensor: *const c_void, index: usize, size: OutPtr<i64>) |_call| {
        let found = description(tensor)?;
        match found.dimensions.get(index) {
            Some(_) if found.dimensions == [UNKNOWN_RANK] => {
                fail(Error::Argument("the rank of the tensor is unknown".to_owned()))
            }
            Some(dimension) => size.set(*dimension),
            None => fail(Error::Argument(format!("dimension {index} does not exist: the tensor is {found}"))),
        }
    }

    fn aclSetTensorStorageFormat(tensor: *mut c_void, format: i32) |_call| { store_format(tensor, format) }
    fn aclSetTensorFormat(tensor: *mut c_void, format: i32) |_call| { store_format(tensor, format) }

    fn aclSetTensorStorageShape(tensor: *mut c_void, count: i32, dims: Option<InPtr<i64>>) |_call| {
        store_shape(tensor, count, dims)
    }
    fn aclSetTensorShape(tensor: *mut c_void, count: i32, dims: Option<InPtr<i64>>) |_call| {
        store_shape(tensor, count, dims)
    }

    fn aclSetTensorPlaceMent(tensor: *mut c_void, place: i32) |_call| {
        change(tensor, |tensor| {
            tensor.placement = place;
            Ok(())
        })
    }

    /// Copies the value. The program may free its own copy immediately.
    fn aclSetTensorConst(tensor: *mut c_void, data: Option<UntypedPtr>, size: usize) |_call| {
        let copy = |data: UntypedPtr| {
            let guard = segv::enter();
            try_collect(data.input::<u8>().array(size, &guard)?.iter().copied().map(Ok), "a constant")
        };
        let value = data.map(copy).transpose()?;
        change(tensor, |tensor| {
            tensor.constant = value;
            Ok(())
        })
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclSetTensorDescName(tensor: *mut c_void, name: *const c_char) {
    // SAFETY: the argument of this call, which the program permits to read.
    let name = unsafe { Option::<TextPtr>::from_program(name, "name") };
    if let Ok(name) = name.and_then(|name| name.map(TextPtr::read).transpose()) {
        with(tensor, |tensor| tensor.name = name.unwrap_or_default());
    }
}

fn store_format(tensor: *mut c_void, format: i32) -> Result<()> {
    change(tensor, |tensor| {
        let dimensions = tensor.dimensions.clone();
        tensor.storage.get_or_insert((format, dimensions)).0 = format;
        Ok(())
    })
}

fn store_shape(tensor: *mut c_void, count: i32, dims: Option<InPtr<i64>>) -> Result<()> {
    let dimensions = dimensions(count, dims)?;
    change(tensor, |tensor| {
        let format = tensor.format;
        tensor.storage.get_or_insert((format, Vec::new())).1 = dimensions;
        Ok(())
    })
}
