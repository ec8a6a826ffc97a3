//! What a failed call says: the code, its name, the function, the sentence of the runtime, and where the
//! work was submitted.

use ascendcl_sys::{ACL_ERROR_INVALID_PARAM, code_name};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// The result of everything here.
///
/// ```
/// fn chips() -> ascendcl::Result<u32> {
///     ascendcl::Device::count()
/// }
/// assert!(chips().is_ok());
/// ```
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A call that failed.
///
/// ```
/// use ascendcl::Device;
///
/// let error = Device::new(99).unwrap_err();
/// assert_eq!(error.code(), 107001);
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
    sentence: String,
    submitted: Option<&'static Location<'static>>,
    entry: Option<usize>,
}

impl Error {
    #[cold]
    pub(crate) fn new(code: i32, function: &'static str, sentence: String) -> Error {
        Error(Arc::new(ErrorInner { code, function, sentence, submitted: None, entry: None }))
    }

    /// Refused by this crate, before the library was asked.
    #[cold]
    pub(crate) fn refused(function: &'static str, sentence: String) -> Error {
        Error::new(ACL_ERROR_INVALID_PARAM, function, sentence)
    }

    /// The same, with the place where the work was submitted.
    #[cold]
    pub(crate) fn at(mut self, place: &'static Location<'static>) -> Error {
        Arc::make_mut(&mut self.0).submitted.get_or_insert(place);
        self
    }

    #[cold]
    pub(crate) fn of_entry(mut self, entry: Option<usize>) -> Error {
        Arc::make_mut(&mut self.0).entry = entry;
        self
    }

    /// The code of the interface, such as 107000.
    ///
    /// ```
    /// assert_eq!(ascendcl::Device::new(99).unwrap_err().code(), 107001);
    /// ```
    pub fn code(&self) -> i32 {
        self.0.code
    }

    /// The name of the code, as the headers spell it.
    ///
    /// ```
    /// let error = ascendcl::Device::new(99).unwrap_err();
    /// assert_eq!(error.name(), "ACL_ERROR_RT_INVALID_DEVICEID");
    /// ```
    pub fn name(&self) -> &'static str {
        code_name(self.0.code).unwrap_or("unknown code")
    }

    /// The function that failed: of the C interface, or of this crate when it refused by itself.
    ///
    /// ```
    /// // SAFETY: NULL is refused.
    /// let error = unsafe { ascendcl::raw::aclrtDestroyStream(std::ptr::null_mut()) }.unwrap_err();
    /// assert_eq!(error.function(), "aclrtDestroyStream");
    /// ```
    pub fn function(&self) -> &'static str {
        self.0.function
    }

    /// What the runtime says about it.
    ///
    /// ```
    /// let error = ascendcl::Device::new(99).unwrap_err();
    /// assert!(error.message().starts_with("there is no device 99"));
    /// ```
    pub fn message(&self) -> &str {
        &self.0.sentence
    }

    /// Where in the program the work was submitted, if it was work of a stream.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// let (host, mut device) = (context.alloc_pinned::<u8>(3)?, context.alloc_zeros::<u8>(4)?);
    /// let error = context.new_stream()?.upload(host, &mut device).unwrap_err();
    /// let place = error.submitted().expect("it is work of a stream");
    /// println!("{}:{}", place.file(), place.line());
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn submitted(&self) -> Option<&'static Location<'static>> {
        self.0.submitted
    }

    /// The entry of a [`Batch`](crate::Batch) that was refused, in the order of `push`.
    ///
    /// ```
    /// # use ascendcl::Batch;
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// # let cache = context.alloc_zeros::<u8>(8)?;
    /// let mut batch = Batch::download(context.alloc_pinned(4)?, [&cache]);
    /// batch.push(0..2, 0..2)?;
    /// assert_eq!(batch.push(2..4, 7..9).unwrap_err().entry(), Some(1));
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn entry(&self) -> Option<usize> {
        self.0.entry
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ErrorInner { code, function, sentence, submitted, entry } = &*self.0;
        write!(f, "{function} failed with {code} ({}): {sentence}", self.name())?;
        if let Some(entry) = entry {
            write!(f, " (entry {entry})")?;
        }
        match submitted {
            Some(place) => write!(f, " (submitted at {place})"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}
