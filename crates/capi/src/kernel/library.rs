//! Kernel libraries: CPU versions of kernels by name, from the libraries in `SOFTACL_KERNELS` (`softacl/kernel.h`).

use crate::argument::InPtr;
use crate::config;
use crate::entry::export;
use crate::kernel::KernelRange;
use softacl_engine::{Error, fail, segv};
use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// The version of the structs in `softacl/kernel.h`.
const VERSION: u32 = 1;

/// One launch, as the code of a kernel receives it: `softaclLaunch` in the header.
#[repr(C)]
pub struct CLaunch {
    pub(crate) block_count: u32,
    pub(crate) arguments: *const c_void,
    pub(crate) arguments_size: usize,
    pub(crate) view: unsafe extern "C" fn(*const CLaunch, *const c_void, usize) -> *mut c_void,
}

pub type RunFunction = unsafe extern "C" fn(*const CLaunch, u32) -> i32;
pub type RangesFunction = unsafe extern "C" fn(*const CLaunch, *mut KernelRange, usize) -> usize;

/// `softaclKernel` in the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CKernel {
    name: *const c_char,
    entry: u64,
    run: Option<RunFunction>,
    ranges: Option<RangesFunction>,
    parameter_sizes: *const u32,
    parameter_count: usize,
}

/// `softaclKernelLibrary` in the header.
#[repr(C)]
struct CLibrary {
    version: u32,
    kernels: *const CKernel,
    kernel_count: usize,
}

/// The CPU version of a kernel. Libraries are never unloaded.
#[derive(Debug)]
pub(crate) struct CpuKernel {
    pub(crate) name: String,
    pub(crate) entry: u64,
    pub(crate) run: RunFunction,
    pub(crate) ranges: Option<RangesFunction>,
    /// Sizes of the parameters in bytes. Empty if the library does not say.
    pub(crate) parameter_sizes: Vec<u32>,
}

/// All known kernels, and why some libraries could not be loaded. Kernels are never removed, so that a handle of a
/// function can refer to one.
#[derive(Debug, Default)]
struct Kernels {
    all: Vec<&'static CpuKernel>,
    problems: Vec<String>,
}

static KERNELS: LazyLock<Mutex<Kernels>> = LazyLock::new(|| {
    let mut kernels = Kernels::default();
    for path in config::kernel_libraries() {
        match load(&path) {
            Ok(more) => kernels.add(more),
            Err(why) => kernels.problems.push(format!("the kernel library {path} cannot be used: {why}")),
        }
    }
    Mutex::new(kernels)
});

impl Kernels {
    fn add(&mut self, more: Vec<CpuKernel>) {
        self.all.extend(more.into_iter().map(|kernel| &*Box::leak(Box::new(kernel))));
    }

    /// The newest kernel that matches. The error says how to provide one.
    fn find(&self, what: &str, matches: impl Fn(&CpuKernel) -> bool) -> Result<&'static CpuKernel, String> {
        if let Some(kernel) = self.all.iter().rfind(|kernel| matches(kernel)) {
            return Ok(kernel);
        }
        let remedy = match (self.problems.first(), self.all.len()) {
            (Some(problem), _) => problem.clone(),
            (None, 0) => {
                "write one (softacl/kernel.h) and name its library in SOFTACL_KERNELS or with --kernels".to_owned()
            }
            (None, count) => format!("the libraries in SOFTACL_KERNELS have {count} other kernels"),
        };
        Err(format!("{what} has no CPU version, and its machine code cannot run here: {remedy}"))
    }
}

fn kernels() -> MutexGuard<'static, Kernels> {
    KERNELS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The kernel with this name.
pub(crate) fn by_name(name: &str) -> Result<&'static CpuKernel, String> {
    kernels().find(&format!("kernel {name}"), |kernel| kernel.name == name)
}

/// The kernel with this entry number.
pub(crate) fn by_entry(entry: u64) -> Result<&'static CpuKernel, String> {
    kernels().find(&format!("the kernel with entry {entry}"), |kernel| kernel.entry == entry && entry != 0)
}

export! {
    fn softaclRegisterKernels(list: InPtr<CKernel>, count: usize) {
        let guard = segv::enter();
        let list = list.array(count, &guard)?;
        match read_all(list) {
            Ok(more) => {
                kernels().add(more);
                Ok(())
            }
            Err(why) => fail(Error::Argument(why)),
        }
    }
}

fn load(path: &str) -> Result<Vec<CpuKernel>, String> {
    let text = CString::new(path).map_err(|_| "its name contains a NUL".to_owned())?;
    // SAFETY: loads a library that the user named, which runs its initializers.
    let handle = unsafe { libc::dlopen(text.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        // SAFETY: dlerror returns a string, or NULL, that is valid until the next call on this thread.
        let why = unsafe { libc::dlerror() };
        let why = (!why.is_null()).then(|| {
            // SAFETY: as above.
            unsafe { CStr::from_ptr(why) }.to_string_lossy().into_owned()
        });
        return Err(why.unwrap_or_else(|| "dlopen failed".to_owned()));
    }
    // SAFETY: looks up a name in the loaded library.
    let symbol = unsafe { libc::dlsym(handle, c"softaclGetKernelLibrary".as_ptr()) };
    if symbol.is_null() {
        return Err("it does not use SOFTACL_KERNEL_LIBRARY (softacl/kernel.h)".to_owned());
    }
    // SAFETY: the function of this name has this type.
    let get = unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> *const CLibrary>(symbol) };
    // SAFETY: the header promises a pointer to a static struct; the libraries of users are trusted like their programs.
    let library = unsafe { get().as_ref() }.ok_or("it has no kernels")?;
    if library.version != VERSION {
        return Err(format!("it was built for version {} of softacl/kernel.h, not {VERSION}", library.version));
    }
    // SAFETY: the header promises an array of this length.
    read_all(unsafe { std::slice::from_raw_parts(library.kernels, library.kernel_count) })
}

fn read_all(kernels: &[CKernel]) -> Result<Vec<CpuKernel>, String> {
    let read = |(index, kernel)| read(kernel).ok_or_else(|| format!("kernel {index} has no name or no function"));
    kernels.iter().enumerate().map(read).collect()
}

/// Converts a kernel. `None` if it has no name or no function.
fn read(kernel: &CKernel) -> Option<CpuKernel> {
    if kernel.name.is_null() {
        return None;
    }
    // SAFETY: not NULL; the header promises a string.
    let name = unsafe { CStr::from_ptr(kernel.name) }.to_string_lossy().into_owned();
    let parameter_sizes = match kernel.parameter_sizes.is_null() {
        true => Vec::new(),
        // SAFETY: not NULL; the header promises an array of this length.
        false => unsafe { std::slice::from_raw_parts(kernel.parameter_sizes, kernel.parameter_count) }.to_vec(),
    };
    Some(CpuKernel { name, entry: kernel.entry, run: kernel.run?, ranges: kernel.ranges, parameter_sizes })
}
