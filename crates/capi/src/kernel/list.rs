//! Lists of kernel arguments as data, and the block that they are laid out to. `arguments` has the functions of the API.

use crate::object::Object;
use softacl_engine::{Error, Result, fail};
use std::ffi::c_void;

/// Maximum number of parameters.
const MAX_PARAMETERS: usize = 1024;

/// A value, or data that a parameter points to.
#[derive(Debug, Clone)]
pub(crate) enum Parameter {
    Value(Vec<u8>),
    /// Empty until the program has asked for its buffer. The program writes there until it launches.
    PlaceHolder(Vec<u8>),
}

/// The arguments of a kernel.
#[derive(Debug, Clone, Default)]
pub(crate) struct ArgumentList {
    parameters: Vec<Parameter>,
    pub(crate) is_final: bool,
}

impl Object for ArgumentList {
    const NAME: &'static str = "list of kernel arguments";
}

/// A block of arguments, with the data that its pointers point to behind them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Block {
    pub(crate) bytes: Box<[u64]>,
    /// Bytes of the arguments, including the data behind them.
    pub(crate) len: usize,
}

impl Block {
    /// A copy of bytes that the program passed.
    pub(crate) fn new(bytes: &[u8]) -> Block {
        let mut words = vec![0_u64; bytes.len().div_ceil(8)];
        for (word, chunk) in words.iter_mut().zip(bytes.chunks(8)) {
            let mut value = [0; 8];
            value[..chunk.len()].copy_from_slice(chunk);
            *word = u64::from_ne_bytes(value);
        }
        Block { bytes: words.into(), len: bytes.len() }
    }

    pub(crate) fn address(&self) -> usize {
        self.bytes.as_ptr() as usize
    }

    /// Stores the address of the data at `data` in the argument at `at`. False if one of them is outside the block, or the
    /// argument is not aligned.
    pub(crate) fn point(&mut self, at: usize, data: usize) -> bool {
        let target = (self.address() + data) as u64;
        let is_inside = data < self.len && at.is_multiple_of(8) && at.checked_add(8).is_some_and(|end| end <= self.len);
        match self.bytes.get_mut(at / 8) {
            Some(word) if is_inside => {
                *word = target;
                true
            }
            _ => false,
        }
    }
}

impl ArgumentList {
    /// The block of a finalized list.
    pub(crate) fn final_block(&self) -> Result<Block> {
        if self.is_final {
            return Ok(self.block());
        }
        fail(Error::Argument("the list of arguments is not finalized: call aclrtKernelArgsFinalize".to_owned()))
    }

    /// Lays the list out: each value aligned to its size, at most 8 bytes; data of placeholders behind the values.
    fn block(&self) -> Block {
        let mut bytes = Vec::new();
        let mut places = Vec::new();
        for parameter in &self.parameters {
            let value = match parameter {
                Parameter::Value(value) => &value[..],
                Parameter::PlaceHolder(_) => &[0; 8][..],
            };
            let alignment = value.len().next_power_of_two().clamp(1, 8);
            bytes.resize(bytes.len().next_multiple_of(alignment), 0);
            if let Parameter::PlaceHolder(data) = parameter {
                places.push((bytes.len(), data));
            }
            bytes.extend_from_slice(value);
        }
        let mut pointers = Vec::new();
        for (at, data) in places {
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            pointers.push((at, bytes.len()));
            bytes.extend_from_slice(data);
        }
        let mut block = Block::new(&bytes);
        for (at, data) in pointers {
            block.point(at, data);
        }
        block
    }

    pub(crate) fn append(&mut self, parameter: Parameter) -> Result<*mut c_void> {
        if self.is_final {
            return fail(Error::Argument("the list is finalized: no parameter can be appended".to_owned()));
        }
        if self.parameters.len() >= MAX_PARAMETERS {
            return fail(Error::Argument(format!("the list has {MAX_PARAMETERS} parameters, which is the limit")));
        }
        self.parameters.push(parameter);
        // Handles of parameters are positions, counted from 1 so that none is NULL.
        Ok(self.parameters.len() as *mut c_void)
    }

    pub(crate) fn parameter(&mut self, handle: *mut c_void) -> Result<&mut Parameter> {
        let count = self.parameters.len();
        let found = (handle as usize).checked_sub(1).and_then(|index| self.parameters.get_mut(index));
        found.ok_or_else(|| {
            Error::Argument(format!("{handle:?} is not a parameter of this list, which has {count}")).into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_aligned_and_placeholders_point_behind_them() {
        let mut list = ArgumentList::default();
        list.append(Parameter::Value(vec![1])).unwrap();
        list.append(Parameter::Value(7_u32.to_ne_bytes().to_vec())).unwrap();
        list.append(Parameter::PlaceHolder(b"tiling".to_vec())).unwrap();
        list.append(Parameter::Value(9_u64.to_ne_bytes().to_vec())).unwrap();
        let block = list.block();
        assert_eq!(block.len, 24 + 6);
        assert_eq!(block.bytes[0], 1 | 7 << 32);
        assert_eq!(block.bytes[1] as usize, block.address() + 24);
        assert_eq!(block.bytes[2], 9);
        assert_eq!(block.bytes[3].to_ne_bytes()[..6], *b"tiling");
    }

    #[test]
    fn pointers_stay_inside_their_block() {
        let mut block = Block::new(&[0; 20]);
        assert!(block.point(8, 16));
        assert_eq!(block.bytes[1] as usize, block.address() + 16);
        for (at, data) in [(4, 0), (16, 0), (0, 20), (usize::MAX - 7, 0)] {
            assert!(!block.point(at, data), "{at}, {data}");
        }
    }
}
