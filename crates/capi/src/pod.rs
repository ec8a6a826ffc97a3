//! What concerns the links and servers of a pod. Here every byte is reached the same way, and all processes are on one
//! server, so a chosen link has no effect, and processes of every server are looked up on this one.

use crate::argument::{Argument as _, InMutPtr, NonNullArg, TextPtr};
use crate::entry::{CallError, export};
use crate::virtual_memory::check_processes;
use ascendcl_sys::*;
use softacl_engine::{Error, Result, fail, segv};

/// Maximum number of servers in one call; a pod has fewer. Bounds the loop for a count from uninitialized memory.
const MAX_SERVERS: usize = 64 << 10;

export! {
    fn aclrtIpcMemSetAttr(key: TextPtr, attribute: i32, value: u64) -> std::result::Result<(), CallError> |call| {
        let key = key.read()?;
        call.require_supported()?;
        if attribute != ACL_RT_IPC_MEM_ATTR_ACCESS_LINK {
            let text = format!("attribute {attribute} is not ACL_RT_IPC_MEM_ATTR_ACCESS_LINK (0)");
            return Err(Error::Parameter(text).into());
        }
        call.check_range_key(&key)?;
        check_link(value)
    }

    fn aclrtIpcMemImportPidInterServer(key: TextPtr, servers: InMutPtr<aclrtServerPid>, count: usize) |call| {
        let key = key.read()?;
        let processes = processes_of(servers, count)?;
        call.require_supported()?;
        call.allow_processes(&key, &processes)
    }

    fn aclrtNotifySetImportPidInterServer(
        notify: NonNullArg, servers: InMutPtr<aclrtServerPid>, count: usize
    ) |call| {
        let processes = processes_of(servers, count)?;
        call.require_supported()?;
        let processes: Vec<i32> = processes.into_iter().map(|process| process as i32).collect();
        call.allow_notify_processes(notify.address(), &processes)
    }

    fn aclrtMemMapSelectedLink(target: NonNullArg, size: usize, source: NonNullArg, link: u32) |call| {
        if size == 0 {
            return fail(Error::Argument("size is 0".to_owned()));
        }
        call.require_supported()?;
        if ![ACL_RT_MEM_LINK_IDX_0, ACL_RT_MEM_LINK_IDX_1].contains(&(link as i32)) {
            return fail(Error::Parameter(format!("linkIdx {link} is neither 0 nor 1")));
        }
        let handle = call.retain_physical(source.address())?;
        let mapped = call.map(target.address(), size, 0, handle, true);
        // The mapping keeps the memory.
        mapped.and(call.free_physical(handle))
    }

    fn aclrtMemMapSetLink(handle: NonNullArg, link: i32) -> std::result::Result<(), CallError> |call| {
        call.physical_properties(handle.address())?;
        check_link(u64::from(link as u32))
    }
}

/// Accepts the links of the chips that document the choice. UB links belong to others.
fn check_link(link: u64) -> std::result::Result<(), CallError> {
    match i32::try_from(link) {
        Ok(ACL_RT_MEM_ACCESS_LINK_SIO | ACL_RT_MEM_ACCESS_LINK_HCCS) => Ok(()),
        Ok(ACL_RT_MEM_ACCESS_UB_ONE_PORT_PATH | ACL_RT_MEM_ACCESS_UB_MULTI_PORT_PATH) => {
            let text = format!("link {link} is a UB link, which the chip does not have");
            Err(CallError::runtime_code(ACL_ERROR_RT_LINK_TYPE_NOT_SUPPORTED, text))
        }
        _ => Err(Error::Parameter(format!("link {link} is not in 0 to 3")).into()),
    }
}

/// The processes of all servers in a list.
fn processes_of(servers: InMutPtr<aclrtServerPid>, count: usize) -> Result<Vec<u32>> {
    if !(1..=MAX_SERVERS).contains(&count) {
        return fail(Error::Parameter(format!("the number of servers is {count}, and must be in 1 to {MAX_SERVERS}")));
    }
    let guard = segv::enter();
    let mut processes = Vec::new();
    for server in servers.array(count, &guard)? {
        // SAFETY: the program passes the list inside the struct that it permits to read.
        let list = unsafe { InMutPtr::from_program(server.pid, "serverPids->pid") }?;
        processes.append(&mut check_processes(list, server.num)?);
    }
    Ok(processes)
}
