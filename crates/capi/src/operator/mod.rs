//! Single operators by name. Those that only move or convert memory are done by the engine, in stream order
//! (`table`); every other one is refused with a sentence that names it.

mod table;

use crate::attribute::{self, Values};
use crate::entry::{array, export, text};
use crate::tensor::{self, Description};
use ascendcl_sys::*;
use softacl_engine::{Caller, Error, Result, fail};
use softacl_faults::system::try_collect;
use std::ffi::{c_char, c_void};
use std::fmt::Write as _;

/// A tensor of a call: what it is, and where its data is.
#[derive(Debug)]
pub(crate) struct Tensor {
    pub(crate) description: Description,
    pub(crate) address: usize,
    pub(crate) size: usize,
}

/// A call as it came.
#[derive(Debug)]
pub(crate) struct OperatorCall {
    pub(crate) operator: String,
    pub(crate) inputs: Vec<Tensor>,
    pub(crate) outputs: Vec<Tensor>,
    pub(crate) attributes: Values,
}

impl OperatorCall {
    /// The call in words, for messages.
    pub(crate) fn describe(&self) -> String {
        let list = |tensors: &[Tensor]| {
            let each: Vec<String> = tensors.iter().map(|tensor| tensor.description.to_string()).collect();
            each.join(", ")
        };
        let mut text = format!("{}({}) -> ({})", self.operator, list(&self.inputs), list(&self.outputs));
        for (name, value) in &self.attributes {
            write!(text, " {name}={value}").expect("text takes text");
        }
        text
    }
}

#[allow(clippy::too_many_arguments, reason = "the shape of the C call")]
fn call(
    operator: *const c_char,
    input_count: i32,
    input_descriptions: *const *const c_void,
    inputs: *const *const c_void,
    output_count: i32,
    output_descriptions: *const *const c_void,
    outputs: *const *const c_void,
    attributes: *const c_void,
) -> Result<OperatorCall> {
    let Some(operator) = text(operator, "opType")? else { return fail(Error::Null("opType")) };
    Ok(OperatorCall {
        operator,
        inputs: tensors(input_count, input_descriptions, inputs)?,
        outputs: tensors(output_count, output_descriptions, outputs)?,
        attributes: attribute::values(attributes)?,
    })
}

fn tensors(count: i32, descriptions: *const *const c_void, buffers: *const *const c_void) -> Result<Vec<Tensor>> {
    let Ok(count) = usize::try_from(count) else {
        return fail(Error::Argument(format!("there cannot be {count} tensors")));
    };
    if count == 0 {
        return Ok(Vec::new());
    }
    let Some(descriptions) = array(descriptions, count, "tensor descriptions")? else {
        return fail(Error::Null("tensor descriptions"));
    };
    let Some(buffers) = array(buffers, count, "data buffers")? else { return fail(Error::Null("data buffers")) };
    let one = |(description, buffer): (&*const c_void, &*const c_void)| {
        let Some((address, size)) = crate::buffer::contents(*buffer) else {
            return fail(Error::Argument(format!("{buffer:?} is not a live data buffer")));
        };
        Ok(Tensor { description: tensor::description(*description)?, address, size })
    };
    try_collect(descriptions.iter().zip(buffers).map(one), "tensors")
}

/// The parts of a call go to the stream one by one; an error at one of them leaves those before it queued.
fn execute(caller: Caller<'_>, call: &OperatorCall, stream: aclrtStream) -> Result<()> {
    let requests = table::requests(call)?;
    requests.iter().try_for_each(|request| caller.rearrange_async(request, stream as usize))
}

export! {
    fn aclopCompileAndExecute(
        operator: *const c_char, input_count: i32, input_descriptions: *const *const c_void, inputs: *const *const c_void,
        output_count: i32, output_descriptions: *const *const c_void, outputs: *const *const c_void,
        attributes: *const c_void, _engine: i32, _compilation: i32, _path: *const c_char, stream: aclrtStream
    ) |caller| {
        let call = call(operator, input_count, input_descriptions, inputs, output_count, output_descriptions, outputs, attributes)?;
        execute(caller, &call, stream)
    }

    /// The same here: what it does more, telling the shape of outputs that was not known before, no operator needs.
    fn aclopCompileAndExecuteV2(
        operator: *const c_char, input_count: i32, input_descriptions: *const *const c_void, inputs: *const *const c_void,
        output_count: i32, output_descriptions: *const *const c_void, outputs: *const *const c_void,
        attributes: *const c_void, _engine: i32, _compilation: i32, _path: *const c_char, stream: aclrtStream
    ) |caller| {
        let call = call(operator, input_count, input_descriptions, inputs, output_count, output_descriptions, outputs, attributes)?;
        execute(caller, &call, stream)
    }
}
