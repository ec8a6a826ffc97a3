//! Tensors for channels (`acltdtDataItem`), and lists of them (`acltdtDataset`).
//!
//! An item that the program created points to memory of the program, which is read when the list is sent. An item that
//! a channel delivered owns its memory, and belongs to the list that received it.

use crate::argument::{Argument as _, InPtr, OutPtr};
use crate::entry::{export, value};
use crate::object::{self, Object};
use ascendcl_sys::{ACL_DT_UNDEFINED, rows};
use softacl_engine::{Error, Result, fail, segv};
use softacl_queues::channel::Tensor;
use std::ffi::{CString, c_char, c_void};
use std::ptr;

/// Maximum number of dimensions of a tensor, far above what clients use.
const MAX_DIMENSIONS: usize = 64;
/// The type of an item that does not exist.
const NO_TYPE: i32 = -1;

/// The object behind an `acltdtDataItem*`.
struct Item {
    kind: i32,
    data_type: i32,
    dimensions: Vec<i64>,
    address: usize,
    size: usize,
    /// The memory of a received item. Never accessed: the program uses it by its address.
    _owner: Option<Vec<u8>>,
}

impl Object for Item {
    const NAME: &'static str = "data item";
}

impl Item {
    /// Creates an item with the memory of a received tensor.
    fn of(tensor: Tensor) -> Item {
        let Tensor { kind, data_type, dimensions, mut data } = tensor;
        let (address, size) = (data.as_mut_ptr() as usize, data.len());
        Item { kind, data_type, dimensions, address, size, _owner: Some(data) }
    }
}

/// The object behind an `acltdtDataset*`.
#[derive(Default)]
struct List {
    items: Vec<usize>,
    /// Items that a channel delivered. They end with the list.
    received: Vec<usize>,
    /// The channel that delivered the items. A C string, because the program reads its address.
    name: CString,
}

impl Object for List {
    const NAME: &'static str = "dataset";
}

/// Copies the tensors of a list, as they are now.
pub(crate) fn tensors(list: *const c_void) -> Result<Vec<Tensor>> {
    let items = object::with(list, |list: &mut List| list.items.clone())?;
    items.into_iter().map(tensor).collect()
}

fn tensor(item: usize) -> Result<Tensor> {
    let describe = |item: &mut Item| (item.kind, item.data_type, item.dimensions.clone(), item.address, item.size);
    let (kind, data_type, dimensions, address, size) = object::with(item as *const c_void, describe)?;
    // SAFETY: the address that the program passed with the item, for this call to read.
    let place = unsafe { Option::<InPtr<u8>>::from_program(address as *const u8, "data") }?;
    let data = match place.filter(|_| size > 0) {
        Some(place) => place.copy(size, "a tensor")?,
        None => Vec::new(),
    };
    Ok(Tensor { kind, data_type, dimensions, data })
}

/// Fails unless the list is live and empty, as it must be to receive.
pub(crate) fn check_empty(list: *const c_void) -> Result<()> {
    match object::with(list, |list: &mut List| list.items.len())? {
        0 => Ok(()),
        count => fail(Error::Argument(format!("the dataset has {count} items, but must be empty to receive"))),
    }
}

/// Fills a list with received tensors.
pub(crate) fn fill(list: *mut c_void, name: String, tensors: Vec<Tensor>) -> Result<()> {
    let create = |tensor| object::create(Item::of(tensor)).map(|item| item as usize);
    let items: Vec<usize> = tensors.into_iter().map(create).collect::<Result<_>>()?;
    object::with(list, |list: &mut List| {
        list.received.extend(&items);
        list.items.extend(items);
        list.name = CString::new(name).unwrap_or_default();
    })
}

