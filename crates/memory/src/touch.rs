//! Touches: ranges that an operation reads or writes, in addresses of the program.

use crate::bytes::Span;
use crate::memory::Memory;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Read,
    Write,
}

/// A range that an operation reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Touch {
    pub address: usize,
    pub len: usize,
    pub mode: Mode,
}

impl Memory {
    /// What a span touches.
    pub fn touches_of(&self, span: &Span) -> [Touch; 2] {
        [self.touch(span.source, span.len, Mode::Read), self.touch(span.target, span.len, Mode::Write)]
    }

    pub fn touch(&self, reach: usize, len: usize, mode: Mode) -> Touch {
        Touch { address: self.program_address(reach), len, mode }
    }
}
