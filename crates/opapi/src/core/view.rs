//! Views of tensors at planning time: shapes, strides and what can be done with them without touching memory.

use super::types::Type;
use smallvec::SmallVec;

pub type Dims = SmallVec<[usize; 8]>;
pub type Strides = SmallVec<[isize; 8]>;

/// A tensor argument of an operator, or a part of it. Strides and offset count elements.
#[derive(Debug, Clone)]
pub struct View {
    /// Which tensor of the call this is. Its address is known when the operator runs.
    pub slot: usize,
    /// Name of the argument, for messages.
    pub name: &'static str,
    pub kind: Type,
    pub dims: Dims,
    pub strides: Strides,
    pub offset: isize,
    /// Format code of the tensor. Only convolutions, poolings and resizes look at it.
    pub format: i32,
}

impl View {
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    pub fn count(&self) -> usize {
        self.dims.iter().product()
    }

    /// The dimensions in another order.
    pub fn permute(&self, order: &[usize]) -> View {
        let mut view = self.clone();
        view.dims = order.iter().map(|axis| self.dims[*axis]).collect();
        view.strides = order.iter().map(|axis| self.strides[*axis]).collect();
        view
    }

    /// The last two dimensions swapped.
    pub fn transpose(&self) -> View {
        let mut order: Vec<usize> = (0..self.rank()).collect();
        order.swap(self.rank() - 1, self.rank() - 2);
        self.permute(&order)
    }

    /// One dimension moved to the end.
    pub fn last(&self, axis: usize) -> View {
        let mut order: Vec<usize> = (0..self.rank()).filter(|other| *other != axis).collect();
        order.push(axis);
        self.permute(&order)
    }

    /// Some dimensions moved to the end, in their order.
    pub fn last_of(&self, axes: &[usize]) -> View {
        let mut order: Vec<usize> = (0..self.rank()).filter(|other| !axes.contains(other)).collect();
        order.extend_from_slice(axes);
        self.permute(&order)
    }

    /// The view stretched to a shape, as NumPy broadcasts, or `None` if it does not fit.
    pub fn broadcast(&self, dims: &[usize]) -> Option<View> {
        let missing = dims.len().checked_sub(self.rank())?;
        let mut view = self.clone();
        view.dims = dims.into();
        view.strides = SmallVec::from_elem(0, dims.len());
        for (axis, (dim, stride)) in self.dims.iter().zip(&self.strides).enumerate() {
            match (*dim, dims[missing + axis]) {
                (own, wanted) if own == wanted => view.strides[missing + axis] = *stride,
                (1, _) => {}
                _ => return None,
            }
        }
        Some(view)
    }

    /// `count` elements of a dimension, from `start`, every `step`-th. The range must be inside the dimension.
    pub fn slice(&self, axis: usize, start: usize, step: isize, count: usize) -> View {
        let mut view = self.clone();
        view.offset += start as isize * self.strides[axis];
        // A single element has no next one, and its step may be any number of the program.
        if count > 1 {
            view.strides[axis] *= step;
        }
        view.dims[axis] = count;
        view
    }

    /// One element of a dimension, which the result does not have.
    pub fn select(&self, axis: usize, index: usize) -> View {
        let mut view = self.slice(axis, index, 1, 1);
        view.dims.remove(axis);
        view.strides.remove(axis);
        view
    }

    /// Element `index` of the first dimensions, counted through, which the result does not have.
    pub fn nth(&self, leading: usize, index: usize) -> View {
        let mut view = self.clone();
        let mut rest = index;
        for axis in (0..leading).rev() {
            view.offset += (rest % self.dims[axis]) as isize * self.strides[axis];
            rest /= self.dims[axis];
        }
        view.dims.drain(..leading);
        view.strides.drain(..leading);
        view
    }

    /// A new dimension of 1.
    pub fn unsqueeze(&self, axis: usize) -> View {
        let mut view = self.clone();
        view.dims.insert(axis, 1);
        view.strides.insert(axis, 0);
        view
    }

    /// A dimension split into two.
    pub fn split(&self, axis: usize, outer: usize, inner: usize) -> View {
        let mut view = self.clone();
        view.dims[axis] = outer;
        view.strides[axis] = self.strides[axis] * inner as isize;
        view.dims.insert(axis + 1, inner);
        view.strides.insert(axis + 1, self.strides[axis]);
        view
    }

    /// First and last element, counted from the start of the memory; `None` for an empty view.
    pub fn extent(&self) -> Option<(isize, isize)> {
        if self.count() == 0 {
            return None;
        }
        let (mut low, mut high) = (self.offset, self.offset);
        for (dim, stride) in self.dims.iter().zip(&self.strides) {
            let reach = (*dim as isize - 1) * stride;
            if reach < 0 { low += reach } else { high += reach }
        }
        Some((low, high))
    }

    /// Bytes from the first element to the last, relative to the start of the memory.
    pub fn byte_extent(&self) -> Option<(isize, isize)> {
        let (low, high) = self.extent()?;
        if self.kind == Type::I4 {
            return Some((low >> 1, (high >> 1) + 1));
        }
        let size = self.kind.size() as isize;
        Some((low * size, (high + 1) * size))
    }

    /// The elements in order, with as few dimensions as possible.
    pub fn layout(&self) -> Layout {
        let mut layout = Layout { dims: Dims::new(), strides: Strides::new() };
        for (dim, stride) in self.dims.iter().zip(&self.strides) {
            if *dim == 1 {
                continue;
            }
            match (layout.dims.last_mut(), layout.strides.last_mut()) {
                (Some(outer), Some(outer_stride)) if *outer_stride == *dim as isize * stride => {
                    *outer *= dim;
                    *outer_stride = *stride;
                }
                _ => {
                    layout.dims.push(*dim);
                    layout.strides.push(*stride);
                }
            }
        }
        if layout.dims.is_empty() {
            layout.dims.push(self.count());
            layout.strides.push(1);
        }
        layout
    }

