//! Copies of tensors from one layout to another, with optional conversion of the elements.
//!
//! The elements of a row are at a constant distance on each side. All data goes through a block of the engine, by the
//! routines of `bytes`, which alone access device memory. Bytes between the elements of the target are not written:
//! they may belong to other data.

use super::convert::{BLOCK, Scalar, convert};
use super::{AccessFault, Span, copy, write};

/// The addresses of the elements of a tensor.
#[derive(Debug, Clone)]
pub struct Layout {
    /// The address of the first element.
    pub start: usize,
    /// Distance of neighbors in bytes, per dimension.
    pub strides: Vec<usize>,
}

/// What happens to an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementOp {
    /// Copies this number of bytes, at most `MAX_ELEMENT`.
    Keep(usize),
    /// Converts the element.
    Convert { from: Scalar, to: Scalar },
}

impl ElementOp {
    /// Size of an element in the source and in the target.
    pub fn sizes(self) -> (usize, usize) {
        match self {
            ElementOp::Keep(size) => (size, size),
            ElementOp::Convert { from, to } => (from.bytes(), to.bytes()),
        }
    }
}

/// Size of the largest element.
pub const MAX_ELEMENT: usize = 16;
/// Elements of the source that are at most this far apart are read together with the bytes between them.
const NEAR: usize = 64;

/// A copy of a tensor.
#[derive(Debug, Clone)]
pub struct Rearrangement {
    shape: Vec<usize>,
    target: Layout,
    source: Layout,
    op: ElementOp,
}

