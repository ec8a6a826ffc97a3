//! Locations of calls for messages outside of reports.

use crate::backtrace::{RawBacktrace, SymbolCache};
use crate::report::format;

/// Location of the call in progress, for example `app.c:42 in upload`: the leading frame outside `function`. Slow.
pub fn call_location(function: &str) -> Option<String> {
    let place = RawBacktrace::capture().resolve(Some(function), &mut SymbolCache::default());
    place.best().map(format::location)
}
