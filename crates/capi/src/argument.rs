//! Typed arguments: what an exported function receives in place of the raw values that C passes.
//!
//! Constructing one from a raw pointer is the unsafe step, and only `export!` does it. From then on the type carries
//! what the API permits the library to do there: read, write, or only compare. Accesses go through the engine's
//! guarded routines, so that a wild pointer is an error and not a crash. Handles and addresses are not validated here
//! beyond NULL; the engine does that.

use softacl_engine::{Error, Result, fail};
use softacl_faults::system::try_vec_with_capacity;
use softacl_memory::segv::{self, FaultGuard};
use std::ffi::{c_char, c_void};
use std::marker::PhantomData;

/// Maximum length of a text that C passes.
const MAX_TEXT: usize = 64 << 10;

/// A value as C passes it.
pub trait Raw: Copy {
    /// The value as a machine word, for fault-rule filters. 0 for values that no filter can match.
    fn word(self) -> u64;
}

/// A parameter type of an exported function.
pub trait Argument: Sized {
    /// The C type of the parameter.
    type Raw: Raw;

    /// Converts the raw argument, and fails if it is NULL and must not be. `name` is the C name of the parameter.
    ///
    /// # Safety
    /// `raw` is the argument that the program passed for this parameter in the running call. While the call runs, the
    /// program permits the accesses that the type stands for, wherever memory is accessible at the address: reads for
    /// [`InPtr`] and [`TextPtr`], writes for [`OutPtr`], both for [`InOutPtr`] and [`UntypedPtr`].
    unsafe fn from_program(raw: Self::Raw, name: &'static str) -> Result<Self>;
}

/// Implements both traits for types that are passed through.
macro_rules! impl_plain {
    ($($(@$generic:ident)? $kind:ty: $value:ident => $word:expr;)*) => {$(
        impl$(<$generic>)? Raw for $kind {
            fn word(self) -> u64 {
                let $value = self;
                $word
            }
        }

        impl$(<$generic>)? Argument for $kind {
            type Raw = $kind;

            #[inline]
            unsafe fn from_program(raw: $kind, _: &'static str) -> Result<$kind> {
                Ok(raw)
            }
        }
    )*};
}

impl_plain! {
    i32: value => value as u64;
    i64: value => value as u64;
    u8: value => value.into();
    u32: value => value.into();
    u64: value => value;
    usize: value => value as u64;
    f32: _value => 0;
    @T *mut T: value => value as u64;
    @T *const T: value => value as u64;
    Option<unsafe extern "C" fn(*mut c_void)>: _value => 0;
    ascendcl_sys::aclrtStreamStateCallback: _value => 0;
    ascendcl_sys::aclrtDeviceStateCallback: _value => 0;
    ascendcl_sys::aclrtDeviceTaskAbortCallback: _value => 0;
    ascendcl_sys::aclInitCallbackFunc: _value => 0;
    ascendcl_sys::aclFinalizeCallbackFunc: _value => 0;
    ascendcl_sys::aclrtSnapShotCallBack: _value => 0;
    ascendcl_sys::aclrtAllocatorAllocFunc: _value => 0;
    ascendcl_sys::aclrtAllocatorFreeFunc: _value => 0;
    ascendcl_sys::aclrtAllocatorAllocAdviseFunc: _value => 0;
    ascendcl_sys::aclrtAllocatorGetAddrFromBlockFunc: _value => 0;
    ascendcl_sys::aclrtMemManagedLocation: _value => 0;
    ascendcl_sys::aclrtIpcEventHandle: _value => 0;
    ascendcl_sys::aclmdlRICondTaskParams: _value => 0;
}

/// A handle or an address that must not be NULL.
#[derive(Debug, Clone, Copy)]
pub struct NonNullArg<P = *mut c_void> {
    address: usize,
    kind: PhantomData<P>,
}

impl<P> NonNullArg<P> {
    #[inline]
    pub(crate) fn address(&self) -> usize {
        self.address
    }
}

macro_rules! impl_non_null {
    ($($pointer:ty),*) => {$(
        impl Argument for NonNullArg<$pointer> {
            type Raw = $pointer;

            #[inline]
            unsafe fn from_program(raw: $pointer, name: &'static str) -> Result<Self> {
                Ok(NonNullArg { address: require_non_null(raw, name)?, kind: PhantomData })
            }
        }
    )*};
}
impl_non_null!(*mut c_void, *const c_void);

/// The address behind a pointer that must not be NULL.
#[inline]
fn require_non_null<T>(pointer: *const T, name: &'static str) -> Result<usize> {
    if pointer.is_null() { null(name) } else { Ok(pointer as usize) }
}

#[cold]
fn null(name: &'static str) -> Result<usize> {
    fail(Error::Null(name))
}

/// A place for a result. `Option<OutPtr<T>>` admits NULL.
#[derive(Debug, Clone, Copy)]
pub struct OutPtr<T> {
    address: usize,
    name: &'static str,
    kind: PhantomData<*mut T>,
}

impl<T: Copy> Argument for OutPtr<T> {
    type Raw = *mut T;

