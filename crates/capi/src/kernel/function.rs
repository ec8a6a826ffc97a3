//! Kernel binaries, and the functions in them.
//!
//! A binary is machine code of the chip and is not read beyond its existence. Its functions are looked up by name in the
//! kernel libraries of the user.

use crate::argument::{InMutPtr, InPtr, NonNullArg, OutPtr, TextPtr};
use crate::entry::{Call, export};
use crate::kernel::library::{self, CpuKernel};
use crate::kernel::list::ArgumentList;
use crate::object::{self, Object};
use ascendcl_sys::*;
use softacl_engine::{Error, Result, fail};
use softacl_memory::segv;
use std::ffi::{CStr, c_char, c_void};
use std::fs::File;

/// Maximum number of load options.
const MAX_OPTIONS: usize = 16;

/// A loaded binary.
#[derive(Debug)]
pub(crate) struct Binary {
    /// The device that it is loaded on.
    device: u32,
    /// Handles of the functions that the program has looked up.
    functions: Vec<usize>,
}

impl Object for Binary {
    const NAME: &'static str = "kernel binary";
}

/// Data of a binary that is not loaded yet (`aclrtCreateBinary`).
#[derive(Debug)]
struct BinaryData;

impl Object for BinaryData {
    const NAME: &'static str = "data of a kernel binary";
}

/// A function of a binary.
#[derive(Debug)]
pub(crate) struct KernelFunction {
    pub(crate) kernel: &'static CpuKernel,
    /// The device that its binary is loaded on.
    pub(crate) device: u32,
    binary: usize,
    /// Handles of its argument lists.
    pub(crate) lists: Vec<usize>,
}

impl Object for KernelFunction {
    const NAME: &'static str = "kernel function";
}

/// Fails unless the handle is that of a live function.
pub(crate) fn require(function: aclrtFuncHandle) -> Result<()> {
    object::with::<KernelFunction, _>(function, |_| ())
}

fn load(call: Call<'_>, handle: OutPtr<aclrtBinHandle>) -> Result<()> {
    let device = call.device()?;
    let binary = object::create(Binary { device, functions: Vec::new() })?;
    handle.set_or(binary, || drop(object::destroy::<Binary>(binary)))
}

/// Checks the options of a load. None of them matters here.
fn check_options(options: Option<aclrtBinaryLoadOptions>) -> Result<()> {
    match options {
        Some(options) if options.numOpt > MAX_OPTIONS => {
            fail(Error::Argument(format!("{} load options are too many: at most {MAX_OPTIONS}", options.numOpt)))
        }
        Some(options) if options.numOpt > 0 && options.options.is_null() => fail(Error::Null("options")),
        _ => Ok(()),
    }
}

/// Creates the handle of a function, or says how to provide it.
fn look_up(
    binary: aclrtBinHandle,
    kernel: std::result::Result<&'static CpuKernel, String>,
    handle: OutPtr<aclrtFuncHandle>,
) -> Result<()> {
    let device = object::with::<Binary, _>(binary, |binary| binary.device)?;
    let kernel = kernel.map_err(Error::Feature)?;
    let function = object::create(KernelFunction { kernel, device, binary: binary as usize, lists: Vec::new() })?;
    object::with::<Binary, _>(binary, |binary| binary.functions.push(function as usize))?;
    handle.set(function)
}

/// The name of an exported symbol of the program, such as the stub of a kernel.
fn symbol_name(symbol: usize) -> Option<String> {
    // SAFETY: all zeroes is a valid value of the struct.
    let mut info = unsafe { std::mem::zeroed::<libc::Dl_info>() };
    // SAFETY: dladdr accepts any address and writes only the struct.
    let is_found = unsafe { libc::dladdr(symbol as *const c_void, &raw mut info) } != 0 && !info.dli_sname.is_null();
    // SAFETY: not NULL; a name in a loaded library.
    is_found.then(|| unsafe { CStr::from_ptr(info.dli_sname) }.to_string_lossy().into_owned())
}

