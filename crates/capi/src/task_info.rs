//! What a program asks or says about single tasks: their ids, marks for profilers, data about operators.

use crate::argument::{InMutPtr, InPtr, OutPtr};
use crate::entry::export;
use ascendcl_sys::*;
use softacl_engine::{Error, Result, fail, segv};

export! {
    fn aclrtGetThreadLastTaskId(id: OutPtr<u32>) |call| {
        call.require_supported()?;
        id.set(call.last_task()? as u32)
    }

    /// Queues a task that does nothing. There is no profiler that would read the data.
    fn aclrtProfTrace(data: InMutPtr<u8>, len: i32, stream: aclrtStream) |call| {
        check_data(data, usize::try_from(len).unwrap_or(0))?;
        call.require_supported()?;
        call.queue_profiler_mark(stream as usize)
    }

    /// Checks the data and drops it: nothing reads it.
    fn aclrtCacheLastTaskOpInfo(data: InPtr<u8>, len: usize) |call| {
        check_data(data, len)?;
        call.require_supported()?;
        call.last_task().map(|_| ())
    }

    /// Checks the data and drops it: nothing reads it.
    fn aclrtCacheLastTaskExtendInfo(data: InPtr<u8>, len: usize) |call| {
        check_data(data, len)?;
        call.require_supported()?;
        call.last_task().map(|_| ())
    }

    fn aclrtPersistentTaskClean(stream: aclrtStream) |call| {
        call.require_supported()?;
        if call.stream_options(stream as usize)?.flags & ACL_STREAM_PERSISTENT as u32 == 0 {
            return fail(Error::Parameter("the stream was not created with ACL_STREAM_PERSISTENT".to_owned()));
        }
        call.abort_stream(stream as usize)
    }
}

/// Fails if the data is empty or cannot be read.
fn check_data<P>(data: InPtr<u8, P>, len: usize) -> Result<()> {
    if len == 0 {
        return fail(Error::Argument("the data is empty".to_owned()));
    }
    data.array(len, &segv::enter()).map(|_| ())
}
