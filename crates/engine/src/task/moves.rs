//! Moves: tasks that read or write memory, and nothing else. All but kernels only move bytes.
//!
//! The arguments of a move were validated before it was created. What can still fail is what the device finds when the
//! move runs: the contents of descriptors, and pages that are no longer mapped.

use crate::executor::spans::Spans;
use crate::task::descriptor::{DescriptorForm, Indirect, described};
use crate::task::kernel::Kernel;
use crate::task::kind::TaskKind;
use crate::task::random::RandomTask;
use softacl_errors::{Error, Result};
use softacl_memory::Memory;
use softacl_memory::bytes::rearrange::Rearrangement;
use softacl_memory::bytes::reduce::{Element, ReduceOp};
use softacl_memory::bytes::{self, AccessFault, Span};
use softacl_memory::touch::{Mode, Touch};
use std::sync::Arc;

/// A task that reads or writes memory.
#[derive(Debug)]
pub(crate) enum Move {
    Copy(Span),
    /// Entries in no particular order.
    Batch(Box<Batch>),
    Plane(Box<Plane>),
    /// A copy from a buffer that was filled when the task was created.
    Staged {
        buffer: Box<[u8]>,
        target: usize,
    },
    Fill {
        target: usize,
        byte: u8,
        len: usize,
    },
    FillWords {
        target: usize,
        word: u32,
        count: usize,
    },
    Reduce(Box<Reduction>),
    Rearrange(Box<Rearranged>),
    /// A copy whose descriptor is read when it runs.
    Described {
        descriptor: usize,
        form: DescriptorForm,
    },
    /// A copy whose addresses are read from device memory when it runs.
    Indirect(Box<Indirect>),
    /// Fills memory with random numbers.
    Random(Box<RandomTask>),
    /// Runs code of the program on declared ranges.
    Kernel(Arc<Kernel>),
    /// Writes a value that streams may wait for.
    WriteValue {
        target: usize,
        value: u64,
    },
}

impl Move {
    /// True if the move accesses one of the `len` bytes with the backing address `start`. Copies that read their
    /// addresses when they run validate them then, and are not included.
    pub(crate) fn touches(&self, start: usize, len: usize) -> bool {
        let meets = |at: usize, size: usize| at < start + len && start < at + size;
        let span = |span: &Span| meets(span.target, span.len) || meets(span.source, span.len);
        match self {
            Move::Copy(copy) => span(copy),
            Move::Batch(batch) => batch.spans.iter().any(span),
            Move::Plane(plane) => {
                let rows = plane.height - 1;
                meets(plane.target, rows * plane.target_pitch + plane.width)
                    || meets(plane.source, rows * plane.source_pitch + plane.width)
            }
            Move::Staged { buffer, target } => meets(*target, buffer.len()),
            Move::Fill { target, len, .. } => meets(*target, *len),
            Move::FillWords { target, count, .. } => meets(*target, 4 * count),
            Move::WriteValue { target, .. } => meets(*target, size_of::<u64>()),
            Move::Reduce(reduction) => meets(reduction.target, reduction.len) || meets(reduction.source, reduction.len),
            Move::Random(random) => meets(random.target, random.len()),
            Move::Kernel(kernel) => kernel.touches(start, len),
            Move::Rearrange(rearranged) => rearranged.plan.extents().iter().any(|(at, size)| meets(*at, *size)),
            Move::Described { .. } | Move::Indirect(_) => false,
        }
    }

    /// Bytes that a copy moves; 0 for everything else.
    pub(crate) fn volume(&self) -> usize {
        match self {
            Move::Copy(span) => span.len,
            Move::Batch(batch) => batch.bytes,
            Move::Plane(plane) => plane.width * plane.height,
            _ => 0,
        }
    }

