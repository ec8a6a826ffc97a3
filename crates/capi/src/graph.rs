//! Graphs: capturing the work of streams, running it again.

use crate::entry::{export, out, require, text, timeout};
use ascendcl_sys::*;
use softacl_engine::{CaptureMode, CaptureStatus, Error, GraphDescription, Result, fail};
use std::ffi::{c_char, c_void};
use std::fmt::Write as _;
use std::ptr;

export! {
    fn aclmdlRICaptureBegin(stream: aclrtStream, mode: i32) |caller| {
        require(caller, "aclmdlRICaptureBegin")?;
        caller.begin_capture(stream as usize, capture_mode(mode)?)
    }

    fn aclmdlRICaptureEnd(stream: aclrtStream, graph: *mut aclmdlRI) |caller| {
        let graph = out(graph, "modelRI")?;
        require(caller, "aclmdlRICaptureEnd")?;
        let key = caller.end_capture(stream as usize)?;
        graph.set(key.raw() as *mut c_void).inspect_err(|_| {
            // Nobody will ever know the handle.
            let _ = caller.destroy_graph(key.raw());
        })
    }

    /// A program that only wants the status may pass NULL for the graph.
    fn aclmdlRICaptureGetInfo(stream: aclrtStream, status: *mut i32, graph: *mut aclmdlRI) |caller| {
        let status = out(status, "status")?;
        require(caller, "aclmdlRICaptureGetInfo")?;
        let (word, key) = match caller.capture_status(stream as usize)? {
            CaptureStatus::None => (ACL_MODEL_RI_CAPTURE_STATUS_NONE, ptr::null_mut()),
            CaptureStatus::Active(key) => (ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE, key.raw() as *mut c_void),
            CaptureStatus::Invalidated(key) => (ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED, key.raw() as *mut c_void),
        };
        if !graph.is_null() {
            out(graph, "modelRI")?.set(key)?;
        }
        status.set(word)
    }

    fn aclmdlRICaptureThreadExchangeMode(mode: *mut i32) |caller| {
        let given = crate::entry::array(mode.cast_const(), 1, "mode")?.ok_or(Error::Null("mode"))?[0];
        let place = out(mode, "mode")?;
        require(caller, "aclmdlRICaptureThreadExchangeMode")?;
        let before = caller.exchange_capture_mode(capture_mode(given)?);
        place.set(match before {
            CaptureMode::Global => ACL_MODEL_RI_CAPTURE_MODE_GLOBAL,
            CaptureMode::ThreadLocal => ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL,
            CaptureMode::Relaxed => ACL_MODEL_RI_CAPTURE_MODE_RELAXED,
        })
    }

    fn aclmdlRICaptureTaskGrpBegin(stream: aclrtStream) |caller| {
        require(caller, "aclmdlRICaptureTaskGrpBegin")?;
        caller.begin_group(stream as usize)
    }

    fn aclmdlRICaptureTaskGrpEnd(stream: aclrtStream, handle: *mut aclrtTaskGrp) |caller| {
        let handle = out(handle, "handle")?;
        require(caller, "aclmdlRICaptureTaskGrpEnd")?;
        handle.set(caller.end_group(stream as usize)?.raw() as *mut c_void)
    }

    fn aclmdlRICaptureTaskUpdateBegin(stream: aclrtStream, handle: aclrtTaskGrp) |caller| {
        let handle = require_non_null(handle, "handle")?;
        require(caller, "aclmdlRICaptureTaskUpdateBegin")?;
        caller.begin_update(stream as usize, handle)
    }

    fn aclmdlRICaptureTaskUpdateEnd(stream: aclrtStream) |caller| {
        require(caller, "aclmdlRICaptureTaskUpdateEnd")?;
        caller.end_update(stream as usize)
    }

    fn aclmdlRIExecuteAsync(graph: aclmdlRI, stream: aclrtStream) |caller| {
        let graph = require_non_null(graph, "modelRI")?;
        require(caller, "aclmdlRIExecuteAsync")?;
        caller.launch_graph(graph, stream as usize)
    }

    fn aclmdlRIExecute(graph: aclmdlRI, ms: i32) |caller| {
        let graph = require_non_null(graph, "modelRI")?;
        caller.run_graph(graph, timeout(ms)?)
    }

    fn aclmdlRIDestroy(graph: aclmdlRI) |caller| { caller.destroy_graph(require_non_null(graph, "modelRI")?) }

    fn aclmdlRICaptureToModelRIBegin(stream: aclrtStream, graph: aclmdlRI, mode: i32) |caller| {
        let graph = require_non_null(graph, "modelRI")?;
        require(caller, "aclmdlRICaptureToModelRIBegin")?;
        caller.begin_sub_capture(stream as usize, graph, capture_mode(mode)?)
    }

    fn aclmdlRICondHandleCreate(graph: aclmdlRI, default: u32, flag: i32, handle: *mut aclmdlRICondHandle) |caller| {
        let (graph, handle) = (require_non_null(graph, "modelRI")?, out(handle, "handle")?);
        require(caller, "aclmdlRICondHandleCreate")?;
        let assign = match flag {
            0 => false,
            ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT => true,
            _ => return fail(Error::Parameter(format!("flag {flag} is neither 0 nor 1 (assign the default)"))),
        };
        handle.set(caller.create_condition(graph, default, assign)?.raw() as *mut c_void)
    }

    fn aclmdlRICondHandleGetCondPtr(handle: aclmdlRICondHandle, pointer: *mut *mut u64) |caller| {
        let (handle, pointer) = (require_non_null(handle, "handle")?, out(pointer, "ptr")?);
        require(caller, "aclmdlRICondHandleGetCondPtr")?;
        pointer.set(caller.condition_address(handle)? as *mut u64)
    }

    /// The array is for the handles of the sub-graphs, which are made here.
    fn aclmdlRIAddCondTask(params: aclmdlRICondTaskParams, stream: aclrtStream, flags: u32) |caller| {
        let condition = require_non_null(params.handle, "params.handle")?;
        let count = params.size as usize;
        let place = crate::entry::array(params.modelRIArray.cast_const(), count, "params.modelRIArray")?;
        place.ok_or(Error::Null("params.modelRIArray"))?;
        if flags != 0 {
            return fail(Error::Parameter(format!("flags must be 0, not {flags}")));
        }
        require(caller, "aclmdlRIAddCondTask")?;
        let graphs = caller.add_condition(condition, params.r#type, count, stream as usize)?;
        for (at, graph) in graphs.into_iter().enumerate() {
            out(params.modelRIArray.wrapping_add(at), "params.modelRIArray")?.set(graph as *mut c_void)?;
        }
        Ok(())
    }

    fn aclmdlRIGetId(graph: aclmdlRI, id: *mut u32) |caller| {
        let (graph, id) = (require_non_null(graph, "modelRI")?, out(id, "modelRIId")?);
        require(caller, "aclmdlRIGetId")?;
        id.set(caller.graph_id(graph)?)
    }

    fn aclmdlRIDebugPrint(graph: aclmdlRI) |caller| {
        let graph = require_non_null(graph, "modelRI")?;
        require(caller, "aclmdlRIDebugPrint")?;
        let graph = caller.describe_graph(graph)?;
        let mut lines = format!("softacl: graph {}, streams: {}, steps: {}\n", graph.id, graph.branches, graph.steps.len());
        for (at, step) in graph.steps.iter().enumerate() {
            let after = step.after.map_or_else(String::new, |after| format!(", for step {after}"));
            let _ = writeln!(lines, "softacl:   step {at} on stream {}: {}{after}", step.branch, step.name);
        }
        eprint!("{lines}");
        Ok(())
    }

    /// The file has a form of our own: nobody documents that of the vendor.
    fn aclmdlRIDebugJsonPrint(graph: aclmdlRI, path: *const c_char, flags: u32) |caller| {
        let graph = require_non_null(graph, "modelRI")?;
        let path = text(path, "path")?.ok_or(Error::Null("path"))?;
        if flags > ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE {
            return fail(Error::Parameter(format!("flags {flags} is neither 0 (summary) nor 1 (verbose)")));
        }
        require(caller, "aclmdlRIDebugJsonPrint")?;
        let text = json(&caller.describe_graph(graph)?, flags == ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE);
        std::fs::write(&path, text)
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

fn require_non_null(handle: *mut c_void, name: &'static str) -> Result<usize> {
    if handle.is_null() { fail(Error::Null(name)) } else { Ok(handle as usize) }
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
