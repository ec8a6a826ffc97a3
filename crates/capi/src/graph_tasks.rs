//! The streams and tasks of a graph: listing, reading and changing them.

use crate::argument::{InMutPtr, InOutPtr, NonNullArg, OutPtr};
use crate::entry::export;
use ascendcl_sys::*;
use softacl_engine::{EntryKind, EntryParameters, Error, Result, ValueCondition, fail};
use std::ffi::c_void;
use std::ptr;

export! {
    /// NULL for the array queries only the number.
    fn aclmdlRIGetStreams(graph: NonNullArg, streams: Option<OutPtr<aclrtStream>>, count: InOutPtr<u32>) |call| {
        call.require_supported()?;
        list(&call.graph_streams(graph.address())?, streams, count)
    }

    /// NULL for the array queries only the number.
    fn aclmdlRIGetTasksByStream(stream: NonNullArg, tasks: Option<OutPtr<aclmdlRITask>>, count: InOutPtr<u32>) |call| {
        call.require_supported()?;
        list(&call.graph_tasks(stream.address())?, tasks, count)
    }

    fn aclmdlRITaskGetType(task: NonNullArg, kind: OutPtr<i32>) |call| {
        call.require_supported()?;
        kind.set(code_of(call.graph_task_kind(task.address())?))
    }

    fn aclmdlRITaskGetSeqId(task: NonNullArg, id: OutPtr<u32>) |call| {
        call.require_supported()?;
        id.set(call.graph_task_sequence(task.address())?)
    }

    fn aclmdlRITaskGetParams(task: NonNullArg, params: OutPtr<aclmdlRITaskParams>) |call| {
        call.require_supported()?;
        let (kind, group, parameters) = call.graph_task_parameters(task.address())?;
        params.set(aclmdlRITaskParams {
            r#type: code_of(kind),
            rsv0: [0; 3],
            taskGrp: group as *mut c_void,
            opInfoPtr: ptr::null_mut(),
            opInfoSize: 0,
            rsv1: [0; 32],
            parameters: words_of(parameters),
        })
    }

    fn aclmdlRITaskSetParams(task: NonNullArg, params: InMutPtr<aclmdlRITaskParams>) |call| {
        let aclmdlRITaskParams { r#type: kind, parameters: words, .. } = params.read()?;
        let parameters = parameters_of(kind, &words)?;
        call.require_supported()?;
        call.set_graph_task_parameters(task.address(), parameters)
    }

    fn aclmdlRITaskDisable(task: NonNullArg) |call| {
        call.require_supported()?;
        call.disable_graph_task(task.address())
    }

    /// The attributes of a launch have no effect here, so kernel tasks do not keep them.
    fn aclmdlRIKernelTaskGetAttribute(task: NonNullArg, _attribute: i32, _value: NonNullArg) |call| {
        call.require_supported()?;
        match call.graph_task_kind(task.address())? {
            EntryKind::Kernel => fail(Error::Feature("the attributes of a launch are not kept".to_owned())),
            other => fail(Error::Parameter(format!("the task has the type {}: it is not a kernel task", code_of(other)))),
        }
    }

    fn aclmdlRIUpdate(graph: NonNullArg) |call| {
        call.require_supported()?;
        call.update_graph(graph.address())
    }
}

/// Writes handles and their number. Refuses an array that is too small for them, after writing the number.
fn list(handles: &[usize], array: Option<OutPtr<*mut c_void>>, count: InOutPtr<u32>) -> Result<()> {
    if let Some(array) = array {
        let room = count.input.read()? as usize;
        if room < handles.len() {
            count.output.set(handles.len() as u32)?;
            return fail(Error::ShortArray { room, count: handles.len() });
        }
        for (at, handle) in handles.iter().enumerate() {
            array.set_at(at, *handle as *mut c_void)?;
        }
    }
    count.output.set(handles.len() as u32)
}

fn code_of(kind: EntryKind) -> i32 {
    match kind {
        EntryKind::Other => ACL_MODEL_RI_TASK_DEFAULT,
        EntryKind::Kernel => ACL_MODEL_RI_TASK_KERNEL,
        EntryKind::EventRecord => ACL_MODEL_RI_TASK_EVENT_RECORD,
        EntryKind::EventWait => ACL_MODEL_RI_TASK_EVENT_WAIT,
        EntryKind::EventReset => ACL_MODEL_RI_TASK_EVENT_RESET,
        EntryKind::ValueWrite => ACL_MODEL_RI_TASK_VALUE_WRITE,
        EntryKind::ValueWait => ACL_MODEL_RI_TASK_VALUE_WAIT,
    }
}

/// The union of `aclmdlRITaskParams` for a task.
fn words_of(parameters: EntryParameters) -> [u64; 16] {
    let mut words = [0; 16];
    match parameters {
        EntryParameters::Other => {}
        EntryParameters::Event { event, flags, is_external } => {
            words[0] = event as u64;
            words[1] = u64::from(flags) | u64::from(is_external) << 32;
        }
        EntryParameters::ValueWrite { address, value } => (words[0], words[1]) = (address as u64, value),
        EntryParameters::ValueWait { address, value, condition } => {
            let flag = match condition {
                ValueCondition::AtLeast => ACL_STREAM_WAIT_VALUE_GEQ,
                ValueCondition::Equal => ACL_STREAM_WAIT_VALUE_EQ,
                ValueCondition::And => ACL_STREAM_WAIT_VALUE_AND,
                ValueCondition::Nor => ACL_STREAM_WAIT_VALUE_NOR,
            };
            (words[0], words[1], words[2]) = (address as u64, value, flag as u64);
        }
    }
    words
}

/// Reads the member of the union that a type selects.
fn parameters_of(kind: i32, words: &[u64; 16]) -> Result<EntryParameters> {
    let (address, value) = (words[0] as usize, words[1]);
    Ok(match kind {
        ACL_MODEL_RI_TASK_VALUE_WRITE => EntryParameters::ValueWrite { address, value },
        ACL_MODEL_RI_TASK_VALUE_WAIT => {
            let flag = words[2] as u32;
            let condition = match flag as i32 {
                ACL_STREAM_WAIT_VALUE_GEQ => ValueCondition::AtLeast,
                ACL_STREAM_WAIT_VALUE_EQ => ValueCondition::Equal,
                ACL_STREAM_WAIT_VALUE_AND => ValueCondition::And,
                ACL_STREAM_WAIT_VALUE_NOR => ValueCondition::Nor,
                _ => return fail(Error::Parameter(format!("flag {flag} is not in 0 to 3"))),
            };
            EntryParameters::ValueWait { address, value, condition }
        }
        ACL_MODEL_RI_TASK_DEFAULT..=ACL_MODEL_RI_TASK_EVENT_RESET => EntryParameters::Other,
        _ => return fail(Error::Parameter(format!("task type {kind} does not exist; types are 0 to 6"))),
    })
}
