//! Regions in which no call may wait without being allowed to: `softaclNoHiddenSyncBegin` to `softaclNoHiddenSyncEnd`.
//!
//! A region belongs to the thread that began it. It needs no observer: while a region is open anywhere in the process,
//! calls run the hooks of the entry, and every call that waits by its contract is recorded, whether or not there was
//! something to wait for. So the result does not depend on timing.

use crate::process;
use ascendcl_sys::{Family, Function};
use std::cell::RefCell;

/// Number of waits of a region that are recorded with their location. The others are only counted.
const MAX_WAITS: usize = 64;

thread_local! {
    /// Open regions of the thread, outermost first.
    static REGIONS: RefCell<Vec<Region>> = const { RefCell::new(Vec::new()) };
}

struct Region {
    name: String,
    allowed: Vec<&'static Function>,
    /// Number of blocked copies of the thread that were seen.
    blocked: u64,
    /// Descriptions of the waits, and how often each occurred.
    waits: Vec<(String, usize)>,
    /// Number of waits, including those without a description.
    count: usize,
}

/// Begins a region of the calling thread. `allow` lists functions, separated by commas. Fails if one does not exist.
pub(crate) fn begin(name: &str, allow: &str) -> Result<(), String> {
    let names = allow.split(',').map(str::trim).filter(|name| !name.is_empty());
    let lookup =
        |name| ascendcl_sys::manifest::function(name).ok_or_else(|| format!("{name:?} is not a function of the API"));
    let allowed = names.map(lookup).collect::<Result<_, _>>()?;
    let blocked = softacl_engine::blocked_copies();
    REGIONS.with_borrow_mut(|regions| {
        regions.push(Region { name: name.to_owned(), allowed, blocked, waits: Vec::new(), count: 0 });
    });
    process::region_opened();
    Ok(())
}

/// Ends the innermost region of the calling thread. Returns the number of its waits and a line for each. `None` if the
/// thread has no region.
pub(crate) fn end() -> Option<(usize, Vec<String>)> {
    let region = REGIONS.with_borrow_mut(Vec::pop)?;
    process::region_closed();
    let line = |(text, count): (String, usize)| match count {
        1 => text,
        count => format!("{text} ({count} times)"),
    };
    let described: usize = region.waits.iter().map(|(_, count)| count).sum();
    let mut lines: Vec<String> = region.waits.into_iter().map(line).collect();
    if region.count > described {
        lines.push(format!("and {} more", region.count - described));
    }
    Some((region.count, lines))
}

/// Records the wait of a call that has just ended, if it waited.
pub(crate) fn call_ended(function: &'static Function) {
    // The thread-local value of an ending thread is already destroyed.
    let _ = REGIONS.try_with(|regions| {
        let mut regions = regions.borrow_mut();
        let Some(innermost) = regions.last() else { return };
        let blocked = softacl_engine::blocked_copies();
        let reason = match reason(function) {
            None if blocked > innermost.blocked => "its host memory is pageable, so it waited for the stream",
            None => return,
            Some(reason) => reason,
        };
        for region in regions.iter_mut() {
            region.blocked = blocked;
            if !region.allowed.iter().any(|allowed| allowed.name == function.name) {
                region.record(function, reason);
            }
        }
    });
}

impl Region {
    fn record(&mut self, function: &'static Function, reason: &str) {
        self.count += 1;
        // Finding a location is slow.
        if self.waits.len() == MAX_WAITS {
            return;
        }
        let at = softacl_checker::call_location(function.name).map_or(String::new(), |at| format!(" at {at}"));
        let prefix = if self.name.is_empty() { String::new() } else { format!("{}: ", self.name) };
        let text = format!("{prefix}{}{at}: {reason}", function.name);
        match self.waits.iter_mut().find(|(known, _)| *known == text) {
            Some((_, count)) => *count += 1,
            None => self.waits.push((text, 1)),
        }
    }
}

/// Why a call of the function waits. `None` if it does not wait by its contract.
fn reason(function: &Function) -> Option<&'static str> {
    match function.family {
        Family::Synchronize => Some("an explicit wait"),
        Family::ResetDevice => Some("it waits for the work of the device"),
        // Not those that only prepare a descriptor.
        Family::Copy | Family::Plane | Family::Batch | Family::Fill
            if !function.is_asynchronous && function.name.starts_with("aclrtMem") =>
        {
            Some("it is synchronous")
        }
        _ => match function.name {
            "aclrtFreeWithDevSync" | "aclrtFreeHostWithDevSync" => Some("it synchronizes the device before it frees"),
            "aclrtDestroyStream" => Some("it waits for the tasks of the stream"),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_wait_are_known() {
        let waits = |name: &str| reason(ascendcl_sys::manifest::function(name).unwrap()).is_some();
        for name in ["aclrtSynchronizeStream", "aclrtMemcpy", "aclrtMemset", "aclrtMemcpy2d", "aclrtMemcpyBatch"] {
            assert!(waits(name), "{name}");
        }
        for name in ["aclrtDestroyStream", "aclrtResetDevice", "aclrtFreeWithDevSync"] {
            assert!(waits(name), "{name}");
        }
        for name in ["aclrtMemcpyAsync", "aclrtFree", "aclrtMalloc", "aclrtSetMemcpyDesc", "aclrtDestroyStreamForce"] {
            assert!(!waits(name), "{name}");
        }
    }

    #[test]
    fn region_needs_its_begin_and_known_functions() {
        assert!(end().is_none());
        assert!(begin("x", "aclrtMemcpy, noSuchFunction").unwrap_err().contains("noSuchFunction"));
        assert!(end().is_none(), "a refused region is not open");
        begin("outer", "").unwrap();
        begin("inner", "aclrtMemset").unwrap();
        call_ended(ascendcl_sys::manifest::function("aclrtMemset").unwrap());
        assert_eq!(end(), Some((0, Vec::new())));
        let (count, lines) = end().unwrap();
        assert!(count == 1 && lines[0].starts_with("outer: aclrtMemset"), "{lines:?}");
    }
}
