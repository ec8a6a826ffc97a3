//! Accesses: the ranges that an operation reads or writes, as program addresses.

use crate::bytes::Span;
use crate::memory::Memory;

/// The direction of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Read,
    Write,
}

/// A range that an operation reads or writes, as program addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Touch {
    pub address: usize,
    pub len: usize,
    pub mode: Mode,
}

impl Memory {
    /// The accesses of a copy.
    pub fn touches_of(&self, span: &Span) -> [Touch; 2] {
        [self.touch(span.source, span.len, Mode::Read), self.touch(span.target, span.len, Mode::Write)]
    }

    /// The access to a range of backing addresses.
    pub fn touch(&self, backing: usize, len: usize, mode: Mode) -> Touch {
        Touch { address: self.program_address(backing), len, mode }
    }
}
