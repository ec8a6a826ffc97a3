//! Launches: a function of a kernel binary with its arguments, as a task of a stream.
//!
//! However a program passes the arguments, the kernel receives them as one block. Arguments in device memory are read
//! when the kernel runs, all others when it is launched.

use crate::argument::{InMutPtr, InPtr, NonNullArg, UntypedPtr};
use crate::entry::{Call, export};
use crate::kernel::arguments::with_list;
use crate::kernel::function::{KernelFunction, parameters_of};
use crate::kernel::library::{CLaunch, CpuKernel};
use crate::kernel::list::Block;
use crate::kernel::{KernelRange, touches_of};
use crate::object;
use ascendcl_sys::*;
use softacl_engine::observer::{Mode, Touch};
use softacl_engine::{Error, KernelCode, KernelRanges, KernelRequest, Result, fail, segv};
use std::ffi::c_void;
use std::sync::Arc;

/// Maximum number of blocks of a launch.
const MAX_BLOCKS: u32 = 1 << 16;
/// Maximum size of the arguments in bytes.
const MAX_ARGUMENTS: usize = 1 << 20;
/// Ranges of a kernel that fit without an allocation.
const FEW_RANGES: usize = 16;
/// Maximum number of ranges of a kernel.
const MAX_RANGES: usize = 1 << 16;

/// Where a launch has its arguments.
enum Arguments {
    Block(Block),
    /// Device memory: address and size.
    Device(usize, usize),
}

/// Everything that the code of a launch needs. Its first field is what C code receives, so a pointer to one is a pointer
/// to the other.
#[repr(C)]
struct Launch {
    shared: CLaunch,
    kernel: &'static CpuKernel,
    arguments: Arguments,
}

impl Launch {
    fn new(kernel: &'static CpuKernel, block_count: u32, arguments: Arguments) -> Launch {
        let (address, size) = match &arguments {
            Arguments::Block(block) => (block.address(), block.len),
            Arguments::Device(..) => (0, 0),
        };
        let shared =
            CLaunch { block_count, arguments: address as *const c_void, arguments_size: size, view: view_of_launch };
        Launch { shared, kernel, arguments }
    }

    /// The launch with its arguments in host memory. `None` if they are in device memory that is gone.
    fn with_block(&self) -> Option<Launch> {
        let block = match &self.arguments {
            // The pointers in the block point into this very block, so it is not copied.
            Arguments::Block(_) => return None,
            Arguments::Device(address, size) => Block::new(&read_device(*address, *size)?),
        };
        Some(Launch::new(self.kernel, self.shared.block_count, Arguments::Block(block)))
    }

    fn run(&self) -> i32 {
        if let Arguments::Device(..) = self.arguments {
            return self.with_block().map_or(ACL_ERROR_RT_VECTOR_CORE_EXCEPTION, |launch| launch.run());
        }
        for block in 0..self.shared.block_count {
            // SAFETY: the function of a kernel library, with a launch as its header promises.
            let code = unsafe { (self.kernel.run)(&raw const self.shared, block) };
            if code != 0 {
                return code;
            }
        }
        0
    }

    /// The ranges that the kernel declares for this launch.
    fn ranges(&self) -> Result<KernelRanges> {
        if let Arguments::Device(address, size) = self.arguments {
            let mut ranges = self.with_block().map_or_else(|| Ok(KernelRanges::new()), |launch| launch.ranges())?;
            ranges.push(Touch { address, len: size, mode: Mode::Read });
            return Ok(ranges);
        }
        let Some(declare) = self.kernel.ranges else { return Ok(KernelRanges::new()) };
        let mut ranges = vec![KernelRange::EMPTY; FEW_RANGES];
        let call = |ranges: &mut Vec<KernelRange>| {
            // SAFETY: the function of a kernel library, with a launch and an array as its header promises.
            unsafe { declare(&raw const self.shared, ranges.as_mut_ptr(), ranges.len()) }
        };
        let mut count = call(&mut ranges);
        if count > MAX_RANGES {
            let name = &self.kernel.name;
            return fail(Error::Parameter(format!("kernel {name} declares {count} ranges; the limit is {MAX_RANGES}")));
        }
        if count > FEW_RANGES {
            ranges.resize(count, KernelRange::EMPTY);
            count = call(&mut ranges).min(count);
        }
        ranges.truncate(count);
        // Data that was passed with the arguments belongs to the launch alone.
        ranges.retain(|range| !self.owns(range.address(), range.len()));
        touches_of(&ranges)
    }

