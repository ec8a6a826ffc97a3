//! Queues of messages, their settings, and routes between queues.
//!
//! The numbers of the settings (`acltdtQueueAttrType`) are not public, so the size of a value decides which setting it
//! is: the depth has 4 bytes, the name is a pointer.

use crate::argument::{Argument as _, InPtr, NonNullArg, OutPtr, TextPtr};
use crate::entry::{export, value};
use crate::object::{self, Object};
use ascendcl_sys::rows;
use softacl_engine::{Error, Result, fail};
use softacl_queues::queue::{DEFAULT_DEPTH, Message, QueueSettings, Queues, Route, check_user_size};
use softacl_queues::timeout::Timeout;
use std::ffi::{CString, c_char, c_void};
use std::ptr;
use std::sync::LazyLock;

static QUEUES: LazyLock<Queues> = LazyLock::new(Queues::default);

/// The object behind an `acltdtQueueAttr*`. The name is a C string, because the program can read its address.
struct Settings {
    name: CString,
    depth: u32,
}

impl Object for Settings {
    const NAME: &'static str = "queue attribute object";
}

/// The object behind an `acltdtQueueRoute*`.
struct RouteObject(Route);

impl Object for RouteObject {
    const NAME: &'static str = "queue route";
}

/// The object behind an `acltdtQueueRouteList*`.
#[derive(Default)]
struct RouteList(Vec<Route>);

impl Object for RouteList {
    const NAME: &'static str = "list of queue routes";
}

/// The object behind an `acltdtQueueRouteQueryInfo*`. It matches every route, because no field can be set.
struct RouteQuery;

impl Object for RouteQuery {
    const NAME: &'static str = "route query";
}

/// A setting of a queue.
enum Setting {
    Depth,
    Name,
}

