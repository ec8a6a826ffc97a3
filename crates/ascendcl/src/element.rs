//! Element types of buffers: plain values for which every bit pattern is valid.

/// A plain value that can be copied between host and device.
///
/// Implemented for integers, floating-point numbers and arrays of elements.
///
/// # Safety
///
/// Every bit pattern must be a valid value of the type, and the type must have no padding.
///
/// ```
/// # use ascendcl::Device;
/// let context = Device::new(0)?.new_context()?;
/// let pairs = context.alloc_from_slice(&[[1u16, 2], [3, 4]])?;   // an array of elements is an element
/// assert_eq!(pairs.to_vec()?, [[1, 2], [3, 4]]);
/// # Ok::<(), ascendcl::Error>(())
/// ```
pub unsafe trait Element: Copy + Send + Sync + 'static {}

macro_rules! elements {
    ($($element:ty),*) => {$(
        // SAFETY: a number without padding for which every bit pattern is valid.
        unsafe impl Element for $element {}
    )*};
}

elements!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, f32, f64);

// SAFETY: an array adds no padding, and its elements satisfy the conditions.
unsafe impl<T: Element, const N: usize> Element for [T; N] {}