    /// Contiguous runs of bytes that the view covers exactly, relative to the start of the memory: at most `limit`, and
    /// then the first ones.
    pub fn byte_runs(&self, limit: usize) -> Vec<(isize, usize)> {
        let Some((low, high)) = self.byte_extent() else { return Vec::new() };
        let mut axes: Vec<(usize, isize)> =
            self.dims.iter().copied().zip(self.strides.iter().map(|stride| stride.abs())).collect();
        axes.retain(|(dim, stride)| *dim > 1 && *stride != 0);
        axes.sort_by_key(|(_, stride)| *stride);
        let mut length = 1;
        let mut outer = 0;
        while outer < axes.len() && axes[outer].1 <= length {
            length += (axes[outer].0 as isize - 1) * axes[outer].1;
            outer += 1;
        }
        if outer == axes.len() || self.kind == Type::I4 {
            return vec![(low, (high - low) as usize)];
        }
        let size = self.kind.size() as isize;
        let mut runs = vec![low];
        for (dim, stride) in axes[outer..].iter().rev() {
            if runs.len() >= limit {
                break;
            }
            runs = runs
                .iter()
                .flat_map(|run| (0..*dim as isize).map(move |i| run + i * stride * size))
                .take(limit)
                .collect();
        }
        runs.into_iter().map(|run| (run, (length * size) as usize)).collect()
    }
}

/// Where the elements of a view are, in order: dimensions and strides, merged where possible.
#[derive(Debug, Clone)]
pub struct Layout {
    pub dims: Dims,
    pub strides: Strides,
}

impl Layout {
    /// Starts at an element.
    pub fn walk(&self, start: usize) -> Walk<'_> {
        let mut index = Dims::from_elem(0, self.dims.len());
        let (mut rest, mut offset) = (start, 0);
        for axis in (0..self.dims.len()).rev() {
            let dim = self.dims[axis].max(1);
            index[axis] = rest % dim;
            rest /= dim;
            offset += index[axis] as isize * self.strides[axis];
        }
        Walk { layout: self, index, offset }
    }
}

/// A position in a layout.
pub struct Walk<'a> {
    layout: &'a Layout,
    index: Dims,
    offset: isize,
}

impl Walk<'_> {
    /// Elements with the same distance from here on: at most this many.
    pub fn run(&self) -> usize {
        let last = self.index.len() - 1;
        self.layout.dims[last] - self.index[last]
    }

    /// Position of the current element.
    pub fn offset(&self) -> isize {
        self.offset
    }

    /// Distance of the elements of the run.
    pub fn step(&self) -> isize {
        self.layout.strides[self.index.len() - 1]
    }

    /// Goes on by at most the length of the run.
    pub fn advance(&mut self, count: usize) {
        let mut axis = self.index.len() - 1;
        self.index[axis] += count;
        self.offset += count as isize * self.layout.strides[axis];
        while self.index[axis] == self.layout.dims[axis] && axis > 0 {
            self.offset -= self.index[axis] as isize * self.layout.strides[axis];
            self.index[axis] = 0;
            axis -= 1;
            self.index[axis] += 1;
            self.offset += self.layout.strides[axis];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(dims: &[usize], strides: &[isize]) -> View {
        let (dims, strides) = (dims.into(), strides.into());
        View { slot: 0, name: "self", kind: Type::F32, dims, strides, offset: 3, format: 2 }
    }

    #[test]
    fn layouts_merge_dimensions_without_gaps() {
        let dense = view(&[2, 3, 4], &[12, 4, 1]).layout();
        assert_eq!((&dense.dims[..], &dense.strides[..]), (&[24_usize][..], &[1_isize][..]));
        let rows = view(&[2, 3, 4], &[30, 10, 1]).layout();
        assert_eq!((&rows.dims[..], &rows.strides[..]), (&[6_usize, 4][..], &[10_isize, 1][..]));
        let stretched = view(&[5, 4], &[0, 0]).layout();
        assert_eq!((stretched.dims.len(), stretched.strides[0]), (1, 0));
    }

    #[test]
    fn steps_beyond_a_dimension_choose_one_element() {
        let one = view(&[2, 4], &[4, 1]).slice(0, 1, 1 << 62, 1);
        assert_eq!((one.byte_extent(), one.count()), (Some((28, 44)), 4));
        assert_eq!(view(&[2, 4], &[4, 1]).slice(1, 1, 2, 2).byte_extent(), Some((16, 44)));
    }

    #[test]
    fn walks_visit_every_element_in_order() {
        let strided = view(&[3, 4], &[1, 10]);
        let layout = strided.layout();
        for start in 0..12 {
            let (mut walk, mut at) = (layout.walk(start), start);
            while at < 12 {
                assert_eq!(walk.offset(), (at / 4 + at % 4 * 10) as isize);
                walk.advance(1);
                at += 1;
            }
        }
    }

    #[test]
    fn byte_runs_cover_the_elements_and_no_gap() {
        assert_eq!(view(&[2, 4], &[10, 1]).byte_runs(64), [(12, 16), (52, 16)]);
        assert_eq!(view(&[4, 2], &[1, 4]).byte_runs(64), [(12, 32)]);
        assert_eq!(view(&[9, 4], &[10, 1]).byte_runs(2).len(), 2);
        assert!(view(&[0, 4], &[4, 1]).byte_runs(64).is_empty());
    }
}
