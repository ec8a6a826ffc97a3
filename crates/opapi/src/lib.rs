//! `libopapi.so`, also called `libnnopbase.so`: the operator interface (aclnn), computed on the CPU.
//!
//! An operator has two phases. Phase one reads its arguments, checks them and makes a plan: what is read, what is
//! written, and the work (`operators`). Phase two queues the plan as a kernel of the runtime, with its ranges, so that
//! it is ordered, captured, checked and traced like a copy. This library is a client of `libascendcl.so` through its C
//! interface; it has no engine. The objects are those of `nnopbase`, which is linked in: one shared object under two
//! names has one table of objects, whichever name a program loads.
//!
//! `tables/operators.tsv` has one row per operator; the build script makes the C functions of both phases from it.

#![allow(non_snake_case)]
// The headers state what C programs promise; what can be checked is checked.
#![allow(clippy::missing_safety_doc, clippy::too_many_arguments)]

pub mod core;

mod argument;
mod entry;
mod operators;
mod refusal;
mod runtime;
pub mod weight;

/// The C functions.
pub mod exports {
    use crate::argument::Arguments;
    use crate::entry::{launch, prepare};
    use crate::operators::prelude::*;
    use crate::refusal::refuse;
    use nnopbase::objects::Role;
    use nnopbase::status::Status;
    use std::ffi::c_void;

    include!(concat!(env!("OUT_DIR"), "/exports.rs"));
}

// The objects are part of this library: their functions must be exported, too.
pub use nnopbase::{executor, init, lists, tensor, values};
