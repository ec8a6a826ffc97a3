//! Memory of tensors while an operator runs: elements are read into and written from buffers of the operator.
//!
//! No reference to memory of a tensor is ever formed: the program or another stream may change it at any time, which is
//! a bug of the program and not of this library.

use super::scalar::Scalar;
use super::types::Type;
use super::value::{Element, Value, with_element};
use super::view::{Layout, View};
use std::any::TypeId;

/// Elements that are converted at once: small enough for the first cache, large enough to be worth a loop.
pub const BLOCK: usize = 1024;

/// Addresses of the tensors of a running operator, by slot.
pub struct Memory {
    pub bases: Vec<*mut u8>,
}

// SAFETY: only addresses; see `Tensor`.
unsafe impl Sync for Memory {}

impl Memory {
    /// Access to the elements of a view, in its order.
    pub fn tensor(&self, view: &View) -> Tensor {
        let bytes = if view.kind == Type::I4 { 0 } else { view.offset * view.kind.size() as isize };
        Tensor {
            base: self.bases[view.slot].wrapping_offset(bytes),
            kind: view.kind,
            nibble: if view.kind == Type::I4 { view.offset } else { 0 },
            count: view.count(),
            layout: view.layout(),
        }
    }
}

/// The elements of a view in memory.
#[derive(Clone)]
pub struct Tensor {
    base: *mut u8,
    kind: Type,
    /// Offset of a four-bit tensor, which is not a number of bytes.
    nibble: isize,
    count: usize,
    layout: Layout,
}

// SAFETY: only an address. The ranges behind it are those of a running kernel, which may use any thread.
unsafe impl Send for Tensor {}
// SAFETY: as above; threads that share a tensor write disjoint elements.
unsafe impl Sync for Tensor {}

impl Tensor {
    pub fn count(&self) -> usize {
        self.count
    }

    /// Reads the elements from `start` on.
    pub fn read<V: Value>(&self, start: usize, values: &mut [V]) {
        if self.kind == Type::I4 {
            return self.read_nibbles(start, values);
        }
        with_element!(self.kind, E => self.read_elements::<E, V>(start, values));
    }

    /// Reads all elements.
    pub fn to_vec<V: Value>(&self) -> Vec<V> {
        let mut values = vec![V::default(); self.count];
        self.read(0, &mut values);
        values
    }

    /// Reads one element.
    pub fn at<V: Value>(&self, index: usize) -> V {
        let mut value = [V::default()];
        self.read(index, &mut value);
        value[0]
    }

    /// Writes elements from `start` on. Four-bit elements are refused when an operator is planned.
    pub fn write<V: Value>(&self, start: usize, values: &[V]) {
        with_element!(self.kind, E => self.write_elements::<E, V>(start, values));
    }

    /// Writes the same value to `count` elements.
    pub fn fill<V: Value>(&self, start: usize, count: usize, value: V) {
        let block = vec![value; count.min(BLOCK)];
        let mut done = 0;
        while done < count {
            let part = block.len().min(count - done);
            self.write(start + done, &block[..part]);
            done += part;
        }
    }

    fn read_elements<E: Element, V: Value>(&self, start: usize, values: &mut [V]) {
        if TypeId::of::<E>() == TypeId::of::<V>() {
            // SAFETY: the element type is the value type; the buffer has this many elements.
            return unsafe { self.gather(start, values.as_mut_ptr().cast::<E>(), values.len()) };
        }
        let mut buffer = [E::default(); BLOCK];
        let mut done = 0;
        for chunk in values.chunks_mut(BLOCK) {
            // SAFETY: a chunk has at most as many elements as the buffer.
            unsafe { self.gather(start + done, buffer.as_mut_ptr(), chunk.len()) };
            for (value, element) in chunk.iter_mut().zip(&buffer) {
                *value = element.load();
            }
            done += chunk.len();
        }
    }

    fn write_elements<E: Element, V: Value>(&self, start: usize, values: &[V]) {
        if TypeId::of::<E>() == TypeId::of::<V>() {
            // SAFETY: the element type is the value type; the buffer has this many elements.
            return unsafe { self.scatter(start, values.as_ptr().cast::<E>(), values.len()) };
        }
        let mut buffer = [E::default(); BLOCK];
        let mut done = 0;
        for chunk in values.chunks(BLOCK) {
            for (element, value) in buffer.iter_mut().zip(chunk) {
                *element = E::store(*value);
            }
            // SAFETY: a chunk has at most as many elements as the buffer.
            unsafe { self.scatter(start + done, buffer.as_ptr(), chunk.len()) };
            done += chunk.len();
        }
    }

