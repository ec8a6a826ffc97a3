//! The entries of a batch: arrays whose lengths agree, and the checks that access no memory.

use softacl_errors::{Error, Result, fail};

/// A declared location: numbers of the API, untrusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location {
    pub kind: i32,
    pub device: u32,
}

/// What the program declares for consecutive entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchAttribute {
    pub target: Location,
    pub source: Location,
    pub reserved_is_zero: bool,
}

/// The arrays of a batch. All are present, with matching lengths.
pub(super) struct Entries<'a> {
    pub(super) targets: &'a [usize],
    pub(super) sources: &'a [usize],
    pub(super) sizes: &'a [usize],
    pub(super) attributes: &'a [BatchAttribute],
    pub(super) starts: &'a [usize],
}

/// Minimum number of entries of a batch that is certainly work for more than one thread.
const WAKE_MIN_ENTRIES: usize = 2048;
/// Number of entries that remain unchecked when the worker is woken: at 10 ns each, about 40 us.
const WAKE_LEAD: usize = 4096;

impl<'a> Entries<'a> {
    pub(super) fn check_attributes(&self) -> Result<()> {
        let (attributes, entries) = (self.attributes.len(), self.sizes.len());
        if attributes == 0 || attributes > entries {
            return fail(Error::Parameter(format!(
                "{attributes} attributes (numAttrs) for {entries} entries: there must be 1 to {entries}"
            )));
        }
        Ok(())
    }

    pub(super) fn check_starts(&self) -> Result<()> {
        let first = self.starts[0];
        if first != 0 {
            return fail(Error::Parameter(format!("attrsIndexes[0] is {first}, and must be 0")));
        }
        if let Some(k) = self.starts.windows(2).position(|pair| pair[0] >= pair[1]) {
            return fail(Error::Parameter(format!(
                "attrsIndexes must increase: element {} is {}, after {}",
                k + 1,
                self.starts[k + 1],
                self.starts[k]
            )));
        }
        let last = self.starts[self.starts.len() - 1];
        if last >= self.sizes.len() {
            return fail(Error::Parameter(format!(
                "attrsIndexes ends with {last}, but there are only {} entries",
                self.sizes.len()
            )));
        }
        Ok(())
    }

    /// The entry at which to wake a worker, so that it is awake when the checks end. Beyond the end for short batches.
    pub(super) fn wake_at(&self) -> usize {
        let count = self.sizes.len();
        if count < WAKE_MIN_ENTRIES { usize::MAX } else { count.saturating_sub(WAKE_LEAD) }
    }

    /// Each entry with its attribute.
    pub(super) fn with_attributes(&self) -> impl Iterator<Item = (usize, &'a BatchAttribute)> + use<'a> {
        let ends = self.starts[1..].iter().copied().chain([self.sizes.len()]);
        let runs = self.starts.iter().copied().zip(ends).zip(self.attributes);
        runs.flat_map(|((start, end), attribute)| (start..end).map(move |index| (index, attribute)))
    }

    /// Refuses entries that the asynchronous call rejects before it accesses memory.
    #[inline]
    pub(super) fn check_async_entry(&self, index: usize) -> Result<()> {
        if self.sizes[index] == 0 {
            return fail(Error::Parameter("it has no bytes, while others have".to_owned()));
        }
        self.check_elements(index).map_err(|(side, _)| Box::new(Error::Parameter(format!("the {side} is NULL"))))
    }

    /// Fails with the side and address of an element that is NULL.
    #[inline]
    pub(super) fn check_elements(&self, index: usize) -> std::result::Result<(), (&'static str, usize)> {
        for (side, address) in [("destination", self.targets[index]), ("source", self.sources[index])] {
            if address == 0 {
                return Err((side, address));
            }
        }
        Ok(())
    }
}
