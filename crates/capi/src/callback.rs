//! Host functions and callbacks.

use crate::entry::export;
use ascendcl_sys::*;
use softacl_engine::{Error, fail};
use std::ffi::c_void;
use std::sync::Arc;

/// A C function and its argument, to be called on another thread. The program vouches for both.
#[derive(Clone, Copy)]
pub(crate) struct CCallback {
    function: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
}

// SAFETY: the API documents that the function is called on another thread with this argument.
unsafe impl Send for CCallback {}
// SAFETY: a shared reference gives no access to what the argument points to.
unsafe impl Sync for CCallback {}

impl CCallback {
    pub(crate) fn shared(
        function: unsafe extern "C" fn(*mut c_void),
        argument: *mut c_void,
    ) -> Arc<dyn Fn() + Send + Sync> {
        let call = CCallback { function, argument };
        Arc::new(move || call.run())
    }

    fn run(self) {
        // SAFETY: the program passed this function to be called with this argument.
        unsafe { (self.function)(self.argument) }
    }
}

export! {
    fn aclrtSubscribeReport(thread: u64, stream: aclrtStream) |call| { call.subscribe(thread, stream as usize) }
    fn aclrtUnSubscribeReport(thread: u64, stream: aclrtStream) |call| { call.unsubscribe(thread, stream as usize) }

    fn aclrtLaunchCallback(
        function: aclrtCallback, argument: *mut c_void, block_type: i32, stream: aclrtStream
    ) |call| {
        let holds_stream = match block_type {
            ACL_CALLBACK_NO_BLOCK => false,
            ACL_CALLBACK_BLOCK => true,
            _ => return fail(Error::Argument(format!("block type {block_type} is neither 0 nor 1"))),
        };
        let function = function.ok_or_else(|| Error::Parameter("fn is NULL".to_owned()))?;
        call.launch_callback(stream as usize, holds_stream, CCallback::shared(function, argument))
    }

    fn aclrtProcessReport(ms: i32) |call| {
        if ms != -1 && ms <= 0 {
            let text = format!("timeout {ms} is neither -1 (no limit) nor a positive number of milliseconds");
            return fail(Error::Argument(text));
        }
        // SAFETY: pthread_self has no preconditions.
        let thread = unsafe { libc::pthread_self() };
        call.process_reports(thread, ms)
    }

    fn aclrtLaunchHostFunc(stream: aclrtStream, function: aclrtHostFunc, argument: *mut c_void) |call| {
        let function = function.ok_or(Error::Null("fn"))?;
        call.launch_host_function(stream as usize, CCallback::shared(function, argument))
    }
}
