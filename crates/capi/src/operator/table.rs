//! Operators that are memory copies, and what each of them copies.
//!
//! A row converts a call into requests to the engine: a shape, and the layout of source and target. The only memory
//! read here are small inputs on the host, such as the order of a transposition. Tiled matrix formats are not
//! supported.

use super::call::{OperatorCall, Tensor};
use crate::argument::{Argument as _, InPtr};
use crate::attribute::Value;
use crate::buffer::aclDataTypeSize;
use crate::tensor::{Description, type_name};
use ascendcl_sys::*;
use softacl_engine::{ElementChange, Error, RearrangeRequest, Result, Scalar, TensorSource, TensorView, fail, segv};
use softacl_faults::system::try_collect;

type Row = (&'static str, fn(&OperatorCall) -> Result<Vec<RearrangeRequest>>);

/// Every supported operator.
const TABLE: &[Row] = &[
    ("AsStrided", as_strided),
    ("Cast", cast),
    ("ConcatD", concatenate),
    ("Fill", fill),
    ("Identity", identity),
    ("OnesLike", |call| like(call, 1)),
    ("PadV3", pad),
    ("Slice", slice),
    ("StridedSlice", strided_slice),
    ("TensorMove", identity),
    ("Transpose", transpose),
    ("ViewCopy", view_copy),
    ("ZerosLike", |call| like(call, 0)),
];

/// Converts a call into requests to the engine.
pub(super) fn requests(call: &OperatorCall) -> Result<Vec<RearrangeRequest>> {
    match TABLE.iter().find(|(name, _)| *name == call.operator) {
        Some((_, plan)) => {
            for tensor in call.inputs.iter().chain(&call.outputs) {
                check_format(&tensor.description)?;
            }
            plan(call)
        }
        None => {
            let names: Vec<&str> = TABLE.iter().map(|(name, _)| *name).collect();
            fail(Error::Feature(format!(
                "this interface has only the operators that copy ({}), and not {}; those of aclnn compute",
                names.join(", "),
                call.describe()
            )))
        }
    }
}

fn cast(call: &OperatorCall) -> Result<Vec<RearrangeRequest>> {
    let ([input], [output]) = tensors(call)?;
    let (from, to) = (input.description.data_type, output.description.data_type);
    match call.attributes.get("dst_type") {
        Some(Value::Int(requested)) if *requested != i64::from(to) => {
            return refuse(call, &format!("dst_type is not the type of the output, which is {to}"));
        }
        _ => {}
    }
    let shape = shape(call, &output.description)?;
    if shape != self::shape(call, &input.description)? {
        return refuse(call, "the shapes differ");
    }
    let change = match (scalar(from), scalar(to)) {
        _ if from == to => keep(call, from)?,
        (Some(from), Some(to)) => ElementChange::Convert { from, to },
        _ => return refuse(call, &format!("{} cannot be converted to {}", type_name(from), type_name(to))),
    };
    Ok(vec![request(&shape, dense(output, &shape), dense(input, &shape), change)])
}

fn identity(call: &OperatorCall) -> Result<Vec<RearrangeRequest>> {
    let ([input], [output]) = tensors(call)?;
    let shape = shape(call, &output.description)?;
    if shape != self::shape(call, &input.description)? {
        return refuse(call, "the shapes differ");
    }
    let change = same(call, input, output)?;
    Ok(vec![request(&shape, dense(output, &shape), dense(input, &shape), change)])
}

fn transpose(call: &OperatorCall) -> Result<Vec<RearrangeRequest>> {
    let ([input, order], [output]) = tensors(call)?;
    let order = sizes(call, order, "perm")?;
    let (from, to) = (shape(call, &input.description)?, shape(call, &output.description)?);
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if !sorted.into_iter().eq(0..from.len()) || !order.iter().map(|axis| from[*axis]).eq(to.iter().copied()) {
        return refuse(call, &format!("perm {order:?} does not turn one shape into the other"));
    }
    let mut source = dense(input, &from);
    source.strides = order.iter().map(|axis| source.strides[*axis]).collect();
    Ok(vec![request(&to, dense(output, &to), source, same(call, input, output)?)])
}

fn slice(call: &OperatorCall) -> Result<Vec<RearrangeRequest>> {
    let ([input, offsets, lengths], [output]) = tensors(call)?;
    let (offsets, lengths) = (sizes(call, offsets, "offsets")?, integers(call, lengths, "size")?);
    let (from, to) = (shape(call, &input.description)?, shape(call, &output.description)?);
    if offsets.len() != from.len() || lengths.len() != from.len() || to.len() != from.len() {
        return refuse(call, "offsets, size and the shapes have different ranks");
    }
    for axis in 0..from.len() {
        let requested = if lengths[axis] == -1 {
            from[axis].checked_sub(offsets[axis])
        } else {
            usize::try_from(lengths[axis]).ok()
        };
        if requested != Some(to[axis]) || offsets[axis].checked_add(to[axis]).is_none_or(|end| end > from[axis]) {
            return refuse(call, &format!("offsets {offsets:?} and size {lengths:?} leave the input"));
        }
    }
    let mut source = dense(input, &from);
    source.offset = offsets.iter().zip(&source.strides).map(|(offset, stride)| offset * stride).sum();
    Ok(vec![request(&to, dense(output, &to), source, same(call, input, output)?)])
}

/// Each mask has one bit per dimension: the slice begins at its start, ends at its end, or takes one element of it and
/// drops it from the output.
fn strided_slice(call: &OperatorCall) -> Result<Vec<RearrangeRequest>> {
    let ([input, begins, ends, steps], [output]) = tensors(call)?;
    let mask = |name: &str| match call.attributes.get(name) {
        None => Ok(0),
        Some(Value::Int(mask)) => Ok(*mask),
        Some(_) => refuse(call, &format!("{name} is not an integer")),
    };
    if mask("ellipsis_mask")? != 0 || mask("new_axis_mask")? != 0 {
        return refuse(call, "ellipsis_mask and new_axis_mask are not supported");
    }
    let (from_start, to_end, taken) = (mask("begin_mask")?, mask("end_mask")?, mask("shrink_axis_mask")?);
    let (begins, ends, steps) =
        (sizes(call, begins, "begin")?, sizes(call, ends, "end")?, sizes(call, steps, "strides")?);
    let (from, to) = (shape(call, &input.description)?, shape(call, &output.description)?);
    if [begins.len(), ends.len(), steps.len()] != [from.len(); 3] {
        return refuse(call, "begin, end, strides and the input have different ranks");
    }
    let mut source = dense(input, &from);
    let (mut kept, mut strides) = (Vec::new(), Vec::new());
    for axis in 0..from.len() {
        let has = |mask: i64| mask >> axis.min(63) & 1 == 1;
        let begin = if has(from_start) && !has(taken) { 0 } else { begins[axis] };
        let end = if has(to_end) { from[axis] } else { ends[axis].min(from[axis]) };
        if steps[axis] == 0 || has(taken) && begin >= from[axis] {
            return refuse(call, &format!("begin {begins:?} or strides {steps:?} leave the input"));
        }
        source.offset += begin * source.strides[axis];
        if !has(taken) {
            kept.push(end.saturating_sub(begin).div_ceil(steps[axis]));
            strides.push(source.strides[axis] * steps[axis]);
        }
    }
    if kept != to {
        return refuse(call, &format!("begin {begins:?}, end {ends:?} and strides {steps:?} give {kept:?}"));
    }
    source.strides = strides;
    Ok(vec![request(&to, dense(output, &to), source, same(call, input, output)?)])
}

fn as_strided(call: &OperatorCall) -> Result<Vec<RearrangeRequest>> {
    let ([input, lengths, strides, offset], [output]) = tensors(call)?;
    let source = view(call, input, strides, offset)?;
    let to = shape(call, &output.description)?;
    if sizes(call, lengths, "size")? != to {
        return refuse(call, "size is not the shape of the output");
    }
    Ok(vec![request(&to, dense(output, &to), source, same(call, input, output)?)])
}

/// Source and target have shape, strides and offset. The output is the memory of the first input.
fn view_copy(call: &OperatorCall) -> Result<Vec<RearrangeRequest>> {
    let ([target, to_lengths, to_strides, to_offset, source, from_lengths, from_strides, from_offset], [output]) =
        tensors(call)?;
    if target.address != output.address {
        return refuse(call, "the output is not the memory of the first input");
    }
    let lengths = sizes(call, to_lengths, "dst_size")?;
    if lengths != sizes(call, from_lengths, "src_size")? {
        return refuse(call, "dst_size and src_size differ");
    }
    let change = same(call, source, target)?;
    let to = view(call, target, to_strides, to_offset)?;
    let from = view(call, source, from_strides, from_offset)?;
    Ok(vec![request(&lengths, to, from, change)])
}

fn concatenate(call: &OperatorCall) -> Result<Vec<RearrangeRequest>> {
    let [output] = &call.outputs[..] else { return refuse(call, "exactly one output is required") };
    let whole = shape(call, &output.description)?;
    let axis = match call.attributes.get("concat_dim") {
        Some(Value::Int(axis)) if *axis < 0 => usize::try_from(*axis + whole.len() as i64).ok(),
        Some(Value::Int(axis)) => usize::try_from(*axis).ok(),
        _ => None,
    };
    let Some(axis) = axis.filter(|axis| *axis < whole.len()) else {
        return refuse(call, "concat_dim is not a dimension of the output");
    };
    let mut at = 0;
    let mut requests = Vec::new();
    for input in &call.inputs {
        let part = shape(call, &input.description)?;
        let fits = part.len() == whole.len()
            && (0..whole.len()).all(|other| other == axis || part[other] == whole[other])
            && at + part[axis] <= whole[axis];
        if !fits {
            return refuse(call, "an input does not fit into the output");
        }
        let mut target = dense(output, &whole);
        target.offset = at * target.strides[axis];
        at += part[axis];
        requests.push(request(&part, target, dense(input, &part), same(call, input, output)?));
    }
    if at != whole[axis] {
        return refuse(call, "the inputs do not fill the output");
    }
    Ok(requests)
}

/// Writes the value everywhere, then the input into the middle. The paddings are pairs, of one dimension after another.
fn pad(call: &OperatorCall) -> Result<Vec<RearrangeRequest>> {
    let ([input, paddings, value], [output]) = tensors(call)?;
    let is_constant =
        call.attributes.get("mode").is_none_or(|mode| matches!(mode, Value::Text(mode) if mode == "constant"));
    let is_pairs = !matches!(call.attributes.get("paddings_contiguous"), Some(Value::Bool(false)));
    if !is_constant || !is_pairs {
        return refuse(call, "only the mode constant, with pairs of paddings, is supported");
    }
    let paddings = sizes(call, paddings, "paddings")?;
    let (from, to) = (shape(call, &input.description)?, shape(call, &output.description)?);
    let pairs = paddings.as_chunks::<2>().0;
    let fits = pairs.len() == from.len()
        && to.len() == from.len()
        && (0..to.len()).all(|axis| pairs[axis][0].checked_add(from[axis] + pairs[axis][1]) == Some(to[axis]));
    if !fits {
        return refuse(call, &format!("the paddings {paddings:?} do not turn one shape into the other"));
    }
    let mut target = dense(output, &to);
    target.offset = pairs.iter().zip(&target.strides).map(|(pair, stride)| pair[0] * stride).sum();
    Ok(vec![filled(call, value, output, to)?, request(&from, target, dense(input, &from), same(call, input, output)?)])
}

fn fill(call: &OperatorCall) -> Result<Vec<RearrangeRequest>> {
    let ([lengths, value], [output]) = tensors(call)?;
    let to = shape(call, &output.description)?;
    // A scalar is described as one element, and requested as a list of one.
    let requested: usize = sizes(call, lengths, "dims")?.iter().product();
    if requested != to.iter().product::<usize>() {
        return refuse(call, "dims is not the shape of the output");
    }
    Ok(vec![filled(call, value, output, to)?])
}

/// Writes a value to every element of the output.
fn filled(call: &OperatorCall, value: &Tensor, output: &Tensor, shape: Vec<usize>) -> Result<RearrangeRequest> {
    let change = same(call, value, output)?;
    let is_on_device = value.description.constant.is_none() && value.description.placement == ACL_MEMTYPE_DEVICE;
    let source = if is_on_device {
        // Read when the task runs: one element, which every step of the shape reaches again.
        TensorSource::View(TensorView { strides: vec![0; shape.len()], ..dense(value, &[]) })
    } else {
        let mut bytes = host_bytes(call, value, "value")?;
        bytes.truncate(aclDataTypeSize(value.description.data_type));
        TensorSource::Value(bytes)
    };
    Ok(RearrangeRequest { target: dense(output, &shape), shape, source, change })
}

fn like(call: &OperatorCall, value: u8) -> Result<Vec<RearrangeRequest>> {
    let ([_], [output]) = tensors(call)?;
    let to = shape(call, &output.description)?;
    let Some(kind) = scalar(output.description.data_type) else {
        return refuse(call, &format!("{} is not supported here", type_name(output.description.data_type)));
    };
    let change = ElementChange::Convert { from: Scalar::Uint8, to: kind };
    Ok(vec![RearrangeRequest {
        target: dense(output, &to),
        shape: to,
        source: TensorSource::Value(vec![value]),
        change,
    }])
}

fn request(shape: &[usize], target: TensorView, source: TensorView, change: ElementChange) -> RearrangeRequest {
    RearrangeRequest { shape: shape.to_vec(), target, source: TensorSource::View(source), change }
}

fn refuse<T>(call: &OperatorCall, why: &str) -> Result<T> {
    fail(Error::Parameter(format!("{why}: {}", call.describe())))
}

/// Returns the tensors of an operator that takes `I` inputs and `O` outputs.
fn tensors<const I: usize, const O: usize>(call: &OperatorCall) -> Result<([&Tensor; I], [&Tensor; O])> {
    let inputs: Vec<&Tensor> = call.inputs.iter().collect();
    let outputs: Vec<&Tensor> = call.outputs.iter().collect();
    match (inputs.try_into(), outputs.try_into()) {
        (Ok(inputs), Ok(outputs)) => Ok((inputs, outputs)),
        _ => refuse(call, &format!("it takes {I} inputs and {O} outputs")),
    }
}

fn shape(call: &OperatorCall, description: &Description) -> Result<Vec<usize>> {
    let known = description.dimensions.iter().map(|dimension| usize::try_from(*dimension)).collect();
    match known {
        Ok(shape) if description.elements().is_some() => Ok(shape),
        _ => refuse(call, "a dimension is not known"),
    }
}

/// Returns a dense view of a tensor.
fn dense(tensor: &Tensor, shape: &[usize]) -> TensorView {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis].max(1);
    }
    TensorView { address: tensor.address, size: tensor.size, offset: 0, strides }
}