    /// True if the range is inside the block of arguments.
    fn owns(&self, address: usize, size: usize) -> bool {
        let start = self.shared.arguments as usize;
        start != 0
            && address >= start
            && size <= self.shared.arguments_size
            && address - start <= self.shared.arguments_size - size
    }
}

/// `softaclView`: the host address of a range that an argument points to.
unsafe extern "C" fn view_of_launch(launch: *const CLaunch, pointer: *const c_void, size: usize) -> *mut c_void {
    // SAFETY: the code of a kernel passes the launch that it received, which is the first field of a `Launch`.
    let launch = unsafe { &*launch.cast::<Launch>() };
    let address = pointer as usize;
    let view = if launch.owns(address, size) { Some(address) } else { host_view(address, size) };
    view.map_or(std::ptr::null_mut(), |view| view as *mut c_void)
}

/// The host address of device memory or pinned host memory.
fn host_view(address: usize, size: usize) -> Option<usize> {
    crate::process::machine().ok()?.host_view(address, size).ok()
}

/// Reads device memory. `None` if it is not there.
fn read_device(address: usize, size: usize) -> Option<Vec<u8>> {
    let view = host_view(address, size)?;
    let mut bytes = vec![0; size];
    // SAFETY: the program passed the address to a launch; the view is backed by memory of the machine.
    unsafe { segv::try_read(view, &mut bytes) }.then_some(bytes)
}

unsafe extern "C" fn run_launch(launch: *mut c_void) -> i32 {
    // SAFETY: `launch` is the pointer of the box that `submit` made, which `release_launch` frees.
    unsafe { &*launch.cast::<Launch>() }.run()
}

unsafe extern "C" fn release_launch(launch: *mut c_void) {
    // SAFETY: as above; this is called once.
    drop(unsafe { Box::from_raw(launch.cast::<Launch>()) });
}

/// The kernel of a function handle, after checks of the launch.
fn kernel_of(
    function: *const c_void,
    blocks: u32,
    cfg: Option<InMutPtr<aclrtLaunchKernelCfg>>,
) -> Result<(&'static CpuKernel, u32)> {
    let found = object::with::<KernelFunction, _>(function, |function| (function.kernel, function.device))?;
    if blocks == 0 || blocks > MAX_BLOCKS {
        return fail(Error::Argument(format!("a launch has 1 to {MAX_BLOCKS} blocks, not {blocks}")));
    }
    if let Some(cfg) = cfg {
        check_config(cfg.read()?)?;
    }
    Ok(found)
}

/// Checks the attributes of a launch. They select cores, queues and time limits of the chip, which do not exist here.
fn check_config(cfg: aclrtLaunchKernelCfg) -> Result<()> {
    const MAX_ATTRIBUTES: usize = 64;
    if cfg.numAttrs > MAX_ATTRIBUTES {
        return fail(Error::Argument(format!("{} launch attributes are too many", cfg.numAttrs)));
    }
    if cfg.numAttrs > 0 && cfg.attrs.is_null() {
        return fail(Error::Null("attrs"));
    }
    Ok(())
}

