//! Moving a tensor from one layout to another, converting its elements if that is asked for.
//!
//! Elements of a row lie at a constant distance on each side. Everything goes through a block of the engine, by
//! the routines of `bytes`, which alone touch device memory; bytes between the elements of the target are not
//! written, because they belong to others.

use super::convert::{BLOCK, Scalar, convert};
use super::{AccessFault, Span, copy, write};

/// Where the elements of a tensor are, in bytes.
#[derive(Debug, Clone)]
pub struct Layout {
    /// Where the first one is.
    pub start: usize,
    /// The distance of neighbours, for each dimension.
    pub strides: Vec<usize>,
}

/// What becomes of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementOp {
    /// So many bytes as they are; at most 16.
    Keep(usize),
    Convert {
        from: Scalar,
        to: Scalar,
    },
}

impl ElementOp {
    /// Bytes of an element in source and target.
    pub fn sizes(self) -> (usize, usize) {
        match self {
            ElementOp::Keep(size) => (size, size),
            ElementOp::Convert { from, to } => (from.bytes(), to.bytes()),
        }
    }
}

/// The largest element.
pub const MAX_ELEMENT: usize = 16;
/// Elements of the source this close are read with what lies between them.
const NEAR: usize = 64;

/// A tensor and where its elements go.
#[derive(Debug, Clone)]
pub struct Rearrangement {
    shape: Vec<usize>,
    target: Layout,
    source: Layout,
    change: ElementOp,
}

impl Rearrangement {
    /// The same elements in as few dimensions as possible. None of the dimensions may be 0.
    pub fn new(shape: &[usize], target: Layout, source: Layout, change: ElementOp) -> Rearrangement {
        let mut plan = Rearrangement {
            shape: Vec::new(),
            target: Layout { start: target.start, strides: Vec::new() },
            source: Layout { start: source.start, strides: Vec::new() },
            change,
        };
        for (index, size) in shape.iter().enumerate().filter(|(_, size)| **size != 1) {
            let (to, from) = (target.strides[index], source.strides[index]);
            // A dimension that goes on where the one inside it ends is part of it.
            let joins = plan.target.strides.last().is_some_and(|step| *step == to * size)
                && plan.source.strides.last().is_some_and(|step| *step == from * size);
            match plan.shape.last_mut().filter(|_| joins) {
                Some(outer) => {
                    *outer *= size;
                    let last = plan.shape.len() - 1;
                    (plan.target.strides[last], plan.source.strides[last]) = (to, from);
                }
                None => {
                    plan.shape.push(*size);
                    plan.target.strides.push(to);
                    plan.source.strides.push(from);
                }
            }
        }
        if plan.shape.is_empty() {
            let (from, to) = change.sizes();
            plan.shape.push(1);
            plan.target.strides.push(to);
            plan.source.strides.push(from);
        }
        plan
    }

    /// The bytes from the first element to the last, of source and target.
    pub fn extents(&self) -> [(usize, usize); 2] {
        let (from, to) = self.change.sizes();
        let reach = |layout: &Layout, size: usize| {
            let far: usize = self.shape.iter().zip(&layout.strides).map(|(count, step)| (count - 1) * step).sum();
            (layout.start, far + size)
        };
        [reach(&self.source, from), reach(&self.target, to)]
    }

    /// Unbroken ranges of one side; `None` when there are more than `limit`.
    pub fn ranges(&self, is_target: bool, limit: usize) -> Option<Vec<(usize, usize)>> {
        let (from, to) = self.change.sizes();
        let (layout, size) = if is_target { (&self.target, to) } else { (&self.source, from) };
        // A source that repeats an element names it once.
        let dimensions = self.shape.iter().zip(&layout.strides).filter(|(_, step)| **step != 0);
        let mut ranges = vec![(layout.start, size)];
        for (count, step) in dimensions.rev() {
            if let [(_, len)] = &mut ranges[..]
                && *len == *step
            {
                *len *= count;
                continue;
            }
            if ranges.len().checked_mul(*count).is_none_or(|total| total > limit) {
                return None;
            }
            let inner = std::mem::take(&mut ranges);
            ranges = (0..*count).flat_map(|n| inner.iter().map(move |(at, len)| (at + n * step, *len))).collect();
        }
        Some(ranges)
    }

    pub fn run(&self) -> Result<(), AccessFault> {
        let inner = self.shape.len() - 1;
        let mut index = vec![0; inner];
        loop {
            let at = |layout: &Layout| {
                layout.start + index.iter().zip(&layout.strides).map(|(n, step)| n * step).sum::<usize>()
            };
            self.row(at(&self.target), at(&self.source))?;
            // Counts up the outer dimensions, the last one fastest.
            let Some(turned) = (0..inner).rev().find(|d| index[*d] + 1 < self.shape[*d]) else { return Ok(()) };
            index[turned] += 1;
            index[turned + 1..].fill(0);
        }
    }

    /// One row of the innermost dimension.
    fn row(&self, target: usize, source: usize) -> Result<(), AccessFault> {
        let inner = self.shape.len() - 1;
        let (count, to_step, from_step) = (self.shape[inner], self.target.strides[inner], self.source.strides[inner]);
        let (from, to) = self.change.sizes();
        if let ElementOp::Keep(size) = self.change
            && to_step == size
            && from_step == size
        {
            return copy(Span { target, source, len: count * size });
        }
        let mut packed = [0; BLOCK * MAX_ELEMENT];
        let mut changed = [0; BLOCK * MAX_ELEMENT];
        let mut done = 0;
        while done < count {
            let part = BLOCK.min(count - done);
            gather(&mut packed[..part * from], source + done * from_step, from, from_step)?;
            let result = match self.change {
                ElementOp::Keep(_) => &packed[..part * from],
                ElementOp::Convert { from: kind, to: other } => {
                    convert(&mut changed[..part * to], other, &packed[..part * from], kind);
                    &changed[..part * to]
                }
            };
            scatter(result, target + done * to_step, to, to_step)?;
            done += part;
        }
        Ok(())
    }
}