/// Returns a view of a tensor with explicit strides and offset.
fn view(call: &OperatorCall, tensor: &Tensor, strides: &Tensor, offset: &Tensor) -> Result<TensorView> {
    let strides = sizes(call, strides, "stride")?;
    let [offset] = sizes(call, offset, "storage offset")?[..] else {
        return refuse(call, "exactly one storage offset is required");
    };
    Ok(TensorView { address: tensor.address, size: tensor.size, offset, strides })
}

/// Returns the change of elements that are copied unmodified.
fn same(call: &OperatorCall, one: &Tensor, other: &Tensor) -> Result<ElementChange> {
    if one.description.data_type != other.description.data_type {
        return refuse(call, "the types differ");
    }
    keep(call, one.description.data_type)
}

fn keep(call: &OperatorCall, data_type: i32) -> Result<ElementChange> {
    match aclDataTypeSize(data_type) {
        0 => refuse(call, &format!("elements of {} are not whole bytes", type_name(data_type))),
        size => Ok(ElementChange::Keep(size)),
    }
}

fn scalar(data_type: i32) -> Option<Scalar> {
    Some(match data_type {
        ACL_BOOL => Scalar::Bool,
        ACL_INT8 => Scalar::Int8,
        ACL_INT16 => Scalar::Int16,
        ACL_INT32 => Scalar::Int32,
        ACL_INT64 => Scalar::Int64,
        ACL_UINT8 => Scalar::Uint8,
        ACL_FLOAT16 => Scalar::Float16,
        ACL_BF16 => Scalar::Bfloat16,
        ACL_FLOAT => Scalar::Float32,
        ACL_DOUBLE => Scalar::Float64,
        _ => return None,
    })
}

