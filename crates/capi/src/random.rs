//! Random numbers as tasks of a stream. The numbers have the requested distribution, but not the values of a card.

use crate::argument::InPtr;
use crate::entry::export;
use ascendcl_sys::*;
use softacl_engine::{Distribution, Error, RandomElement, RandomParameter, RandomRequest, Result, fail};
use std::ffi::c_void;

export! {
    fn aclrtRandomNumAsync(info: InPtr<aclrtRandomNumTaskInfo>, stream: aclrtStream, reserve: *mut c_void) |call| {
        let info = info.read()?;
        if !reserve.is_null() {
            return fail(Error::Argument("reserve must be NULL".to_owned()));
        }
        if info.randomResultAddr.is_null() {
            return fail(Error::Null("randomResultAddr"));
        }
        call.require_supported()?;
        let (element, element_size) = match info.dataType {
            ACL_FLOAT => (RandomElement::Float32, 4),
            ACL_FLOAT16 => (RandomElement::Float16, 2),
            ACL_BF16 => (RandomElement::Bfloat16, 2),
            other => return fail(Error::Feature(format!("data type {other} is not FLOAT, FLOAT16 or BF16"))),
        };
        let function = info.randomNumFuncParaInfo;
        let (distribution, count) = match function.funcType {
            ACL_RT_RANDOM_NUM_FUNC_TYPE_DROPOUT_BITMASK => (Distribution::DropoutMask, 1),
            ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS => (Distribution::Uniform, 2),
            ACL_RT_RANDOM_NUM_FUNC_TYPE_NORMAL_DIS => (Distribution::Normal, 2),
            ACL_RT_RANDOM_NUM_FUNC_TYPE_TRUNCATED_NORMAL_DIS => (Distribution::TruncatedNormal, 2),
            other => return fail(Error::Parameter(format!("distribution {other} is not in 0 to 3"))),
        };
        let first = parameter(function.paramInfo[0], &[element_size])?;
        let second = if count == 2 { parameter(function.paramInfo[1], &[element_size])? } else { first };
        let request = RandomRequest {
            distribution,
            element,
            parameters: [first, second],
            seed: parameter(info.randomSeed, &[4, 8])?,
            count: parameter(info.randomNum, &[4, 8])?,
            counter: info.randomCounterAddr as usize,
            target: info.randomResultAddr as usize,
        };
        call.generate_random(request, stream as usize)
    }
}

/// Reads a parameter: a value of `size` bytes, or the address of one.
fn parameter(given: aclrtRandomParaInfo, sizes: &[u8]) -> Result<RandomParameter> {
    if !sizes.contains(&given.size) {
        let sizes = sizes.iter().map(u8::to_string).collect::<Vec<_>>().join(" or ");
        return fail(Error::Parameter(format!("a parameter has {} bytes, and must have {sizes}", given.size)));
    }
    let len = usize::from(given.size);
    match given.isAddr {
        0 => {
            let mut value = [0; 8];
            value[..len].copy_from_slice(&given.valueOrAddr[..len]);
            Ok(RandomParameter::Value(value))
        }
        1 => Ok(RandomParameter::Memory(usize::from_ne_bytes(given.valueOrAddr), len)),
        other => fail(Error::Parameter(format!("isAddr is {other}, and must be 0 or 1"))),
    }
}
