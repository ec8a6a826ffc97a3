//! Single operators by name. The engine executes those that only move or convert memory, in stream order (`table`).
//! Every other operator is an error whose message describes the call.

mod call;
mod table;

use crate::argument::{InPtr, TextPtr};
use crate::attribute;
use crate::entry::{Call, export};
use crate::tensor;
use ascendcl_sys::*;
use call::{OperatorCall, Tensor};
use softacl_engine::{Error, Result, fail, segv};
use softacl_faults::system::try_collect;
use std::ffi::{c_char, c_void};

/// Pointers to objects, as an array.
type Handles = Option<InPtr<*const c_void>>;

fn tensors(count: i32, descriptions: Handles, buffers: Handles) -> Result<Vec<Tensor>> {
    let Ok(count) = usize::try_from(count) else {
        return fail(Error::Argument(format!("the number of tensors is {count}")));
    };
    if count == 0 {
        return Ok(Vec::new());
    }
    let guard = segv::enter();
    let descriptions = descriptions.ok_or(Error::Null("tensor descriptions"))?.array(count, &guard)?;
    let buffers = buffers.ok_or(Error::Null("data buffers"))?.array(count, &guard)?;
    let one = |(description, buffer): (&*const c_void, &*const c_void)| {
        let Some((address, size)) = crate::buffer::contents(*buffer) else {
            return fail(Error::Argument(format!("{buffer:?} is not a live data buffer")));
        };
        Ok(Tensor { description: tensor::description(*description)?, address, size })
    };
    try_collect(descriptions.iter().zip(buffers).map(one), "tensors")
}

/// Submits the parts of an operator one by one. If one fails, those before it stay queued.
fn execute(call: Call<'_>, operator: &OperatorCall, stream: aclrtStream) -> Result<()> {
    let requests = table::requests(operator)?;
    requests.iter().try_for_each(|request| call.rearrange_async(request, stream as usize))
}

export! {
    fn aclopCompileAndExecute(
        operator: TextPtr, input_count: i32, input_descriptions: Handles, inputs: Handles, output_count: i32,
        output_descriptions: Handles, outputs: Handles, attributes: *const c_void, _engine: i32, _compilation: i32,
        _path: *const c_char, stream: aclrtStream
    ) |call| {
        let operator = OperatorCall {
            operator: operator.read()?,
            inputs: tensors(input_count, input_descriptions, inputs)?,
            outputs: tensors(output_count, output_descriptions, outputs)?,
            attributes: attribute::values(attributes)?,
        };
        execute(call, &operator, stream)
    }

    /// Alias of `aclopCompileAndExecute`. Shape inference, the only difference, is not needed by any supported
    /// operator.
    fn aclopCompileAndExecuteV2(
        operator: TextPtr, input_count: i32, input_descriptions: Handles, inputs: Handles, output_count: i32,
        output_descriptions: Handles, outputs: Handles, attributes: *const c_void, _engine: i32, _compilation: i32,
        _path: *const c_char, stream: aclrtStream
    ) |call| {
        let operator = OperatorCall {
            operator: operator.read()?,
            inputs: tensors(input_count, input_descriptions, inputs)?,
            outputs: tensors(output_count, output_descriptions, outputs)?,
            attributes: attribute::values(attributes)?,
        };
        execute(call, &operator, stream)
    }
}