    /// Display name. Observers and graph updates compare it.
    pub(crate) fn kind(&self) -> TaskKind {
        match self {
            Move::Copy(_) | Move::Staged { .. } => TaskKind::Copy,
            Move::Batch(_) => TaskKind::BatchCopy,
            Move::Plane(_) => TaskKind::PlaneCopy,
            Move::Fill { .. } | Move::FillWords { .. } => TaskKind::MemorySet,
            Move::Reduce(_) => TaskKind::Reduction,
            Move::Rearrange(_) => TaskKind::TensorCopy,
            Move::Described { .. } => TaskKind::DescriptorCopy,
            Move::Indirect(_) => TaskKind::IndirectCopy,
            Move::Random(_) => TaskKind::RandomNumbers,
            Move::Kernel(_) => TaskKind::Kernel,
            Move::WriteValue { .. } => TaskKind::ValueWrite,
        }
    }

    /// Ranges that the move reads and writes. Copies that read their addresses when they run are evaluated with the
    /// current contents of device memory.
    pub(crate) fn accesses(&self, memory: &Memory) -> Vec<Touch> {
        match self {
            Move::Copy(span) => memory.touches_of(span).to_vec(),
            Move::Batch(batch) => batch.spans.iter().flat_map(|span| memory.touches_of(span)).collect(),
            Move::Plane(plane) => (0..plane.height).flat_map(|row| memory.touches_of(&plane.row(row))).collect(),
            Move::Staged { buffer, target } => vec![memory.touch(*target, buffer.len(), Mode::Write)],
            Move::Fill { target, len, .. } => vec![memory.touch(*target, *len, Mode::Write)],
            Move::FillWords { target, count, .. } => vec![memory.touch(*target, 4 * count, Mode::Write)],
            Move::Reduce(reduction) => vec![
                memory.touch(reduction.source, reduction.len, Mode::Read),
                memory.touch(reduction.target, reduction.len, Mode::Read),
                memory.touch(reduction.target, reduction.len, Mode::Write),
            ],
            Move::Rearrange(rearranged) => {
                let [reads, writes] = rearranged.ranges();
                let reads = reads.into_iter().map(|(at, len)| memory.touch(at, len, Mode::Read));
                reads.chain(writes.into_iter().map(|(at, len)| memory.touch(at, len, Mode::Write))).collect()
            }
            // The addresses themselves come last (`TaskKind::indirect_touches`).
            Move::Described { descriptor, form } => {
                let span = described(memory, *descriptor, *form).ok();
                let own = Touch { address: *descriptor, len: form.size(), mode: Mode::Read };
                span.iter().flat_map(|span| memory.touches_of(span)).chain([own]).collect()
            }
            Move::Indirect(indirect) => {
                let span = indirect.resolve(memory).ok();
                let cell = |address| Touch { address, len: size_of::<usize>(), mode: Mode::Read };
                let own = [cell(indirect.source_cell), cell(indirect.target_cell)];
                span.iter().flat_map(|span| memory.touches_of(span)).chain(own).collect()
            }
            Move::Random(random) => vec![memory.touch(random.target, random.len(), Mode::Write)],
            Move::Kernel(kernel) => kernel.accesses(memory),
            // No ranges: values order streams, so concurrent writes and reads are their purpose.
            Move::WriteValue { .. } => Vec::new(),
        }
    }

    /// Copies the move for another run of a graph. The copy may borrow from the original, which must outlive it.
    pub(crate) fn try_clone(&self) -> Result<Move> {
        Ok(match self {
            Move::Copy(span) => Move::Copy(*span),
            Move::Batch(batch) => Move::Batch(Box::new(batch.try_clone()?)),
            Move::Plane(plane) => Move::Plane(plane.clone()),
            // The buffer stays with the original, which outlives the clone.
            Move::Staged { buffer, target } => {
                Move::Copy(Span { target: *target, source: buffer.as_ptr() as usize, len: buffer.len() })
            }
            Move::Fill { target, byte, len } => Move::Fill { target: *target, byte: *byte, len: *len },
            Move::FillWords { target, word, count } => Move::FillWords { target: *target, word: *word, count: *count },
            Move::Reduce(reduction) => Move::Reduce(reduction.clone()),
            // The value stays with the original, which outlives the clone.
            Move::Rearrange(rearranged) => Move::Rearrange(Box::new(rearranged.try_clone())),
            Move::Described { descriptor, form } => Move::Described { descriptor: *descriptor, form: *form },
            Move::Indirect(indirect) => Move::Indirect(indirect.clone()),
            Move::Random(random) => Move::Random(random.clone()),
            Move::Kernel(kernel) => Move::Kernel(Arc::clone(kernel)),
            Move::WriteValue { target, value } => Move::WriteValue { target: *target, value: *value },
        })
    }
}

