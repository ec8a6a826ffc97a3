//! Measurements of calls about memory, and of copies that are not between pinned memory and a device.

use super::bench::{Bench, CALLS, COPIES, LARGE};
use crate::bench::c_api::{copy_on_device, download, upload};
use anyhow::Result;
use ascendcl::raw;
use ascendcl::sys::ACL_MEM_MALLOC_HUGE_FIRST;
use softacl_profiles::FigureName;
use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr;

/// Bytes of an allocation.
const BLOCK: usize = 4096;
/// Bytes of a registration: a multiple of the pages of all hosts. The larger one has `REGISTRATIONS` times as many.
const PART: usize = 64 << 10;
const REGISTRATIONS: usize = 17;
/// Pages in a part, as the figures count them.
const PAGES: usize = PART / 4096;

/// Measures one figure. `None` if it cannot be measured here.
type Measurement = fn(&Bench) -> Result<Option<f64>>;

pub const MEASUREMENTS: &[(FigureName, Measurement)] = &[
    (FigureName::Malloc, |bench| allocations(bench, MALLOC).map(|[malloc, _]| Some(malloc))),
    (FigureName::Free, |bench| allocations(bench, MALLOC).map(|[_, free]| Some(free))),
    (FigureName::MallocHost, |bench| allocations(bench, MALLOC_HOST).map(|[malloc, _]| Some(malloc))),
    (FigureName::FreeHost, |bench| allocations(bench, MALLOC_HOST).map(|[_, free]| Some(free))),
    (FigureName::RegisterCall, |bench| {
        let [one, many] = registrations(bench)?;
        Ok(Some(one - page(one, many) * (PAGES - 1) as f64))
    }),
    (FigureName::RegisterPage, |bench| registrations(bench).map(|[one, many]| Some(page(one, many)))),
    (FigureName::PageableToDevice, |bench| {
        let memory = vec![1_u8; LARGE];
        let source = memory.as_ptr() as usize;
        pageable(bench, &|bench, bytes| upload(bench.device, source, bytes, &bench.stream))
    }),
    (FigureName::DeviceToPageable, |bench| {
        let mut memory = vec![1_u8; LARGE];
        let target = memory.as_mut_ptr() as usize;
        pageable(bench, &|bench, bytes| download(target, bench.device, bytes, &bench.stream))
    }),
    (FigureName::InsideDevice, |bench| on_devices(bench, bench.device + LARGE)),
    (FigureName::Peer, |bench| match &bench.neighbor {
        Some(neighbor) => on_devices(bench, neighbor.memory.as_raw() as usize),
        None => Ok(None),
    }),
];

/// Allocates, and frees.
type Allocator = (fn() -> Result<*mut c_void>, fn(*mut c_void) -> Result<()>);

const MALLOC: Allocator = (malloc, free);
const MALLOC_HOST: Allocator = (malloc_host, free_host);

fn malloc() -> Result<*mut c_void> {
    // SAFETY: the call has no preconditions.
    Ok(unsafe { raw::aclrtMalloc(BLOCK, ACL_MEM_MALLOC_HUGE_FIRST) }?)
}

fn free(block: *mut c_void) -> Result<()> {
    // SAFETY: `allocations` frees every block once.
    Ok(unsafe { raw::aclrtFree(block) }?)
}

fn malloc_host() -> Result<*mut c_void> {
    // SAFETY: the call has no preconditions.
    Ok(unsafe { raw::aclrtMallocHost(BLOCK) }?)
}

fn free_host(block: *mut c_void) -> Result<()> {
    // SAFETY: as for `free`.
    Ok(unsafe { raw::aclrtFreeHost(block) }?)
}

/// Microseconds of an allocation, and of freeing it.
fn allocations(bench: &Bench, (allocate, free): Allocator) -> Result<[f64; 2]> {
    let times = |count: usize| {
        let blocks = RefCell::new(Vec::with_capacity(count));
        let allocated = bench.time(count, |_| {
            blocks.borrow_mut().push(allocate()?);
            Ok(())
        })?;
        let freed = bench.time(count, |_| blocks.borrow_mut().pop().map_or(Ok(()), free))?;
        Ok::<_, anyhow::Error>([allocated, freed])
    };
    let [short, long] = [times(CALLS)?, times(2 * CALLS)?];
    Ok([0, 1].map(|index| (long[index] - short[index]) / CALLS as f64))
}

/// Microseconds of registering and unregistering one part, and many.
fn registrations(bench: &Bench) -> Result<[f64; 2]> {
    let memory = vec![1_u8; (REGISTRATIONS + 1) * PART];
    let start = (memory.as_ptr() as usize).next_multiple_of(PART) as *mut c_void;
    let register = |bytes: usize| {
        bench.slope(CALLS, |_| {
            let mut mapped = ptr::null_mut();
            // SAFETY: the range is inside `memory`, which nothing else uses, and is unregistered right away.
            unsafe {
                raw::aclrtHostRegister(start, bytes as u64, 0, &mut mapped)?;
                raw::aclrtHostUnregister(start)?;
            }
            Ok(())
        })
    };
    Ok([register(PART)?, register(REGISTRATIONS * PART)?])
}

/// Microseconds of a further page.
fn page(one: f64, many: f64) -> f64 {
    (many - one) / ((REGISTRATIONS - 1) * PAGES) as f64
}

/// GB/s of copies with pageable memory: what more bytes take, because every copy has a fixed part.
fn pageable(bench: &Bench, copy: &dyn Fn(&Bench, usize) -> Result<()>) -> Result<Option<f64>> {
    let of = |bytes: usize| bench.slope(COPIES, |bench| copy(bench, bytes));
    let more = of(LARGE)? - of(LARGE / 2)?;
    Ok((more > 0.0).then(|| (LARGE / 2) as f64 / 1e3 / more))
}

/// GB/s of large copies from the memory of the device. `None` if their submits take most of the time.
fn on_devices(bench: &Bench, target: usize) -> Result<Option<f64>> {
    let one = bench.slope(COPIES, |bench| copy_on_device(target, bench.device, LARGE, &bench.stream))?;
    Ok((one > 2.0 * bench.submit_device()?).then(|| LARGE as f64 / 1e3 / one))
}
