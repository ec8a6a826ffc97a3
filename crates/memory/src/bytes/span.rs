//! Spans: contiguous copies, as the routines read them.

/// A contiguous copy, in backing addresses. The assembly routines depend on its layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Span {
    pub target: usize,
    pub source: usize,
    pub len: usize,
}
