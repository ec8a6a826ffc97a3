//! Graphs: capturing the tasks of streams and replaying them.

use crate::argument::{Argument as _, InOutPtr, NonNullArg, OutPtr, TextPtr};
use crate::entry::{export, timeout};
use ascendcl_sys::*;
use softacl_engine::{CaptureMode, CaptureStatus, Error, GraphDescription, Result, fail, segv};
use std::ffi::c_void;
use std::fmt::Write as _;
use std::ptr;

export! {
    fn aclmdlRICaptureBegin(stream: aclrtStream, mode: i32) |call| {
        call.require_supported()?;
        call.begin_capture(stream as usize, capture_mode(mode)?)
    }

    fn aclmdlRICaptureEnd(stream: aclrtStream, graph: OutPtr<aclmdlRI>) |call| {
        call.require_supported()?;
        let key = call.end_capture(stream as usize)?;
        graph.set_or(key.raw() as *mut c_void, || drop(call.destroy_graph(key.raw())))
    }

    /// NULL for the graph queries only the status.
    fn aclmdlRICaptureGetInfo(stream: aclrtStream, status: OutPtr<i32>, graph: Option<OutPtr<aclmdlRI>>) |call| {
        call.require_supported()?;
        let (word, key) = match call.capture_status(stream as usize)? {
            CaptureStatus::None => (ACL_MODEL_RI_CAPTURE_STATUS_NONE, ptr::null_mut()),
            CaptureStatus::Active(key) => (ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE, key.raw() as *mut c_void),
            CaptureStatus::Invalidated(key) => (ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED, key.raw() as *mut c_void),
        };
        if let Some(graph) = graph {
            graph.set(key)?;
        }
        status.set(word)
    }

    fn aclmdlRICaptureThreadExchangeMode(mode: InOutPtr<i32>) |call| {
        let requested = mode.input.read()?;
        call.require_supported()?;
        let before = call.exchange_capture_mode(capture_mode(requested)?);
        mode.output.set(match before {
            CaptureMode::Global => ACL_MODEL_RI_CAPTURE_MODE_GLOBAL,
            CaptureMode::ThreadLocal => ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL,
            CaptureMode::Relaxed => ACL_MODEL_RI_CAPTURE_MODE_RELAXED,
        })
    }

    fn aclmdlRICaptureTaskGrpBegin(stream: aclrtStream) |call| {
        call.require_supported()?;
        call.begin_group(stream as usize)
    }

    fn aclmdlRICaptureTaskGrpEnd(stream: aclrtStream, handle: OutPtr<aclrtTaskGrp>) |call| {
        call.require_supported()?;
        handle.set(call.end_group(stream as usize)?.raw() as *mut c_void)
    }

    fn aclmdlRICaptureTaskUpdateBegin(stream: aclrtStream, handle: NonNullArg) |call| {
        call.require_supported()?;
        call.begin_update(stream as usize, handle.address())
    }

    fn aclmdlRICaptureTaskUpdateEnd(stream: aclrtStream) |call| {
        call.require_supported()?;
        call.end_update(stream as usize)
    }

    fn aclmdlRIExecuteAsync(graph: NonNullArg, stream: aclrtStream) |call| {
        call.require_supported()?;
        call.launch_graph(graph.address(), stream as usize)
    }

    fn aclmdlRIExecute(graph: NonNullArg, ms: i32) |call| {
        call.run_graph(graph.address(), timeout(ms)?)
    }

    fn aclmdlRIDestroy(graph: NonNullArg) |call| { call.destroy_graph(graph.address()) }

    fn aclmdlRICaptureToModelRIBegin(stream: aclrtStream, graph: NonNullArg, mode: i32) |call| {
        call.require_supported()?;
        call.begin_sub_capture(stream as usize, graph.address(), capture_mode(mode)?)
    }

    fn aclmdlRICondHandleCreate(graph: NonNullArg, default: u32, flag: i32, handle: OutPtr<aclmdlRICondHandle>) |call| {
        call.require_supported()?;
        let assign = match flag {
            0 => false,
            ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT => true,
            _ => return fail(Error::Parameter(format!("flag {flag} is neither 0 nor 1 (assign the default)"))),
        };
        handle.set(call.create_condition(graph.address(), default, assign)?.raw() as *mut c_void)
    }

    fn aclmdlRICondHandleGetCondPtr(handle: NonNullArg, pointer: OutPtr<*mut u64>) |call| {
        call.require_supported()?;
        pointer.set(call.condition_address(handle.address())? as *mut u64)
    }

    /// Creates the sub-graphs of the condition and writes their handles to `params.modelRIArray`.
    fn aclmdlRIAddCondTask(params: aclmdlRICondTaskParams, stream: aclrtStream, flags: u32) |call| {
        // SAFETY: fields of a struct that the program passed by value, for a handle and for an array of results.
        let (condition, handles) = unsafe {
            (
                NonNullArg::<*mut c_void>::from_program(params.handle, "params.handle")?,
                InOutPtr::from_program(params.modelRIArray, "params.modelRIArray")?,
            )
        };
        let count = params.size as usize;
        handles.input.array(count, &segv::enter())?;
        if flags != 0 {
            return fail(Error::Parameter(format!("flags must be 0, not {flags}")));
        }
        call.require_supported()?;
        let graphs = call.add_condition(condition.address(), params.r#type, count, stream as usize)?;
        for (at, graph) in graphs.into_iter().enumerate() {
            handles.output.set_at(at, graph as *mut c_void)?;
        }
        Ok(())
    }

    fn aclmdlRIGetId(graph: NonNullArg, id: OutPtr<u32>) |call| {
        call.require_supported()?;
        id.set(call.graph_id(graph.address())?)
    }

    fn aclmdlRIDebugPrint(graph: NonNullArg) |call| {
        call.require_supported()?;
        let graph = call.describe_graph(graph.address())?;
        let GraphDescription { id, branches, steps } = &graph;
        let mut lines = format!("softacl: graph {id}, streams: {branches}, steps: {}\n", steps.len());
        for (at, step) in graph.steps.iter().enumerate() {
            let after = step.after.map_or_else(String::new, |after| format!(", for step {after}"));
            let _ = writeln!(lines, "softacl:   step {at} on stream {}: {}{after}", step.branch, step.name);
        }
        eprint!("{lines}");
        Ok(())
    }

    /// The format of the file is specific to softacl, because the vendor documents none.
    fn aclmdlRIDebugJsonPrint(graph: NonNullArg, path: TextPtr, flags: u32) |call| {
        let path = path.read()?;
        if flags > ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE {
            return fail(Error::Parameter(format!("flags {flags} is neither 0 (summary) nor 1 (verbose)")));
        }
        call.require_supported()?;
        let text = json(&call.describe_graph(graph.address())?, flags == ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE);
        softacl_memory::without_size_signal(|| std::fs::write(&path, text))
            .map_err(|error| Box::new(Error::FileWrite(format!("{path:?} could not be written: {error}"))))
    }
}

const ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE: u32 = 1;

fn capture_mode(mode: i32) -> Result<CaptureMode> {
    match mode {
        ACL_MODEL_RI_CAPTURE_MODE_GLOBAL => Ok(CaptureMode::Global),
        ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL => Ok(CaptureMode::ThreadLocal),
        ACL_MODEL_RI_CAPTURE_MODE_RELAXED => Ok(CaptureMode::Relaxed),
        _ => fail(Error::Parameter(format!("capture mode {mode} does not exist; modes are 0 to 2"))),
    }
}

fn json(graph: &GraphDescription, verbose: bool) -> String {
    let mut text = format!(
        "{{\n  \"modelRIId\": {},\n  \"streams\": {},\n  \"tasks\": {}",
        graph.id,
        graph.branches,
        graph.steps.len()
    );
    if verbose {
        let step = |(at, step): (usize, &softacl_engine::StepDescription)| {
            let after = step.after.map_or_else(String::new, |after| format!(", \"after\": {after}"));
            format!("    {{\"index\": {at}, \"stream\": {}, \"type\": \"{}\"{after}}}", step.branch, step.name)
        };
        let steps: Vec<String> = graph.steps.iter().enumerate().map(step).collect();
        let _ = write!(text, ",\n  \"taskList\": [\n{}\n  ]", steps.join(",\n"));
    }
    text.push_str("\n}\n");
    text
}