    /// # Safety
    ///
    /// `target` has room for `count` elements.
    unsafe fn gather<E: Copy>(&self, start: usize, target: *mut E, count: usize) {
        let mut walk = self.layout.walk(start);
        let mut done = 0;
        while done < count {
            let run = walk.run().min(count - done);
            let source = self.base.cast::<E>().wrapping_offset(walk.offset());
            // SAFETY: the kernel declared or resolved the range of this view; elements need no alignment.
            unsafe { move_elements(source, walk.step(), target.add(done), 1, run) };
            walk.advance(run);
            done += run;
        }
    }

    /// # Safety
    ///
    /// `source` has `count` elements.
    unsafe fn scatter<E: Copy>(&self, start: usize, source: *const E, count: usize) {
        let mut walk = self.layout.walk(start);
        let mut done = 0;
        while done < count {
            let run = walk.run().min(count - done);
            let target = self.base.cast::<E>().wrapping_offset(walk.offset());
            // SAFETY: as in `gather`.
            unsafe { move_elements(source.add(done), 1, target, walk.step(), run) };
            walk.advance(run);
            done += run;
        }
    }

    /// Element 2k is in the low half of byte k.
    fn read_nibbles<V: Value>(&self, start: usize, values: &mut [V]) {
        let mut walk = self.layout.walk(start);
        for value in values {
            let index = self.nibble + walk.offset();
            // SAFETY: the kernel declared the range of this view.
            let byte = unsafe { self.base.wrapping_offset(index >> 1).read() };
            let half = if index & 1 == 0 { byte << 4 } else { byte };
            *value = V::from_i64((half as i8 >> 4).into());
            walk.advance(1);
        }
    }
}

/// Copies elements between two tensors of one type, without converting them.
pub fn copy(source: &Tensor, from: usize, target: &Tensor, to: usize, count: usize) {
    match source.kind.size() {
        1 => copy_sized::<u8>(source, from, target, to, count),
        2 => copy_sized::<u16>(source, from, target, to, count),
        4 => copy_sized::<u32>(source, from, target, to, count),
        8 => copy_sized::<u64>(source, from, target, to, count),
        _ => copy_sized::<u128>(source, from, target, to, count),
    }
}

fn copy_sized<E: Copy>(source: &Tensor, from: usize, target: &Tensor, to: usize, count: usize) {
    let (mut read, mut write) = (source.layout.walk(from), target.layout.walk(to));
    let mut left = count;
    while left > 0 {
        let run = read.run().min(write.run()).min(left);
        let one = source.base.cast::<E>().wrapping_offset(read.offset());
        let other = target.base.cast::<E>().wrapping_offset(write.offset());
        // SAFETY: the kernel declared or resolved both ranges; elements need no alignment.
        unsafe { move_elements(one, read.step(), other, write.step(), run) };
        read.advance(run);
        write.advance(run);
        left -= run;
    }
}

/// # Safety
///
/// Both sides have `count` elements at their distance.
unsafe fn move_elements<E: Copy>(source: *const E, from: isize, target: *mut E, to: isize, count: usize) {
    if from == 1 && to == 1 {
        // SAFETY: promised by the caller. The ranges may be the same one.
        unsafe { std::ptr::copy(source.cast::<u8>(), target.cast::<u8>(), count * size_of::<E>()) };
        return;
    }
    if from == 0 {
        // SAFETY: promised by the caller.
        let element = unsafe { source.read_unaligned() };
        for index in 0..count as isize {
            // SAFETY: promised by the caller.
            unsafe { target.wrapping_offset(index * to).write_unaligned(element) };
        }
        return;
    }
    for index in 0..count as isize {
        // SAFETY: promised by the caller.
        unsafe {
            target.wrapping_offset(index * to).write_unaligned(source.wrapping_offset(index * from).read_unaligned())
        };
    }
}

/// What an elementwise operator reads: a tensor, or one value for every element.
#[derive(Debug, Clone)]
pub enum Operand {
    View(View),
    Value(Scalar),
}

impl Operand {
    pub fn kind(&self) -> Type {
        match self {
            Operand::View(view) => view.kind,
            Operand::Value(scalar) => scalar.kind,
        }
    }

    pub fn bind(&self, memory: &Memory) -> Source {
        match self {
            Operand::View(view) => Source::Tensor(memory.tensor(view)),
            Operand::Value(scalar) => Source::Value(*scalar),
        }
    }
}

/// An operand of a running operator.
pub enum Source {
    Tensor(Tensor),
    Value(Scalar),
}

impl Source {
    pub fn read<V: Value>(&self, start: usize, values: &mut [V]) {
        match self {
            Source::Tensor(tensor) => tensor.read(start, values),
            Source::Value(scalar) => values.fill(scalar.to()),
        }
    }
}