/// Reads elements that are `step` apart into a row without gaps.
fn gather(packed: &mut [u8], source: usize, size: usize, step: usize) -> Result<(), AccessFault> {
    let into = |bytes: &mut [u8], from: usize| {
        copy(Span { target: bytes.as_mut_ptr() as usize, source: from, len: bytes.len() })
    };
    if step == size {
        return into(packed, source);
    }
    if step <= NEAR {
        let mut with_gaps = [0; BLOCK * NEAR];
        let count = packed.len() / size;
        let len = (count - 1) * step + size;
        into(&mut with_gaps[..len], source)?;
        for (n, element) in packed.chunks_exact_mut(size).enumerate() {
            element.copy_from_slice(&with_gaps[n * step..n * step + size]);
        }
        return Ok(());
    }
    packed.chunks_exact_mut(size).enumerate().try_for_each(|(n, element)| into(element, source + n * step))
}

/// Writes a row without gaps to places that are `step` apart.
fn scatter(packed: &[u8], target: usize, size: usize, step: usize) -> Result<(), AccessFault> {
    if step == size {
        return write(target, packed);
    }
    packed.chunks_exact(size).enumerate().try_for_each(|(n, element)| write(target + n * step, element))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(bytes: &[u8], offset: usize, steps: &[usize]) -> Layout {
        Layout { start: bytes.as_ptr() as usize + offset, strides: steps.to_vec() }
    }

    /// The same, of bytes that will be written.
    fn written(bytes: &mut Vec<u8>, offset: usize, steps: &[usize]) -> Layout {
        Layout { start: bytes.as_mut_ptr() as usize + offset, strides: steps.to_vec() }
    }

    #[test]
    fn rows_become_columns() {
        let source: Vec<u8> = (0..600u16).flat_map(u16::to_le_bytes).collect();
        let mut target = vec![0u8; 1200];
        let plan =
            Rearrangement::new(&[600], written(&mut target, 0, &[2]), layout(&source, 0, &[2]), ElementOp::Keep(2));
        assert_eq!(plan.shape, [600]);
        let plan = Rearrangement::new(
            &[20, 1, 30],
            written(&mut target, 0, &[60, 7, 2]),
            layout(&source, 0, &[2, 7, 40]),
            ElementOp::Keep(2),
        );
        assert_eq!(plan.shape, [20, 30]);
        plan.run().unwrap();
        for (row, column) in (0..20).flat_map(|row| (0..30).map(move |column| (row, column))) {
            let found = u16::from_le_bytes([target[60 * row + 2 * column], target[60 * row + 2 * column + 1]]);
            assert_eq!(usize::from(found), column * 20 + row);
        }
    }

    #[test]
    fn what_lies_between_the_elements_is_left_alone() {
        let source: Vec<u8> = (0..250).collect();
        for step in [1, 2, 63, 64, 65, 100] {
            let mut target = vec![0xeeu8; 4 * 300 + 4];
            let mut wide = vec![0u8; 300 * step];
            let from = written(&mut wide, 0, &[step]);
            for (n, byte) in source.iter().enumerate() {
                write(from.start + n * step, &[*byte]).unwrap();
            }
            let plan = Rearrangement::new(&[250], written(&mut target, 1, &[4]), from, ElementOp::Keep(1));
            assert_eq!(plan.extents()[1], (target.as_ptr() as usize + 1, 997));
            plan.run().unwrap();
            let expected = |n: usize| if n % 4 == 1 && n / 4 < 250 { source[n / 4] } else { 0xee };
            assert!(target.iter().enumerate().all(|(n, byte)| *byte == expected(n)), "{step}");
        }
    }

    #[test]
    fn elements_are_converted_on_the_way_and_repeated_ones_are_read_once() {
        let source = 2.5f32.to_le_bytes();
        let mut target = vec![0u8; 8 * 700];
        let change = ElementOp::Convert { from: Scalar::Float32, to: Scalar::Int64 };
        let plan =
            Rearrangement::new(&[7, 100], written(&mut target, 0, &[800, 8]), layout(&source, 0, &[0, 0]), change);
        plan.run().unwrap();
        assert!(target.chunks(8).all(|element| element == 2i64.to_le_bytes()));
        assert_eq!(plan.ranges(false, 10), Some(vec![(source.as_ptr() as usize, 4)]));
        assert_eq!(plan.ranges(true, 10), Some(vec![(target.as_ptr() as usize, 5600)]));
    }

    #[test]
    fn ranges_are_as_long_as_they_can_be() {
        let bytes = [0u8; 200];
        let start = bytes.as_ptr() as usize;
        let plan =
            Rearrangement::new(&[3, 4], layout(&bytes, 0, &[20, 2]), layout(&bytes, 0, &[2, 6]), ElementOp::Keep(2));
        assert_eq!(plan.ranges(true, 100), Some(vec![(start, 8), (start + 20, 8), (start + 40, 8)]));
        assert_eq!(plan.ranges(false, 100).unwrap().len(), 12);
        assert_eq!(plan.ranges(false, 11), None);
    }
}