    #[inline]
    unsafe fn from_program(raw: *mut T, name: &'static str) -> Result<Self> {
        Ok(OutPtr { address: require_non_null(raw, name)?, name, kind: PhantomData })
    }
}

impl<T: Copy> Argument for Option<OutPtr<T>> {
    type Raw = *mut T;

    #[inline]
    unsafe fn from_program(raw: *mut T, name: &'static str) -> Result<Self> {
        if raw.is_null() {
            return Ok(None);
        }
        // SAFETY: forwarded from the caller.
        unsafe { OutPtr::from_program(raw, name) }.map(Some)
    }
}

impl<T: Copy> OutPtr<T> {
    #[inline]
    pub(crate) fn address(&self) -> usize {
        self.address
    }

    /// Writes the result.
    pub(crate) fn set(self, value: T) -> Result<()> {
        // SAFETY: any initialized plain value may be read as bytes; the C structs written here have no padding that
        // matters.
        let bytes = unsafe { std::slice::from_raw_parts((&raw const value).cast::<u8>(), size_of::<T>()) };
        self.write(bytes)
    }

    /// Writes a result that the program must receive to be able to release it. Calls `undo` if the write fails.
    pub(crate) fn set_or(self, value: T, undo: impl FnOnce()) -> Result<()> {
        self.set(value).inspect_err(|_| undo())
    }

    /// Writes element `index` of an array. Elements of `T` before it must have been in the array as well.
    pub(crate) fn set_at(self, index: usize, value: T) -> Result<()> {
        OutPtr { address: self.address.wrapping_add(index.wrapping_mul(size_of::<T>())), ..self }.set(value)
    }

    /// Refuses an array of `count` elements that is not entirely in memory.
    pub(crate) fn check_array(&self, count: usize) -> Result<()> {
        let guard = segv::enter();
        let pointer = self.address as *const T;
        InPtr::<T> { pointer, name: self.name, kind: PhantomData }.array(count, &guard).map(|_| ())
    }

    /// Writes bytes from the start of the place on, which the API must size accordingly.
    pub(crate) fn write(self, bytes: &[u8]) -> Result<()> {
        // SAFETY: the value was made by `from_program`, whose contract is this one.
        if unsafe { segv::try_write(self.address(), bytes) } {
            return Ok(());
        }
        fail(Error::Argument(format!("{} points to {:#x}, which cannot be written", self.name, self.address)))
    }

