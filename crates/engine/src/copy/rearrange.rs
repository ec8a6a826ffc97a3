//! Copies of tensors between layouts and types, and fills of tensors with one value: the operators that only move
//! memory. They stay on one device.

use crate::caller::Caller;
use crate::task::moves::{Move, Rearranged};
use softacl_errors::{Error, Result, fail};
use softacl_memory::ResolvedAddress;
use softacl_memory::bytes::convert::Scalar;
use softacl_memory::bytes::rearrange::{ElementOp, Layout, MAX_ELEMENT, Rearrangement};

/// One side of a rearrangement: elements with a constant stride in every dimension.
#[derive(Debug, Clone)]
pub struct TensorView {
    pub address: usize,
    /// Bytes at the address, as the program declares them.
    pub size: usize,
    /// Elements before the first one.
    pub offset: usize,
    /// Elements between neighbors, per dimension.
    pub strides: Vec<usize>,
}

/// What happens to an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementChange {
    /// Copies this number of bytes unchanged.
    Keep(usize),
    Convert {
        from: Scalar,
        to: Scalar,
    },
}

/// A rearrangement, as the program passes it.
#[derive(Debug, Clone)]
pub struct RearrangeRequest {
    pub shape: Vec<usize>,
    pub target: TensorView,
    pub source: TensorSource,
    pub change: ElementChange,
}

/// Where the elements come from.
#[derive(Debug, Clone)]
pub enum TensorSource {
    View(TensorView),
    /// One value for all elements: the bytes of one element.
    Value(Vec<u8>),
}

impl Caller<'_> {
    /// Queues a rearrangement on a stream.
    pub fn rearrange_async(&self, request: &RearrangeRequest, stream: usize) -> Result<()> {
        let explicit = self.explicit_stream(stream)?;
        let at = self.submission(explicit)?;
        if at.stream.context() != Some(at.context) {
            return fail(self.machine.other_context("stream", at.stream, at.context));
        }
        if request.shape.contains(&0) {
            return Ok(());
        }
        let change = match request.change {
            ElementChange::Keep(size) if (1..=MAX_ELEMENT).contains(&size) => ElementOp::Keep(size),
            ElementChange::Keep(size) => {
                return fail(Error::Parameter(format!("an element has {size} bytes; 1 to {MAX_ELEMENT} are possible")));
            }
            ElementChange::Convert { from, to } => ElementOp::Convert { from, to },
        };
        let (from, to) = change.sizes();
        let (target, resolved_target) = self.layout("destination", &request.target, &request.shape, to)?;
        let task = match &request.source {
            TensorSource::View(view) => {
                let (source, resolved_source) = self.layout("source", view, &request.shape, from)?;
                if !resolved_target.place.is_device() || resolved_target.place != resolved_source.place {
                    return fail(Error::Parameter(format!(
                        "an operator works within one device, not from {} to {}",
                        resolved_source.describe(),
                        resolved_target.describe()
                    )));
                }
                let plan = Rearrangement::new(&request.shape, target, source, change);
                Move::Rearrange(Box::new(Rearranged { plan, value: None, is_constant: false }))
            }
            TensorSource::Value(value) => {
                if !resolved_target.place.is_device() {
                    return fail(Error::Parameter(format!(
                        "an operator works on a device, not on {}",
                        resolved_target.describe()
                    )));
                }
                if value.len() != from {
                    return fail(Error::Parameter(format!("the value has {} bytes, an element {from}", value.len())));
                }
                let value: Box<[u8]> = value.as_slice().into();
                let source = Layout { start: value.as_ptr() as usize, strides: vec![0; request.shape.len()] };
                let plan = Rearrangement::new(&request.shape, target, source, change);
                Move::Rearrange(Box::new(Rearranged { plan, value: Some(value), is_constant: true }))
            }
        };
        self.queue_between(at, [resolved_target.place; 2], task)
    }

    /// Resolves one side. Refuses a layout that exceeds the declared size or the allocation.
    fn layout(
        &self,
        side: &'static str,
        view: &TensorView,
        shape: &[usize],
        element: usize,
    ) -> Result<(Layout, ResolvedAddress)> {
        let impossible = || Box::new(Error::Parameter(format!("the {side} has a layout that no memory can hold")));
        if view.strides.len() != shape.len() {
            return fail(Error::Parameter(format!(
                "the {side} has {} strides for {} dimensions",
                view.strides.len(),
                shape.len()
            )));
        }
        let last = shape.iter().zip(&view.strides).try_fold(view.offset, |sum, (count, stride)| {
            (count - 1).checked_mul(*stride).and_then(|far| sum.checked_add(far))
        });
        let needed = last.and_then(|last| last.checked_add(1)?.checked_mul(element)).ok_or_else(impossible)?;
        if needed > view.size {
            return fail(Error::Parameter(format!(
                "the {side} needs {needed} bytes, but its data buffer has {}",
                view.size
            )));
        }
        let resolved = self.machine.memory.finder().find(side, view.address)?;
        resolved.covers(side, needed)?;
        let strides = view.strides.iter().map(|stride| stride * element).collect();
        Ok((Layout { start: resolved.reach + view.offset * element, strides }, resolved))
    }
}
