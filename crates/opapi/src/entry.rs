//! Both phases of every operator: the boundary to C, the plan on its way to the runtime, and the kernel that runs it.

use crate::argument::Arguments;
use crate::core::memory::Memory;
use crate::core::plan::{Access, Plan, Planned};
use crate::runtime::{READ, Range, WRITE, runtime};
use nnopbase::executor::unknown_executor;
use nnopbase::objects::{Executor, Object};
use nnopbase::program::write;
use nnopbase::status::{Failure, Status, finish};
use nnopbase::table::table;
use std::ffi::{CString, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Rows of a strided tensor that are declared to the runtime one by one. The checker judges the first ones of a tensor
/// with more: a range with gaps would accuse programs that use the gaps.
const MAX_RUNS: usize = 256;
/// Code of a kernel that failed: ACL_ERROR_RT_AICORE_EXCEPTION.
const KERNEL_FAILED: i32 = 507_015;

/// What phase one leaves for phase two.
struct Prepared {
    operator: &'static str,
    name: CString,
    plan: Plan,
    /// Bytes that the plan may access, by slot, relative to the address of the tensor.
    extents: Vec<Option<(isize, isize)>>,
    /// Bytes that it does access.
    runs: Vec<Run>,
}

struct Run {
    slot: usize,
    start: isize,
    size: usize,
    access: u32,
}

/// Phase one: reads the arguments, plans, and returns an executor.
pub fn prepare(
    operator: &'static str,
    workspace_size: *mut u64,
    executor: *mut *mut c_void,
    plan: impl FnOnce(&mut Arguments) -> Planned,
) -> Status {
    let prepared = catch_unwind(AssertUnwindSafe(|| {
        if workspace_size.is_null() {
            return Err(Failure::Null("workspaceSize"));
        }
        if executor.is_null() {
            return Err(Failure::Null("executor"));
        }
        let mut arguments = Arguments::new();
        let plan = plan(&mut arguments)?;
        let Arguments { mut table, slots, .. } = arguments;
        let prepared = Arc::new(Prepared::new(operator, plan, slots.len())?);
        let new = Box::new(Executor { operator, slots, is_repeatable: false, prepared });
        let handle = table.insert(Object::Executor(new))?;
        drop(table);
        // All plans compute without workspace.
        write(workspace_size as usize, 0_u64, "workspaceSize")
            .and_then(|()| write(executor as usize, handle, "executor"))
            .inspect_err(|_| drop(nnopbase::table::table().remove(handle)))
    }));
    finish_phase(operator, "GetWorkspaceSize", prepared.unwrap_or_else(|_| Err(panicked("phase one"))))
}

/// Phase two: queues the plan, and frees the executor unless it is repeatable.
pub fn launch(operator: &'static str, executor: *mut c_void, stream: *mut c_void) -> Status {
    let launched = catch_unwind(AssertUnwindSafe(|| {
        let (prepared, addresses) = take(operator, executor as usize)?;
        submit(prepared, addresses, stream)
    }));
    match launched.unwrap_or_else(|_| Err(panicked("phase two"))) {
        Ok(0) => 0,
        // The runtime has stored its own message.
        Ok(_) => Failure::Runtime(String::new()).code(),
        Err(failure) => finish_phase(operator, "", Err(failure)),
    }
}

fn panicked(phase: &str) -> Failure {
    Failure::Inner(format!("{phase} met a case that softacl does not handle; this is a bug of softacl"))
}

fn finish_phase(operator: &str, suffix: &str, result: Result<(), Failure>) -> Status {
    match result {
        Ok(()) => 0,
        failed => finish(&format!("{operator}{suffix}"), failed),
    }
}

fn take(operator: &'static str, handle: usize) -> Result<(Arc<Prepared>, Vec<usize>), Failure> {
    if handle == 0 {
        return Err(Failure::Null("executor"));
    }
    let mut table = table();
    let Some(Object::Executor(executor)) = table.get(handle) else { return Err(unknown_executor(handle)) };
    if executor.operator != operator {
        return Err(Failure::Invalid(format!("the executor was prepared for {}, not {operator}", executor.operator)));
    }
    let addresses = executor.slots.iter().map(|slot| slot.address.unwrap_or(0)).collect();
    let prepared = executor.prepared.clone().downcast::<Prepared>();
    let is_repeatable = executor.is_repeatable;
    if !is_repeatable {
        table.remove(handle);
    }
    let prepared = prepared.map_err(|_| Failure::Inner("the executor belongs to another library".into()))?;
    Ok((prepared, addresses))
}

impl Prepared {
    fn new(operator: &'static str, plan: Plan, slots: usize) -> Result<Prepared, Failure> {
        let mut extents: Vec<Option<(isize, isize)>> = vec![None; slots];
        let mut runs: Vec<Run> = Vec::new();
        for (view, access) in &plan.accesses {
            let Some((low, high)) = view.byte_extent() else { continue };
            let extent = extents[view.slot].get_or_insert((low, high));
            *extent = (extent.0.min(low), extent.1.max(high));
            let access = match access {
                Access::Read => READ,
                Access::Write => WRITE,
                Access::Some => continue,
            };
            for (start, size) in view.byte_runs(MAX_RUNS) {
                match runs.iter_mut().find(|run| (run.slot, run.start, run.size) == (view.slot, start, size)) {
                    Some(run) => run.access |= access,
                    None => runs.push(Run { slot: view.slot, start, size, access }),
                }
            }
        }
        let name = CString::new(operator).map_err(|_| panicked("phase one"))?;
        Ok(Prepared { operator, name, plan, extents, runs })
    }
}

/// A queued operator.
struct Launch {
    prepared: Arc<Prepared>,
    addresses: Vec<usize>,
}

/// Queues a plan. Returns the code of the runtime.
fn submit(prepared: Arc<Prepared>, addresses: Vec<usize>, stream: *mut c_void) -> Result<i32, Failure> {
    if prepared.plan.work.is_none() {
        return Ok(0);
    }
    let runtime = runtime().ok_or_else(|| {
        Failure::Runtime("libascendcl.so of softacl is not loaded; operators run on its streams".into())
    })?;
    if let Some(slot) = (0..addresses.len()).find(|slot| prepared.extents[*slot].is_some() && addresses[*slot] == 0) {
        let name = prepared.plan.accesses.iter().find(|(view, _)| view.slot == slot).map_or("", |(view, _)| view.name);
        return Err(Failure::Invalid(format!("{name} has no memory: its address is NULL")));
    }
    let range = |run: &Run| Range {
        address: addresses[run.slot].wrapping_add_signed(run.start) as *mut c_void,
        size: run.size,
        access: run.access,
    };
    let ranges: Vec<Range> = prepared.runs.iter().map(range).collect();
    let launch = Box::new(Launch { prepared, addresses });
    let name = launch.prepared.name.as_ptr();
    // The name is copied by the call, but the launch may be released before it returns.
    let keep = launch.prepared.clone();
    // SAFETY: the functions take the launch that is passed with them; the ranges and the name live during the call.
    let code = unsafe {
        let argument = Box::into_raw(launch).cast();
        (runtime.launch)(stream, Some(run), argument, Some(release), ranges.as_ptr(), ranges.len(), name)
    };
    drop(keep);
    Ok(code)
}

unsafe extern "C" fn release(launch: *mut c_void) {
    // SAFETY: the pointer is the box of `submit`, and the runtime releases it once.
    drop(unsafe { Box::from_raw(launch.cast::<Launch>()) });
}

unsafe extern "C" fn run(launch: *mut c_void) -> i32 {
    // SAFETY: the pointer is the box of `submit`, which lives until it is released.
    let launch = unsafe { &*launch.cast::<Launch>() };
    let prepared = &launch.prepared;
    let trouble = match catch_unwind(AssertUnwindSafe(|| execute(launch))) {
        Ok(Ok(())) => return 0,
        Ok(Err(trouble)) => trouble,
        Err(_) => "its kernel met a case that softacl does not handle; this is a bug of softacl".into(),
    };
    eprintln!("softacl: {} failed while it ran: {trouble}", prepared.operator);
    KERNEL_FAILED
}

fn execute(launch: &Launch) -> Result<(), String> {
    let Launch { prepared, addresses } = launch;
    let (Some(work), Some(runtime)) = (&prepared.plan.work, runtime()) else { return Ok(()) };
    let mut bases = vec![std::ptr::null_mut::<u8>(); addresses.len()];
    for (slot, extent) in prepared.extents.iter().enumerate() {
        let Some((low, high)) = *extent else { continue };
        let start = addresses[slot].wrapping_add_signed(low);
        let mut view = std::ptr::null_mut();
        // SAFETY: the call checks the range and writes the address of a variable.
        let code = unsafe { (runtime.host_view)(start as *mut c_void, (high - low) as usize, &mut view) };
        if code != 0 {
            return Err(format!("{} bytes at {start:#x} are not memory of a device (code {code})", high - low));
        }
        bases[slot] = view.cast::<u8>().wrapping_offset(-low);
    }
    work(&Memory { bases })
}