/// Queues a launch.
fn submit(
    call: Call<'_>,
    (kernel, device): (&'static CpuKernel, u32),
    blocks: u32,
    arguments: Arguments,
    stream: aclrtStream,
) -> Result<()> {
    if device != call.device()? {
        return fail(Error::Parameter(format!(
            "kernel {} was loaded on device {device}, and the current device is {}",
            kernel.name,
            call.device()?
        )));
    }
    let launch = Box::new(Launch::new(kernel, blocks, arguments));
    let ranges = launch.ranges()?;
    // SAFETY: the functions above, which accept the pointer of this box on any thread.
    let code = unsafe { KernelCode::new(run_launch, Box::into_raw(launch).cast(), Some(release_launch)) };
    call.launch_kernel(KernelRequest { name: Arc::from(&*kernel.name), code, ranges }, stream as usize)
}

/// Copies a block of arguments in host memory, and lets its placeholders point to their data.
fn host_block(
    arguments: InPtr<u8>,
    size: usize,
    places: Option<InMutPtr<aclrtPlaceHolderInfo>>,
    count: usize,
) -> Result<Block> {
    let mut block = Block::new(&arguments.copy(arguments_size(size)?, "kernel arguments")?);
    if count > 0 {
        let guard = segv::enter();
        let places = places.ok_or(Error::Null("placeHolderArray"))?.array(count, &guard)?;
        for (index, place) in places.iter().enumerate() {
            if !block.point(place.addrOffset as usize, place.dataOffset as usize) {
                return fail(Error::Argument(format!(
                    "placeholder {index} (address at {}, data at {}) does not fit the {size} bytes of the arguments",
                    place.addrOffset, place.dataOffset
                )));
            }
        }
    }
    Ok(block)
}

fn arguments_size(size: usize) -> Result<usize> {
    match size {
        0..=MAX_ARGUMENTS => Ok(size),
        _ => fail(Error::Argument(format!("{size} bytes of arguments exceed the limit of {MAX_ARGUMENTS}"))),
    }
}

/// Copies the parameters that an array points to.
fn array_block(function: *const c_void, arguments: InPtr<*mut c_void, *mut *mut c_void>) -> Result<Block> {
    let parameters = parameters_of(function)?;
    let guard = segv::enter();
    let pointers = arguments.array(parameters.len(), &guard)?;
    let mut bytes = vec![0; parameters.last().map_or(0, |(at, size)| at + size)];
    for (index, ((at, size), pointer)) in parameters.iter().zip(pointers).enumerate() {
        // SAFETY: the program passed the address to the call in progress.
        if !unsafe { segv::try_read(*pointer as usize, &mut bytes[*at..at + size]) } {
            return fail(Error::Argument(format!("parameter {index}: {size} bytes at {pointer:?} cannot be read")));
        }
    }
    Ok(Block::new(&bytes))
}

export! {
    fn aclrtLaunchKernel(
        function: aclrtFuncHandle, blocks: u32, arguments: NonNullArg<*const c_void>, size: usize, stream: aclrtStream
    ) |call| {
        let kernel = kernel_of(function, blocks, None)?;
        submit(call, kernel, blocks, Arguments::Device(arguments.address(), arguments_size(size)?), stream)
    }

    fn aclrtLaunchKernelV2(
        function: aclrtFuncHandle, blocks: u32, arguments: NonNullArg<*const c_void>, size: usize,
        cfg: Option<InMutPtr<aclrtLaunchKernelCfg>>, stream: aclrtStream
    ) |call| {
        let kernel = kernel_of(function, blocks, cfg)?;
        submit(call, kernel, blocks, Arguments::Device(arguments.address(), arguments_size(size)?), stream)
    }

    fn aclrtLaunchKernelWithConfig(
        function: aclrtFuncHandle, blocks: u32, stream: aclrtStream, cfg: Option<InMutPtr<aclrtLaunchKernelCfg>>,
        list: aclrtArgsHandle, _reserve: *mut c_void
    ) |call| {
        let kernel = kernel_of(function, blocks, cfg)?;
        let block = with_list(list, |list| list.final_block())?;
        submit(call, kernel, blocks, Arguments::Block(block), stream)
    }

    fn aclrtLaunchKernelWithHostArgs(
        function: aclrtFuncHandle, blocks: u32, stream: aclrtStream, cfg: Option<InMutPtr<aclrtLaunchKernelCfg>>,
        arguments: UntypedPtr, size: usize, places: Option<InMutPtr<aclrtPlaceHolderInfo>>, count: usize
    ) |call| {
        let kernel = kernel_of(function, blocks, cfg)?;
        let block = host_block(arguments.input(), size, places, count)?;
        submit(call, kernel, blocks, Arguments::Block(block), stream)
    }

    fn aclrtLaunchKernelWithArgsArray(
        function: *mut c_void, blocks: u32, stream: aclrtStream, cfg: Option<InMutPtr<aclrtLaunchKernelCfg>>,
        arguments: InPtr<*mut c_void, *mut *mut c_void>
    ) |call| {
        let kernel = kernel_of(function, blocks, cfg)?;
        submit(call, kernel, blocks, Arguments::Block(array_block(function, arguments)?), stream)
    }
}