export! {
    fn aclrtBinaryLoadFromFile(
        path: TextPtr, options: Option<InMutPtr<aclrtBinaryLoadOptions>>,
        handle: OutPtr<aclrtBinHandle>
    ) |call| {
        check_options(options.map(InPtr::read).transpose()?)?;
        let path = path.read()?;
        check_file(&path)?;
        load(call, handle)
    }

    fn aclrtBinaryLoadFromData(
        data: NonNullArg<*const c_void>, length: usize, options: Option<InPtr<aclrtBinaryLoadOptions>>,
        handle: OutPtr<aclrtBinHandle>
    ) |call| {
        check_options(options.map(InPtr::read).transpose()?)?;
        check_data(data.address(), length)?;
        load(call, handle)
    }

    fn aclrtDestroyBinary(binary: aclrtBinary) |_call| {
        object::destroy::<BinaryData>(binary).map(drop)
    }

    fn aclrtBinaryLoad(binary: aclrtBinary, handle: OutPtr<aclrtBinHandle>) |call| {
        object::with::<BinaryData, _>(binary, |_| ())?;
        load(call, handle)
    }

    fn aclrtBinaryUnLoad(binary: aclrtBinHandle) |_call| {
        for function in object::destroy::<Binary>(binary)?.functions {
            let lists = object::destroy::<KernelFunction>(function as *const c_void)?.lists;
            lists.into_iter().for_each(|list| drop(object::destroy::<ArgumentList>(list as *const c_void)));
        }
        Ok(())
    }

    fn aclrtBinaryGetFunction(binary: aclrtBinHandle, name: TextPtr, handle: OutPtr<aclrtFuncHandle>) |_call| {
        look_up(binary, library::by_name(&name.read()?), handle)
    }

    fn aclrtBinaryGetFunctionByEntry(binary: aclrtBinHandle, entry: u64, handle: OutPtr<aclrtFuncHandle>) |_call| {
        look_up(binary, library::by_entry(entry), handle)
    }

    fn aclrtRegisterCpuFunc(
        binary: aclrtBinHandle, _function: TextPtr, name: TextPtr, handle: OutPtr<aclrtFuncHandle>
    ) |_call| {
        look_up(binary, library::by_name(&name.read()?), handle)
    }

    fn aclrtGetFuncBySymbol(symbol: NonNullArg<*const c_void>, handle: OutPtr<aclrtFuncHandle>) |call| {
        call.require_supported()?;
        let name = symbol_name(symbol.address()).ok_or_else(|| {
            Error::Argument(format!("{:#x} is not the address of an exported function or variable", symbol.address()))
        })?;
        let kernel = library::by_name(&name).map_err(Error::Feature)?;
        let function = KernelFunction { kernel, device: call.device()?, binary: 0, lists: Vec::new() };
        handle.set(object::create(function)?)
    }

    fn aclrtFunctionGetBinary(function: aclrtFuncHandle, binary: OutPtr<aclrtBinHandle>) |_call| {
        binary.set(object::with::<KernelFunction, _>(function, |function| function.binary)? as aclrtBinHandle)
    }

    fn aclrtGetFunctionName(function: aclrtFuncHandle, room: u32, name: OutPtr<c_char>) |_call| {
        let kernel = object::with::<KernelFunction, _>(function, |function| function.kernel)?;
        let mut text = kernel.name.clone().into_bytes();
        text.push(0);
        if text.len() > room as usize {
            return fail(Error::Argument(format!("the name {} needs {} bytes, not {room}", kernel.name, text.len())));
        }
        name.write(&text)
    }

    fn aclrtFunctionGetParamCount(function: *const c_void, count: OutPtr<usize>) |_call| {
        count.set(parameters_of(function)?.len())
    }

    fn aclrtFunctionGetParamInfo(
        function: *const c_void, index: usize, offset: OutPtr<usize>, size: OutPtr<usize>
    ) |_call| {
        let all = parameters_of(function)?;
        let Some((at, len)) = all.get(index).copied() else {
            return fail(Error::Argument(format!("the kernel has {} parameters, so none with index {index}", all.len())));
        };
        offset.set(at)?;
        size.set(len)
    }
}

/// Offsets and sizes of the parameters of a function.
pub(crate) fn parameters_of(function: *const c_void) -> Result<Vec<(usize, usize)>> {
    let kernel = object::with::<KernelFunction, _>(function, |function| function.kernel)?;
    if kernel.parameter_sizes.is_empty() {
        return fail(Error::Feature(format!(
            "the CPU version of kernel {} does not declare its parameters (parameterSizes in softacl/kernel.h)",
            kernel.name
        )));
    }
    let mut end = 0_usize;
    let place = |size: &u32| {
        let size = *size as usize;
        let at = end.next_multiple_of(size.next_power_of_two().clamp(1, 8));
        end = at + size;
        (at, size)
    };
    Ok(kernel.parameter_sizes.iter().map(place).collect())
}

/// Refuses a file that cannot be read. A device or a pipe could block, so only a regular file is opened.
fn check_file(path: &str) -> Result<()> {
    match std::fs::metadata(path) {
        Ok(file) if !file.is_file() => fail(Error::Argument(format!("{path} is not a regular file"))),
        found => match found.and_then(|_| File::open(path)) {
            Ok(_) => Ok(()),
            Err(error) => fail(Error::Argument(format!("{path} cannot be read: {error}"))),
        },
    }
}

/// Refuses data that is empty or not all in memory.
fn check_data(data: usize, length: usize) -> Result<()> {
    let _guard = segv::enter();
    // SAFETY: the program passed the address to the call in progress.
    if length > 0 && unsafe { segv::is_readable(data, length) } {
        return Ok(());
    }
    fail(Error::Argument(format!("{length} bytes at {data:#x} are not a readable kernel binary")))
}

/// Returns NULL if there is no data. As documented, the data is not copied, and nothing reads it before the load.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtCreateBinary(data: *const c_void, length: usize) -> aclrtBinary {
    crate::entry::value(rows::aclrtCreateBinary, std::ptr::null_mut(), |_| {
        check_data(data as usize, length)?;
        object::create(BinaryData)
    })
}