impl Setting {
    /// Chooses the setting whose value has `len` bytes.
    fn of_size(len: usize) -> Result<Setting> {
        const DEPTH: usize = size_of::<u32>();
        const NAME: usize = size_of::<*const c_char>();
        match len {
            DEPTH => Ok(Setting::Depth),
            NAME => Ok(Setting::Name),
            _ => fail(Error::Argument(format!(
                "len is {len}, neither the {DEPTH} bytes of a depth nor the {NAME} bytes of a pointer to a name"
            ))),
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn acltdtCreateQueueAttr() -> *mut c_void {
    value(rows::acltdtCreateQueueAttr, ptr::null_mut(), |call| {
        call.require_supported()?;
        object::create(Settings { name: CString::default(), depth: DEFAULT_DEPTH })
    })
}

export! {
    fn acltdtDestroyQueueAttr(settings: *const c_void) |call| {
        call.require_supported()?;
        object::destroy::<Settings>(settings).map(drop)
    }

    fn acltdtSetQueueAttr(settings: *mut c_void, _kind: i32, len: usize, parameter: InPtr<u8>) |call| {
        call.require_supported()?;
        match Setting::of_size(len)? {
            Setting::Depth => {
                let depth = parameter.cast::<u32>().read()?;
                object::with(settings, |settings: &mut Settings| settings.depth = depth)
            }
            Setting::Name => {
                let text = parameter.cast::<*const c_char>().read()?;
                // SAFETY: the parameter holds the address of a text, which the program permits to read.
                let text = unsafe { TextPtr::<*const c_char>::from_program(text, "param") }?.read()?;
                let name = CString::new(text).unwrap_or_default();
                object::with(settings, |settings: &mut Settings| settings.name = name)
            }
        }
    }

    fn acltdtGetQueueAttr(
        settings: *const c_void, _kind: i32, len: usize, size: OutPtr<usize>, parameter: OutPtr<u8>
    ) |call| {
        call.require_supported()?;
        let (name, depth) = object::with(settings, |settings: &mut Settings| (settings.name.as_ptr(), settings.depth))?;
        match Setting::of_size(len)? {
            Setting::Depth => parameter.cast().set(depth)?,
            Setting::Name => parameter.cast().set(name)?,
        }
        size.set(len)
    }

    fn acltdtCreateQueue(settings: *const c_void, id: OutPtr<u32>) |call| {
        call.require_supported()?;
        let settings = object::with(settings, |settings: &mut Settings| QueueSettings {
            name: settings.name.to_string_lossy().into_owned(),
            depth: settings.depth,
        })?;
        let queue = QUEUES.create(settings)?;
        id.set_or(queue, || drop(QUEUES.destroy(queue)))
    }

    fn acltdtDestroyQueue(id: u32) |call| {
        call.require_supported()?;
        QUEUES.destroy(id)
    }

    fn acltdtEnqueueData(
        id: u32, data: InPtr<u8>, size: usize, user_data: Option<InPtr<u8>>, user_size: usize, timeout: i32, _rsv: u32
    ) |call| {
        call.require_supported()?;
        let timeout = Timeout::from_ms(timeout)?;
        if size == 0 {
            return fail(Error::Argument("dataSize is 0".to_owned()));
        }
        check_user_size(user_size)?;
        let data = data.copy(size, "a message")?;
        let user_data = match user_data {
            Some(user_data) => user_data.copy(user_size, "a message")?,
            None if user_size == 0 => Vec::new(),
            None => return fail(Error::Null("userData")),
        };
        QUEUES.push(id, Message::new(data, user_data)?, timeout)
    }

    fn acltdtDequeueData(
        id: u32, data: OutPtr<u8>, capacity: usize, size: OutPtr<usize>,
        user_data: Option<OutPtr<u8>>, user_size: usize, timeout: i32
    ) |call| {
        call.require_supported()?;
        let timeout = Timeout::from_ms(timeout)?;
        check_user_size(user_size)?;
        if user_data.is_none() && user_size != 0 {
            return fail(Error::Null("userData"));
        }
        let message = QUEUES.pop(id, timeout)?;
        let deliver = || {
            let len = message.data.len();
            size.set(len)?;
            if len > capacity {
                return fail(Error::Parameter(format!(
                    "the message has {len} bytes, but dataSize is {capacity}; the message stays in queue {id}"
                )));
            }
            data.write(&message.data)?;
            user_data.map_or(Ok(()), |place| place.write(&message.user_area(user_size)?))
        };
        let delivered = deliver();
        if delivered.is_err() {
            QUEUES.restore(id, message);
        }
        delivered
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn acltdtCreateQueueRoute(source: u32, target: u32) -> *mut c_void {
    value(rows::acltdtCreateQueueRoute, ptr::null_mut(), |call| {
        call.require_supported()?;
        object::create(RouteObject(Route { source, target }))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn acltdtCreateQueueRouteList() -> *mut c_void {
    value(rows::acltdtCreateQueueRouteList, ptr::null_mut(), |call| {
        call.require_supported()?;
        object::create(RouteList::default())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn acltdtCreateQueueRouteQueryInfo() -> *mut c_void {
    value(rows::acltdtCreateQueueRouteQueryInfo, ptr::null_mut(), |call| {
        call.require_supported()?;
        object::create(RouteQuery)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn acltdtGetQueueRouteNum(list: *const c_void) -> usize {
    value(rows::acltdtGetQueueRouteNum, 0, |_| object::with(list, |list: &mut RouteList| list.0.len()))
}

export! {
    fn acltdtDestroyQueueRoute(route: *const c_void) |call| {
        call.require_supported()?;
        object::destroy::<RouteObject>(route).map(drop)
    }

    fn acltdtDestroyQueueRouteList(list: *const c_void) |call| {
        call.require_supported()?;
        object::destroy::<RouteList>(list).map(drop)
    }

    fn acltdtDestroyQueueRouteQueryInfo(query: *const c_void) |call| {
        call.require_supported()?;
        object::destroy::<RouteQuery>(query).map(drop)
    }

    fn acltdtAddQueueRoute(list: *mut c_void, route: *const c_void) |call| {
        call.require_supported()?;
        let route = object::with(route, |route: &mut RouteObject| route.0)?;
        object::with(list, |list: &mut RouteList| list.0.push(route))
    }

    fn acltdtGetQueueRoute(list: *const c_void, index: usize, route: *mut c_void) |call| {
        call.require_supported()?;
        let routes = routes_of(list)?;
        let Some(found) = routes.get(index) else {
            return fail(Error::Argument(format!("index {index} is not below the {} routes", routes.len())));
        };
        object::with(route, |route: &mut RouteObject| route.0 = *found)
    }

    fn acltdtBindQueueRoutes(list: NonNullArg) |call| {
        call.require_supported()?;
        QUEUES.bind(&routes_of(list.address() as *const c_void)?)
    }

    fn acltdtUnbindQueueRoutes(list: NonNullArg) |call| {
        call.require_supported()?;
        QUEUES.unbind(&routes_of(list.address() as *const c_void)?)
    }

    /// Replaces the contents of the list.
    fn acltdtQueryQueueRoutes(query: *const c_void, list: *mut c_void) |call| {
        call.require_supported()?;
        object::with(query, |_: &mut RouteQuery| ())?;
        object::with(list, |list: &mut RouteList| list.0 = QUEUES.routes())
    }
}

fn routes_of(list: *const c_void) -> Result<Vec<Route>> {
    object::with(list, |list: &mut RouteList| list.0.clone())
}