/// Accepts formats whose elements are in the order of the dimensions.
fn check_format(description: &Description) -> Result<()> {
    let plain = [
        ACL_FORMAT_UNDEFINED,
        ACL_FORMAT_NCHW,
        ACL_FORMAT_NHWC,
        ACL_FORMAT_ND,
        ACL_FORMAT_HWCN,
        ACL_FORMAT_NDHWC,
        ACL_FORMAT_NCDHW,
        ACL_FORMAT_NC,
        ACL_FORMAT_NCL,
    ];
    let stored = description.storage.as_ref().map_or(description.format, |(format, _)| *format);
    if plain.contains(&stored) {
        return Ok(());
    }
    fail(Error::Feature(format!("a tensor is stored in format {stored}, which is not a plain format ({plain:?})")))
}

/// Returns the bytes of an input whose value is required at the call.
fn host_bytes(call: &OperatorCall, tensor: &Tensor, what: &str) -> Result<Vec<u8>> {
    let Description { constant, placement, .. } = &tensor.description;
    if let Some(constant) = constant {
        return try_collect(constant.iter().copied().map(Ok), "a small input");
    }
    if *placement == ACL_MEMTYPE_DEVICE {
        return refuse(call, &format!("{what} is in device memory; it must be on the host"));
    }
    // SAFETY: the program describes the buffer as readable until the operator was called.
    let Some(bytes) = (unsafe { Option::<InPtr<u8>>::from_program(tensor.address as *const u8, "a small input") })?
    else {
        return refuse(call, &format!("{what} has no data"));
    };
    let guard = segv::enter();
    try_collect(bytes.array(tensor.size, &guard)?.iter().copied().map(Ok), "a small input")
}

fn integers(call: &OperatorCall, tensor: &Tensor, what: &str) -> Result<Vec<i64>> {
    let bytes = host_bytes(call, tensor, what)?;
    let wanted = tensor.description.elements();
    let mut values: Vec<i64> = match tensor.description.data_type {
        ACL_INT64 => bytes.as_chunks().0.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect(),
        ACL_INT32 => bytes.as_chunks().0.iter().map(|bytes| i32::from_le_bytes(*bytes).into()).collect(),
        other => return refuse(call, &format!("{what} is a {}, not an integer", type_name(other))),
    };
    match wanted {
        Some(wanted) if wanted <= values.len() => {
            values.truncate(wanted);
            Ok(values)
        }
        _ => refuse(call, &format!("{what} has less data than its description says")),
    }
}

fn sizes(call: &OperatorCall, tensor: &Tensor, what: &str) -> Result<Vec<usize>> {
    let values = integers(call, tensor, what)?;
    match values.iter().map(|value| usize::try_from(*value)).collect() {
        Ok(sizes) => Ok(sizes),
        Err(_) => refuse(call, &format!("{what} {values:?} has a negative number")),
    }
}