impl Rearrangement {
    /// Plans a copy with as few dimensions as possible. No dimension may be 0.
    pub fn new(shape: &[usize], target: Layout, source: Layout, op: ElementOp) -> Rearrangement {
        let mut plan = Rearrangement {
            shape: Vec::new(),
            target: Layout { start: target.start, strides: Vec::new() },
            source: Layout { start: source.start, strides: Vec::new() },
            op,
        };
        for (index, size) in shape.iter().enumerate().filter(|(_, size)| **size != 1) {
            let (to, from) = (target.strides[index], source.strides[index]);
            // Merge a dimension that continues where the dimension inside it ends.
            let is_contiguous = plan.target.strides.last().is_some_and(|stride| *stride == to * size)
                && plan.source.strides.last().is_some_and(|stride| *stride == from * size);
            match plan.shape.last_mut().filter(|_| is_contiguous) {
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
            let (from, to) = op.sizes();
            plan.shape.push(1);
            plan.target.strides.push(to);
            plan.source.strides.push(from);
        }
        plan
    }

    /// Start and length of the bytes from the first element to the last, of the source and of the target.
    pub fn extents(&self) -> [(usize, usize); 2] {
        let (from, to) = self.op.sizes();
        let extent = |layout: &Layout, size: usize| {
            let last: usize = self.shape.iter().zip(&layout.strides).map(|(count, stride)| (count - 1) * stride).sum();
            (layout.start, last + size)
        };
        [extent(&self.source, from), extent(&self.target, to)]
    }

    /// The contiguous ranges of one side. `None` if there are more than `limit`.
    pub fn ranges(&self, is_target: bool, limit: usize) -> Option<Vec<(usize, usize)>> {
        let (from, to) = self.op.sizes();
        let (layout, size) = if is_target { (&self.target, to) } else { (&self.source, from) };
        // A source element that is repeated counts once.
        let dimensions = self.shape.iter().zip(&layout.strides).filter(|(_, stride)| **stride != 0);
        let mut ranges = vec![(layout.start, size)];
        for (count, stride) in dimensions.rev() {
            if let [(_, len)] = &mut ranges[..]
                && *len == *stride
            {
                *len *= count;
                continue;
            }
            if ranges.len().checked_mul(*count).is_none_or(|total| total > limit) {
                return None;
            }
            let inner = std::mem::take(&mut ranges);
            ranges = (0..*count).flat_map(|n| inner.iter().map(move |(at, len)| (at + n * stride, *len))).collect();
        }
        Some(ranges)
    }

    /// Performs the copy.
    ///
    /// # Safety
    ///
    /// The program allows access to the extents of both layouts. They need not be mapped.
    pub unsafe fn run(&self) -> Result<(), AccessFault> {
        let inner = self.shape.len() - 1;
        let mut index = vec![0; inner];
        loop {
            let at = |layout: &Layout| {
                layout.start + index.iter().zip(&layout.strides).map(|(n, stride)| n * stride).sum::<usize>()
            };
            self.row(at(&self.target), at(&self.source))?;
            // Advance the index of the outer dimensions, the last one fastest.
            let Some(advanced) = (0..inner).rev().find(|d| index[*d] + 1 < self.shape[*d]) else { return Ok(()) };
            index[advanced] += 1;
            index[advanced + 1..].fill(0);
        }
    }

    /// Copies one row of the innermost dimension.
    fn row(&self, target: usize, source: usize) -> Result<(), AccessFault> {
        let inner = self.shape.len() - 1;
        let (count, to_stride, from_stride) =
            (self.shape[inner], self.target.strides[inner], self.source.strides[inner]);
        let (from, to) = self.op.sizes();
        if let ElementOp::Keep(size) = self.op
            && to_stride == size
            && from_stride == size
        {
            // SAFETY: the promise of `run` covers the row.
            return unsafe { copy(Span { target, source, len: count * size }) };
        }
        let mut packed = [0; BLOCK * MAX_ELEMENT];
        let mut converted = [0; BLOCK * MAX_ELEMENT];
        let mut done = 0;
        while done < count {
            let part = BLOCK.min(count - done);
            gather(&mut packed[..part * from], source + done * from_stride, from, from_stride)?;
            let result = match self.op {
                ElementOp::Keep(_) => &packed[..part * from],
                ElementOp::Convert { from: kind, to: other } => {
                    convert(&mut converted[..part * to], other, &packed[..part * from], kind);
                    &converted[..part * to]
                }
            };
            scatter(result, target + done * to_stride, to, to_stride)?;
            done += part;
        }
        Ok(())
    }
}

/// Reads elements that are `stride` apart into a row without gaps.
fn gather(packed: &mut [u8], source: usize, size: usize, stride: usize) -> Result<(), AccessFault> {
    let into = |bytes: &mut [u8], from: usize| {
        // SAFETY: the promise of `run` covers the source; the target is `bytes`.
        unsafe { copy(Span { target: bytes.as_mut_ptr() as usize, source: from, len: bytes.len() }) }
    };
    if stride == size {
        return into(packed, source);
    }
    if stride <= NEAR {
        let mut with_gaps = [0; BLOCK * NEAR];
        let count = packed.len() / size;
        let len = (count - 1) * stride + size;
        into(&mut with_gaps[..len], source)?;
        for (n, element) in packed.chunks_exact_mut(size).enumerate() {
            element.copy_from_slice(&with_gaps[n * stride..n * stride + size]);
        }
        return Ok(());
    }
    packed.chunks_exact_mut(size).enumerate().try_for_each(|(n, element)| into(element, source + n * stride))
}

/// Writes a row without gaps to places that are `stride` apart.
fn scatter(packed: &[u8], target: usize, size: usize, stride: usize) -> Result<(), AccessFault> {
    if stride == size {
        // SAFETY: the promise of `run` covers the target.
        return unsafe { write(target, packed) };
    }
    // SAFETY: the promise of `run` covers the target.
    let put = |(n, element): (usize, &[u8])| unsafe { write(target + n * stride, element) };
    packed.chunks_exact(size).enumerate().try_for_each(put)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(bytes: &[u8], offset: usize, strides: &[usize]) -> Layout {
        Layout { start: bytes.as_ptr() as usize + offset, strides: strides.to_vec() }
    }

    /// A layout of bytes that are written.
    fn layout_mut(bytes: &mut Vec<u8>, offset: usize, strides: &[usize]) -> Layout {
        Layout { start: bytes.as_mut_ptr() as usize + offset, strides: strides.to_vec() }
    }

    #[test]
    fn transposed_layout_swaps_rows_and_columns() {
        let source: Vec<u8> = (0..600u16).flat_map(u16::to_le_bytes).collect();
        let mut target = vec![0u8; 1200];
        let plan =
            Rearrangement::new(&[600], layout_mut(&mut target, 0, &[2]), layout(&source, 0, &[2]), ElementOp::Keep(2));
        assert_eq!(plan.shape, [600]);
        let plan = Rearrangement::new(
            &[20, 1, 30],
            layout_mut(&mut target, 0, &[60, 7, 2]),
            layout(&source, 0, &[2, 7, 40]),
            ElementOp::Keep(2),
        );
        assert_eq!(plan.shape, [20, 30]);
        // SAFETY: both sides are buffers of the test.
        unsafe { plan.run() }.unwrap();
        for (row, column) in (0..20).flat_map(|row| (0..30).map(move |column| (row, column))) {
            let found = u16::from_le_bytes([target[60 * row + 2 * column], target[60 * row + 2 * column + 1]]);
            assert_eq!(usize::from(found), column * 20 + row);
        }
    }

    #[test]
    fn bytes_between_elements_are_not_written() {
        let source: Vec<u8> = (0..250).collect();
        for stride in [1, 2, 63, 64, 65, 100] {
            let mut target = vec![0xeeu8; 4 * 300 + 4];
            let mut wide = vec![0u8; 300 * stride];
            let from = layout_mut(&mut wide, 0, &[stride]);
            for (n, byte) in source.iter().enumerate() {
                // SAFETY: the target is a buffer of the test.
                unsafe { write(from.start + n * stride, &[*byte]) }.unwrap();
            }
            let plan = Rearrangement::new(&[250], layout_mut(&mut target, 1, &[4]), from, ElementOp::Keep(1));
            assert_eq!(plan.extents()[1], (target.as_ptr() as usize + 1, 997));
            // SAFETY: both sides are buffers of the test.
            unsafe { plan.run() }.unwrap();
            let expected = |n: usize| if n % 4 == 1 && n / 4 < 250 { source[n / 4] } else { 0xee };
            assert!(target.iter().enumerate().all(|(n, byte)| *byte == expected(n)), "{stride}");
        }
    }

    #[test]
    fn elements_are_converted_and_repeated_ones_are_listed_once() {
        let source = 2.5f32.to_le_bytes();
        let mut target = vec![0u8; 8 * 700];
        let op = ElementOp::Convert { from: Scalar::Float32, to: Scalar::Int64 };
        let plan =
            Rearrangement::new(&[7, 100], layout_mut(&mut target, 0, &[800, 8]), layout(&source, 0, &[0, 0]), op);
        // SAFETY: both sides are buffers of the test.
        unsafe { plan.run() }.unwrap();
        assert!(target.chunks(8).all(|element| element == 2i64.to_le_bytes()));
        assert_eq!(plan.ranges(false, 10), Some(vec![(source.as_ptr() as usize, 4)]));
        assert_eq!(plan.ranges(true, 10), Some(vec![(target.as_ptr() as usize, 5600)]));
    }

    #[test]
    fn ranges_are_maximal() {
        let bytes = [0u8; 200];
        let start = bytes.as_ptr() as usize;
        let plan =
            Rearrangement::new(&[3, 4], layout(&bytes, 0, &[20, 2]), layout(&bytes, 0, &[2, 6]), ElementOp::Keep(2));
        assert_eq!(plan.ranges(true, 100), Some(vec![(start, 8), (start + 20, 8), (start + 40, 8)]));
        assert_eq!(plan.ranges(false, 100).unwrap().len(), 12);
        assert_eq!(plan.ranges(false, 11), None);
    }
}