/// Several copies that are one task.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) spans: Spans,
    pub(crate) bytes: usize,
}

impl Batch {
    /// Copies the list for another run of a graph. Fails if there is no memory for it.
    pub(crate) fn try_clone(&self) -> Result<Batch> {
        let none = || Error::NoHostBuffer { what: "a batch", asked: self.spans.len() * size_of::<Span>() };
        Ok(Batch { spans: self.spans.try_clone().ok_or_else(none)?, bytes: self.bytes })
    }
}

/// Rows of equal width: a 2D copy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plane {
    pub(crate) target: usize,
    pub(crate) target_pitch: usize,
    pub(crate) source: usize,
    pub(crate) source_pitch: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// An element-wise reduction.
#[derive(Debug, Clone)]
pub(crate) struct Reduction {
    pub(crate) target: usize,
    pub(crate) source: usize,
    pub(crate) len: usize,
    pub(crate) element: Element,
    pub(crate) operation: ReduceOp,
}

/// Returns a constructor of the error for a span that was not accessible.
pub(crate) fn inaccessible(span: Span) -> impl FnOnce(AccessFault) -> Error {
    move |AccessFault| Error::Inaccessible { side: "source or destination", address: span.source, len: span.len }
}

impl Plane {
    pub(crate) fn row(&self, index: usize) -> Span {
        Span {
            target: self.target + index * self.target_pitch,
            source: self.source + index * self.source_pitch,
            len: self.width,
        }
    }
}

impl Reduction {
    pub(crate) fn run(&self) -> Result<()> {
        let Reduction { target, source, len, element, operation } = *self;
        let span = Span { target, source, len };
        // SAFETY: the ranges come from a request of a `Caller` and were resolved and bounded by `copy`.
        Ok(unsafe { bytes::reduce::reduce(target, source, len, element, operation) }.map_err(inaccessible(span))?)
    }
}

/// A rearrangement, with the value that it reads if its source is a constant.
#[derive(Debug)]
pub(crate) struct Rearranged {
    pub(crate) plan: Rearrangement,
    /// Source value. The plan contains its address, so it must not move while the plan exists.
    pub(crate) value: Option<Box<[u8]>>,
    /// True if the source is a constant, held here or by the original of this clone.
    pub(crate) is_constant: bool,
}

impl Rearranged {
    /// Copies the rearrangement for another run. The original must outlive the copy, because it keeps the value.
    pub(crate) fn try_clone(&self) -> Rearranged {
        debug_assert!(self.value.is_some() || !self.is_constant, "only the original is cloned");
        Rearranged { plan: self.plan.clone(), value: None, is_constant: self.is_constant }
    }

    /// Ranges that are read (none for a constant) and ranges that are written. Empty if there are too many to list; the
    /// checker then proves nothing about them.
    pub(crate) fn ranges(&self) -> [Vec<(usize, usize)>; 2] {
        const MAX_COMPARED_ELEMENTS: usize = 1 << 14;
        [false, true].map(|is_target| match self.is_constant && !is_target {
            true => Vec::new(),
            false => self.plan.ranges(is_target, MAX_COMPARED_ELEMENTS).unwrap_or_default(),
        })
    }
}