    /// Views the place as one for another type, where the value of another argument decides about the type.
    pub(crate) fn cast<U: Copy>(self) -> OutPtr<U> {
        OutPtr { address: self.address, name: self.name, kind: PhantomData }
    }
}

/// One or more values that the program passes by address. `Option<InPtr<T>>` admits NULL.
#[derive(Debug, Clone, Copy)]
pub struct InPtr<T, P = *const T> {
    pointer: *const T,
    name: &'static str,
    kind: PhantomData<P>,
}

macro_rules! impl_in_ptr {
    ($($pointer:ty),*) => {$(
        impl<T: Copy> Argument for InPtr<T, $pointer> {
            type Raw = $pointer;

            #[inline]
            unsafe fn from_program(raw: $pointer, name: &'static str) -> Result<Self> {
                require_non_null(raw, name)?;
                Ok(InPtr { pointer: raw, name, kind: PhantomData })
            }
        }

        impl<T: Copy> Argument for Option<InPtr<T, $pointer>> {
            type Raw = $pointer;

            #[inline]
            unsafe fn from_program(raw: $pointer, name: &'static str) -> Result<Self> {
                Ok((!raw.is_null()).then_some(InPtr { pointer: raw, name, kind: PhantomData }))
            }
        }
    )*};
}
impl_in_ptr!(*const T, *mut T);

/// [`InPtr`] for parameters that the headers declare without `const`.
pub type InMutPtr<T> = InPtr<T, *mut T>;

impl<T: Copy, P> InPtr<T, P> {
    /// Reads one value.
    pub(crate) fn read(self) -> Result<T> {
        Ok(self.array(1, &segv::enter())?[0])
    }

    /// Views `count` values in place, for as long as the guard lives. Creating a guard takes system calls, so callers
    /// with several arrays create one guard for all.
    pub(crate) fn array(self, count: usize, _guard: &FaultGuard) -> Result<&[T]> {
        let InPtr { pointer, name, .. } = self;
        let whole = count.checked_mul(size_of::<T>()).filter(|bytes| *bytes <= MAX_ARRAY);
        // SAFETY: the value was made by `from_program`, whose contract is this one.
        let can_read = |bytes| bytes == 0 || unsafe { segv::is_readable(pointer as usize, bytes) };
        let is_readable = pointer.is_aligned() && whole.is_some_and(can_read);
        if !is_readable {
            return fail(unreadable_array(name, count, pointer, whole));
        }
        // SAFETY: not NULL, aligned and readable, as just checked. The program promised in `from_program` not
        // to change what it passes while the call runs, and the guard does not outlive the call.
        Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
    }

    /// Views the memory as values of another type, where the value of another argument decides about the type.
    pub(crate) fn cast<U: Copy>(self) -> InPtr<U> {
        InPtr { pointer: self.pointer.cast(), name: self.name, kind: PhantomData }
    }
}

/// Maximum size of an array, in bytes. A count that needs more is a mistake, which is found without reading the array.
const MAX_ARRAY: usize = 1 << 30;

#[cold]
fn unreadable_array<T>(name: &'static str, count: usize, pointer: *const T, whole: Option<usize>) -> Error {
    let why = match whole {
        None => format!("the limit is {}", MAX_ARRAY / size_of::<T>()),
        Some(_) if !pointer.is_aligned() => format!("the address is not aligned to {} bytes", align_of::<T>()),
        Some(_) => "they are not all in memory that exists, or exceed its allocation".to_owned(),
    };
    let unit = if size_of::<T>() == 1 { "bytes" } else { "elements" };
    Error::Argument(format!("{name}: {count} {unit} at {pointer:?} cannot be read: {why}"))
}

impl<P> InPtr<u8, P> {
    /// Copies `count` bytes. `what` names the copy if there is no memory for it.
    pub(crate) fn copy(self, count: usize, what: &'static str) -> Result<Vec<u8>> {
        let guard = segv::enter();
        let bytes = self.array(count, &guard)?;
        let mut copy = try_vec_with_capacity(count, what)?;
        copy.extend_from_slice(bytes);
        Ok(copy)
    }
}

/// A place that the program passes for a value that the call reads and replaces.
#[derive(Debug, Clone, Copy)]
pub struct InOutPtr<T> {
    pub(crate) input: InMutPtr<T>,
    pub(crate) output: OutPtr<T>,
}

impl<T: Copy> Argument for InOutPtr<T> {
    type Raw = *mut T;

