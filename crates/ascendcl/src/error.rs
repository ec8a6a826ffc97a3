//! Errors: the code, its name and kind, the function, the message of the runtime, and where the work was submitted.

use crate::error_kind::ErrorKind;
use ascendcl_sys::{ACL_ERROR_INVALID_PARAM, code_name};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// The result type of this crate.
///
/// ```
/// fn device_count() -> ascendcl::Result<u32> {
///     ascendcl::Device::count()
/// }
/// assert!(device_count().is_ok());
/// ```
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failed call.
///
/// Match on [`kind`](Error::kind) to react to an error; the other methods describe it. Errors are cheap to clone and
/// can be sent to other threads.
///
/// ```
/// use ascendcl::{Device, ErrorKind, sys};
///
/// let error = Device::new(99).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::DeviceNotFound);
/// assert_eq!(error.code(), sys::ACL_ERROR_RT_INVALID_DEVICEID);
/// assert_eq!(error.name(), "ACL_ERROR_RT_INVALID_DEVICEID");
/// assert_eq!(error.function(), "Device::new");
/// assert!(error.to_string().contains("99"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Arc<ErrorInner>);

#[derive(Clone, PartialEq, Eq)]
struct ErrorInner {
    code: i32,
    function: &'static str,
    message: String,
    submitted_at: Option<&'static Location<'static>>,
    entry: Option<usize>,
}

impl Error {
    #[cold]
    pub(crate) fn new(code: i32, function: &'static str, message: String) -> Error {
        Error(Arc::new(ErrorInner { code, function, message, submitted_at: None, entry: None }))
    }

    /// Creates the error of a call that this crate rejects without calling the library.
    #[cold]
    pub(crate) fn refused(function: &'static str, message: String) -> Error {
        Error::new(ACL_ERROR_INVALID_PARAM, function, message)
    }

    /// Adds the location at which the work was submitted, unless the error already has one.
    #[cold]
    pub(crate) fn at(mut self, location: &'static Location<'static>) -> Error {
        Arc::make_mut(&mut self.0).submitted_at.get_or_insert(location);
        self
    }

    /// Sets the index of the batch entry that the error is about.
    #[cold]
    pub(crate) fn with_entry(mut self, entry: Option<usize>) -> Error {
        Arc::make_mut(&mut self.0).entry = entry;
        self
    }

    /// Returns the AscendCL error code, such as 107000.
    ///
    /// ```
    /// use ascendcl::{Device, sys};
    /// assert_eq!(Device::new(99).unwrap_err().code(), sys::ACL_ERROR_RT_INVALID_DEVICEID);
    /// ```
    #[must_use]
    pub fn code(&self) -> i32 {
        self.0.code
    }

    /// Returns the kind of the error, which groups codes by their cause.
    ///
    /// ```
    /// use ascendcl::{Device, ErrorKind};
    /// assert_eq!(Device::new(99).unwrap_err().kind(), ErrorKind::DeviceNotFound);
    /// ```
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::from_code(self.0.code)
    }

    /// Returns the name of the code as in the AscendCL headers, or `"unknown code"`.
    ///
    /// ```
    /// let error = ascendcl::Device::new(99).unwrap_err();
    /// assert_eq!(error.name(), "ACL_ERROR_RT_INVALID_DEVICEID");
    /// ```
    #[must_use]
    pub fn name(&self) -> &'static str {
        code_name(self.0.code).unwrap_or("unknown code")
    }

    /// Returns the function that failed: a C function, or a function of this crate that rejected its arguments.
    ///
    /// ```
    /// // SAFETY: the library rejects NULL.
    /// let error = unsafe { ascendcl::raw::aclrtDestroyStream(std::ptr::null_mut()) }.unwrap_err();
    /// assert_eq!(error.function(), "aclrtDestroyStream");
    /// ```
    #[must_use]
    pub fn function(&self) -> &'static str {
        self.0.function
    }

    /// Returns the message of the runtime.
    ///
    /// ```
    /// let error = ascendcl::Device::new(99).unwrap_err();
    /// assert!(error.message().starts_with("device 99 does not exist"));
    /// ```
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the source location that submitted the work. `None` if the error is not about work of a stream.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// let (host, mut device) = (context.alloc_pinned::<u8>(3)?, context.alloc_zeros::<u8>(4)?);
    /// let error = context.new_stream()?.upload(host, &mut device).unwrap_err();
    /// let location = error.submitted_at().expect("an upload is work of a stream");
    /// println!("{}:{}", location.file(), location.line());
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[must_use]
    pub fn submitted_at(&self) -> Option<&'static Location<'static>> {
        self.0.submitted_at
    }

    /// Returns the index of the [`Batch`](crate::Batch) entry that was rejected, in the order of `push`. `None` if the
    /// error is not about a single entry.
    ///
    /// ```
    /// # use ascendcl::Batch;
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let cache = context.alloc_zeros::<u8>(8)?;
    /// let mut batch = Batch::new_download(context.alloc_pinned(4)?, [&cache]);
    /// batch.push(0..2, 0..2)?;
    /// assert_eq!(batch.push(2..4, 7..9).unwrap_err().entry(), Some(1));
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[must_use]
    pub fn entry(&self) -> Option<usize> {
        self.0.entry
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ErrorInner { code, function, message, submitted_at, entry } = &*self.0;
        write!(f, "{function} failed with {code} ({}): {message}", self.name())?;
        if let Some(entry) = entry {
            write!(f, " (entry {entry})")?;
        }
        match submitted_at {
            Some(location) => write!(f, " (submitted at {location})"),
            None => Ok(()),
        }
    }
}

/// Formats like `Display`, so that `unwrap` and `main` print a readable message.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}
