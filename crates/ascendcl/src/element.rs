//! What may be in a buffer: plain values, of which every bit pattern is one.

/// A plain value that devices and hosts may exchange.
///
/// # Safety
///
/// Every bit pattern must be a value of the type, and the type must have no padding.
///
/// ```
/// # use ascendcl::Device;
/// let context = Device::new(0)?.new_context()?;
/// let pairs = context.alloc_from_slice(&[[1u16, 2], [3, 4]])?;   // arrays of plain values are plain values
/// assert_eq!(pairs.to_vec()?, [[1, 2], [3, 4]]);
/// # Ok::<(), ascendcl::Error>(())
/// ```
pub unsafe trait Element: Copy + Send + Sync + 'static {}

macro_rules! elements {
    ($($kind:ty),*) => {$(
        // SAFETY: a number without padding, of which every bit pattern is a value.
        unsafe impl Element for $kind {}
    )*};
}

elements!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, f32, f64);

// SAFETY: an array has no padding between its elements, and those are plain.
unsafe impl<T: Element, const N: usize> Element for [T; N] {}
