//! Reductions: element-wise operations on device memory.

use crate::caller::Caller;
use crate::copy::not_null;
use crate::task::moves::{Move, Reduction};
use softacl_errors::{Error, Result, fail};
use softacl_memory::bytes::reduce::{Element, ReduceOp};

/// Maximum size of a sum, in bytes (specification 1.10).
const MAX_SUM: usize = 4 << 30;

/// A reduction, as the program passes it.
#[derive(Debug, Clone, Copy)]
pub struct ReduceRequest {
    pub target: usize,
    pub source: usize,
    /// In bytes, not in elements.
    pub count: usize,
    /// 10 to 13: sum, maximum, minimum, equal.
    pub kind: i32,
    /// The `aclDataType` of the elements.
    pub element: i32,
    pub reserved: usize,
}

impl Caller<'_> {
    /// Queues a reduction on a stream.
    pub fn reduce_async(&self, request: ReduceRequest, stream: usize) -> Result<()> {
        let ReduceRequest { target, source, count, kind, element, reserved } = request;
        not_null(target, "dst")?;
        not_null(source, "src")?;
        if reserved != 0 {
            return fail(Error::Argument("reserve must be NULL".to_owned()));
        }
        let element = self.element(element)?;
        let explicit = self.explicit_stream(stream)?;
        if count == 0 {
            return fail(Error::Parameter("the reduction has no bytes (count is 0)".to_owned()));
        }
        let operation = match kind {
            10 => ReduceOp::Sum,
            11 => ReduceOp::Max,
            12 => ReduceOp::Min,
            13 => ReduceOp::Equal,
            _ => return fail(Error::Parameter(format!("reduce kind {kind} does not exist; kinds are 10 to 13"))),
        };
        if operation == ReduceOp::Sum && count > MAX_SUM {
            return fail(Error::Parameter(format!("{count} bytes are more than the 4 GiB of a sum")));
        }
        let at = self.submission(explicit)?;
        if at.stream.context() != Some(at.context) {
            return fail(self.machine.other_context("stream", at.stream, at.context));
        }
        let alignment = element.bytes();
        for (side, address) in [("destination", target), ("source", source)] {
            if address % alignment != 0 {
                return fail(Error::Unaligned { side, address, alignment });
            }
        }
        let finder = self.machine.memory.finder();
        let (to, from) = (finder.find("destination", target)?, finder.find("source", source)?);
        drop(finder);
        if !to.place.is_device() || to.place != from.place {
            return fail(Error::Parameter(format!(
                "a reduction works within one device, not from {} to {}",
                from.describe(),
                to.describe()
            )));
        }
        let span = self.span(to, from, count)?;
        let reduction = Reduction { target: span.target, source: span.source, len: count, element, operation };
        self.queue_between(at, [from.place, to.place], Move::Reduce(Box::new(reduction)))
    }

    /// Translates an `aclDataType`.
    fn element(&self, number: i32) -> Result<Element> {
        Ok(match number {
            0 => Element::Float32,
            1 => Element::Float16,
            2 => Element::Int8,
            3 => Element::Int32,
            4 => Element::Uint8,
            6 => Element::Int16,
            7 => Element::Uint16,
            8 => Element::Uint32,
            27 => Element::Bfloat16,
            29 => Element::Int4,
            _ => return fail(Error::Argument(format!("data type {number} cannot be reduced"))),
        })
    }
}