/// Reads a property of an item.
fn property<T>(
    function: &'static ascendcl_sys::Function,
    item: *const c_void,
    otherwise: T,
    read: impl FnOnce(&mut Item) -> T,
) -> T {
    value(function, otherwise, |_| object::with(item, read))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn acltdtCreateDataItem(
    kind: i32,
    dims: *const i64,
    count: usize,
    data_type: i32,
    data: *mut c_void,
    size: usize,
) -> *mut c_void {
    value(rows::acltdtCreateDataItem, ptr::null_mut(), |call| {
        call.require_supported()?;
        if count > MAX_DIMENSIONS {
            return fail(Error::Argument(format!("dimNum {count} exceeds {MAX_DIMENSIONS}")));
        }
        if data.is_null() && size > 0 {
            return fail(Error::Null("data"));
        }
        // SAFETY: the argument of this call, which the program permits to read.
        let dims = unsafe { Option::<InPtr<i64>>::from_program(dims, "dims") }?;
        let dimensions = match dims {
            Some(dims) => dims.array(count, &segv::enter())?.to_vec(),
            None if count == 0 => Vec::new(),
            None => return fail(Error::Null("dims")),
        };
        object::create(Item { kind, data_type, dimensions, address: data as usize, size, _owner: None })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn acltdtGetTensorTypeFromItem(item: *const c_void) -> i32 {
    property(rows::acltdtGetTensorTypeFromItem, item, NO_TYPE, |item| item.kind)
}

#[unsafe(no_mangle)]
pub extern "C" fn acltdtGetDataTypeFromItem(item: *const c_void) -> i32 {
    property(rows::acltdtGetDataTypeFromItem, item, ACL_DT_UNDEFINED, |item| item.data_type)
}

#[unsafe(no_mangle)]
pub extern "C" fn acltdtGetDataAddrFromItem(item: *const c_void) -> *mut c_void {
    property(rows::acltdtGetDataAddrFromItem, item, 0, |item| item.address) as *mut c_void
}

#[unsafe(no_mangle)]
pub extern "C" fn acltdtGetDataSizeFromItem(item: *const c_void) -> usize {
    property(rows::acltdtGetDataSizeFromItem, item, 0, |item| item.size)
}

#[unsafe(no_mangle)]
pub extern "C" fn acltdtGetDimNumFromItem(item: *const c_void) -> usize {
    property(rows::acltdtGetDimNumFromItem, item, 0, |item| item.dimensions.len())
}

export! {
    fn acltdtDestroyDataItem(item: *mut c_void) |call| {
        call.require_supported()?;
        object::destroy::<Item>(item).map(drop)
    }

    fn acltdtGetDimsFromItem(item: *const c_void, dims: Option<OutPtr<i64>>, capacity: usize) |call| {
        call.require_supported()?;
        let dimensions = object::with(item, |item: &mut Item| item.dimensions.clone())?;
        if dimensions.len() > capacity {
            return fail(Error::Argument(format!(
                "the item has {} dimensions, but dimNum is {capacity}",
                dimensions.len()
            )));
        }
        let Some(dims) = dims else {
            return if dimensions.is_empty() { Ok(()) } else { fail(Error::Null("dims")) };
        };
        dimensions.iter().enumerate().try_for_each(|(index, dimension)| dims.set_at(index, *dimension))
    }

    /// A tensor is never cut into slices here, so it is slice 0 of 1.
    fn acltdtGetSliceInfoFromItem(item: *const c_void, count: OutPtr<usize>, index: OutPtr<usize>) |call| {
        call.require_supported()?;
        object::with(item, |_: &mut Item| ())?;
        count.set(1)?;
        index.set(0)
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn acltdtCreateDataset() -> *mut c_void {
    value(rows::acltdtCreateDataset, ptr::null_mut(), |call| {
        call.require_supported()?;
        object::create(List::default())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn acltdtGetDataItem(list: *const c_void, index: usize) -> *mut c_void {
    let find = |list: &mut List| list.items.get(index).copied().ok_or(list.items.len());
    let missing = |count| fail(Error::Argument(format!("index {index} is not below the {count} items")));
    value(rows::acltdtGetDataItem, 0, |_| object::with(list, find)?.or_else(missing)) as *mut c_void
}

#[unsafe(no_mangle)]
pub extern "C" fn acltdtGetDatasetSize(list: *const c_void) -> usize {
    value(rows::acltdtGetDatasetSize, 0, |_| object::with(list, |list: &mut List| list.items.len()))
}

/// The text lives until the list receives again or is destroyed.
#[unsafe(no_mangle)]
pub extern "C" fn acltdtGetDatasetName(list: *const c_void) -> *const c_char {
    value(rows::acltdtGetDatasetName, ptr::null(), |_| object::with(list, |list: &mut List| list.name.as_ptr()))
}

export! {
    fn acltdtDestroyDataset(list: *mut c_void) |call| {
        call.require_supported()?;
        let list = object::destroy::<List>(list)?;
        // The program may have destroyed some of them itself.
        list.received.iter().for_each(|item| drop(object::destroy::<Item>(*item as *const c_void)));
        Ok(())
    }

    fn acltdtAddDataItem(list: *mut c_void, item: *mut c_void) |call| {
        call.require_supported()?;
        object::with(item, |_: &mut Item| ())?;
        object::with(list, |list: &mut List| list.items.push(item as usize))
    }
}