    unsafe fn from_program(raw: *mut T, name: &'static str) -> Result<Self> {
        // SAFETY: forwarded from the caller.
        let (input, output) = unsafe { (InPtr::from_program(raw, name)?, OutPtr::from_program(raw, name)?) };
        Ok(InOutPtr { input, output })
    }
}

/// A `void*` to a value whose type and direction another argument selects. `Option<UntypedPtr>` admits NULL.
#[derive(Debug, Clone, Copy)]
pub struct UntypedPtr {
    address: usize,
    name: &'static str,
}

impl Argument for UntypedPtr {
    type Raw = *mut c_void;

    unsafe fn from_program(raw: *mut c_void, name: &'static str) -> Result<Self> {
        Ok(UntypedPtr { address: require_non_null(raw, name)?, name })
    }
}

impl Argument for Option<UntypedPtr> {
    type Raw = *mut c_void;

    unsafe fn from_program(raw: *mut c_void, name: &'static str) -> Result<Self> {
        Ok((!raw.is_null()).then_some(UntypedPtr { address: raw as usize, name }))
    }
}

impl UntypedPtr {
    pub(crate) fn input<T: Copy>(self) -> InPtr<T> {
        InPtr { pointer: self.address as *const T, name: self.name, kind: PhantomData }
    }

    pub(crate) fn output<T: Copy>(self) -> OutPtr<T> {
        OutPtr { address: self.address, name: self.name, kind: PhantomData }
    }
}

/// A text that the program passes. `Option<TextPtr>` admits NULL.
#[derive(Debug, Clone, Copy)]
pub struct TextPtr<P = *const c_char> {
    address: usize,
    name: &'static str,
    kind: PhantomData<P>,
}

macro_rules! impl_text_ptr {
    ($($pointer:ty),*) => {$(
        impl Argument for TextPtr<$pointer> {
            type Raw = $pointer;

            #[inline]
            unsafe fn from_program(raw: $pointer, name: &'static str) -> Result<Self> {
                Ok(TextPtr { address: require_non_null(raw, name)?, name, kind: PhantomData })
            }
        }

        impl Argument for Option<TextPtr<$pointer>> {
            type Raw = $pointer;

            #[inline]
            unsafe fn from_program(raw: $pointer, name: &'static str) -> Result<Self> {
                Ok((!raw.is_null()).then_some(TextPtr { address: raw as usize, name, kind: PhantomData }))
            }
        }
    )*};
}
impl_text_ptr!(*const c_char, *mut c_char);

impl<P> TextPtr<P> {
    /// Compares the text with a known one. False if it cannot be read.
    pub(crate) fn equals(&self, known: &str, _guard: &FaultGuard) -> bool {
        const MAX_COMPARED: usize = 128;
        let mut bytes = [0; MAX_COMPARED];
        let len = known.len() + 1;
        // SAFETY: the value was made by `from_program`, whose contract is this one.
        len <= MAX_COMPARED
            && unsafe { segv::try_read(self.address, &mut bytes[..len]) }
            && bytes[..known.len()] == *known.as_bytes()
            && bytes[known.len()] == 0
    }

    /// Reads the text.
    pub(crate) fn read(self) -> Result<String> {
        let _guard = segv::enter();
        let TextPtr { address, name, .. } = self;
        // SAFETY: the value was made by `from_program`, whose contract is this one.
        match unsafe { segv::try_read_c_str(address, MAX_TEXT) }.map(String::from_utf8) {
            Some(Ok(text)) => Ok(text),
            _ => fail(Error::Argument(format!(
                "{name} at {address:#x} is not a readable text of at most {MAX_TEXT} bytes"
            ))),
        }
    }
}
