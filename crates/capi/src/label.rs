//! Labels and switches of graphs that are built.

use crate::argument::{InMutPtr, NonNullArg, OutPtr};
use crate::entry::export;
use ascendcl_sys::*;
use softacl_engine::{Comparison, Error, fail, segv};
use std::ffi::c_void;

/// Maximum number of labels in a list. Not a documented limit.
const MAX_LABELS: usize = 65_535;

export! {
    fn aclrtCreateLabel(label: OutPtr<aclrtLabel>) |call| {
        call.require_supported()?;
        let key = call.create_label()?;
        label.set_or(key.raw() as *mut c_void, || drop(call.destroy_label(key.raw())))
    }

    fn aclrtDestroyLabel(label: NonNullArg) |call| {
        call.require_supported()?;
        call.destroy_label(label.address())
    }

    fn aclrtSetLabel(label: NonNullArg, stream: NonNullArg) |call| {
        call.require_supported()?;
        call.set_label(label.address(), stream.address())
    }

    fn aclrtCreateLabelList(labels: InMutPtr<aclrtLabel>, count: usize, list: OutPtr<aclrtLabelList>) |call| {
        if !(1..=MAX_LABELS).contains(&count) {
            return fail(Error::Parameter(format!("a list has 1 to {MAX_LABELS} labels, not {count}")));
        }
        let labels: Vec<usize> = labels.array(count, &segv::enter())?.iter().map(|label| *label as usize).collect();
        call.require_supported()?;
        let key = call.create_label_list(&labels)?;
        list.set_or(key.raw() as *mut c_void, || drop(call.destroy_label_list(key.raw())))
    }

    fn aclrtDestroyLabelList(list: NonNullArg) |call| {
        call.require_supported()?;
        call.destroy_label_list(list.address())
    }

    fn aclrtSwitchLabelByIndex(index: NonNullArg, count: u32, list: NonNullArg, stream: NonNullArg) |call| {
        call.require_supported()?;
        call.switch_label(index.address(), count, list.address(), stream.address())
    }

    fn aclrtActiveStream(target: NonNullArg, stream: NonNullArg) |call| {
        call.require_supported()?;
        call.activate_stream(target.address(), stream.address())
    }

    /// NULL for one of the two streams continues with the stream of the switch.
    fn aclrtSwitchStream(
        left: NonNullArg, condition: i32, right: NonNullArg, width: i32,
        on_true: aclrtStream, on_false: aclrtStream, stream: NonNullArg
    ) |call| {
        let comparison = match condition {
            ACL_RT_EQUAL => Comparison::Equal,
            ACL_RT_NOT_EQUAL => Comparison::NotEqual,
            ACL_RT_GREATER => Comparison::Greater,
            ACL_RT_GREATER_OR_EQUAL => Comparison::GreaterOrEqual,
            ACL_RT_LESS => Comparison::Less,
            ACL_RT_LESS_OR_EQUAL => Comparison::LessOrEqual,
            _ => return fail(Error::Parameter(format!("condition {condition} does not exist; conditions are 0 to 5"))),
        };
        let is_wide = match width {
            ACL_RT_SWITCH_INT32 => false,
            ACL_RT_SWITCH_INT64 => true,
            _ => return fail(Error::Parameter(format!("data type {width} is neither 0 (int32) nor 1 (int64)"))),
        };
        call.require_supported()?;
        let (values, targets) = ([left.address(), right.address()], [on_true as usize, on_false as usize]);
        call.switch_stream(values, comparison, is_wide, targets, stream.address())
    }
}
