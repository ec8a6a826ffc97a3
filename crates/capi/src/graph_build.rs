//! Graphs that are built stream by stream, and what all graphs have: names, destroy callbacks, aborts.

use crate::argument::{NonNullArg, OutPtr, TextPtr};
use crate::callback::CCallback;
use crate::entry::export;
use ascendcl_sys::*;
use softacl_engine::{Error, fail};
use std::ffi::{c_char, c_void};

/// Flags of `aclmdlRIBindStream`: the stream starts with the graph, or when another one activates it.
const STREAM_HEAD: u32 = 0;
const STREAM_DEFAULT: u32 = 0x7fff_ffff;

export! {
    fn aclmdlRIBuildBegin(graph: OutPtr<aclmdlRI>, flag: u32) |call| {
        if flag != 0 {
            return fail(Error::Parameter(format!("the flag is reserved: it must be 0, not {flag}")));
        }
        call.require_supported()?;
        let key = call.begin_build()?;
        graph.set_or(key.raw() as *mut c_void, || drop(call.destroy_graph(key.raw())))
    }

    fn aclmdlRIBindStream(graph: NonNullArg, stream: NonNullArg, flag: u32) |call| {
        let is_head = match flag {
            STREAM_HEAD => true,
            STREAM_DEFAULT => false,
            _ => return fail(Error::Parameter(format!(
                "flag {flag:#x} is neither 0 (starts with the graph) nor 0x7fffffff (starts when it is activated)"
            ))),
        };
        call.require_supported()?;
        call.bind_stream(graph.address(), stream.address(), is_head)
    }

    fn aclmdlRIUnbindStream(graph: NonNullArg, stream: NonNullArg) |call| {
        call.require_supported()?;
        call.unbind_stream(graph.address(), stream.address())
    }

    fn aclmdlRIEndTask(graph: NonNullArg, stream: NonNullArg) |call| {
        call.require_supported()?;
        call.end_tasks(graph.address(), stream.address())
    }

    fn aclmdlRIBuildEnd(graph: NonNullArg, reserve: *mut c_void) |call| {
        if !reserve.is_null() {
            return fail(Error::Parameter("the argument reserve must be NULL".to_owned()));
        }
        call.require_supported()?;
        call.end_build(graph.address())
    }

    fn aclmdlRIAbort(graph: NonNullArg) |call| {
        call.require_supported()?;
        call.abort_graph(graph.address())
    }

    fn aclmdlRISetName(graph: NonNullArg, name: TextPtr) |call| {
        let name = name.read()?;
        call.require_supported()?;
        call.set_graph_name(graph.address(), name)
    }

    fn aclmdlRIGetName(graph: NonNullArg, size: u32, name: OutPtr<c_char>) |call| {
        call.require_supported()?;
        let mut text = call.graph_name(graph.address())?.into_bytes();
        text.push(0);
        if text.len() > size as usize {
            return fail(Error::Parameter(format!("the name needs {} bytes, and maxLen is {size}", text.len())));
        }
        name.write(&text)
    }

    fn aclmdlRIDestroyRegisterCallback(graph: NonNullArg, function: aclrtCallback, argument: *mut c_void) |call| {
        let function = function.ok_or(Error::Null("func"))?;
        call.require_supported()?;
        call.call_on_destroy(graph.address(), function as usize, CCallback::shared(function, argument))
    }

    fn aclmdlRIDestroyUnregisterCallback(graph: NonNullArg, function: aclrtCallback) |call| {
        let function = function.ok_or(Error::Null("func"))?;
        call.require_supported()?;
        call.forget_on_destroy(graph.address(), function as usize)
    }
}
