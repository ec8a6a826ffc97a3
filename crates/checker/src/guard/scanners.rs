//! Functions of the C library that load more bytes than they use: string functions and searches read whole vectors,
//! beyond the end of a text and before its start. The address of such a load says nothing about the bytes in flight, so
//! it does not count. The interposer reports the bytes that these functions used after they return.

use std::collections::BTreeSet;
use std::ffi::{CStr, c_void};

const NAMES: [&CStr; 38] = [
    c"strlen",
    c"strnlen",
    c"strchr",
    c"strrchr",
    c"strchrnul",
    c"index",
    c"rindex",
    c"memchr",
    c"memrchr",
    c"rawmemchr",
    c"strcmp",
    c"strncmp",
    c"strcasecmp",
    c"strncasecmp",
    c"strcasecmp_l",
    c"strncasecmp_l",
    c"strcoll",
    c"strcpy",
    c"stpcpy",
    c"strncpy",
    c"stpncpy",
    c"strcat",
    c"strncat",
    c"strstr",
    c"strcasestr",
    c"memmem",
    c"strspn",
    c"strcspn",
    c"strpbrk",
    c"strtok",
    c"strtok_r",
    c"wcslen",
    c"wcsnlen",
    c"wcschr",
    c"wcscmp",
    c"wcscpy",
    c"wmemchr",
    c"strsep",
];

unsafe extern "C" {
    /// Of the unwinder: the start of the function that contains an instruction. Known for assembly code, too.
    fn _Unwind_FindEnclosingFunction(code: *const c_void) -> *const c_void;
}

/// Entry points of the functions, in the variants that this processor uses.
#[derive(Debug, Default)]
pub(super) struct Scanners(BTreeSet<usize>);

impl Scanners {
    pub(super) fn find() -> Scanners {
        // SAFETY: names a library that is loaded already, or returns null.
        let library = unsafe { libc::dlopen(c"libc.so.6".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if library.is_null() {
            return Scanners::default();
        }
        // SAFETY: looks up a name in a loaded library, which is never unloaded.
        let entries = NAMES.iter().map(|name| unsafe { libc::dlsym(library, name.as_ptr()) } as usize);
        Scanners(entries.filter(|entry| *entry != 0).collect())
    }

    /// True if an instruction belongs to one of the functions. Called in a signal handler.
    pub(super) fn contain(&self, code: usize) -> bool {
        // SAFETY: the function accepts any address and only searches the tables of the unwinder.
        code != 0 && self.0.contains(&(unsafe { _Unwind_FindEnclosingFunction(code as *const c_void) } as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_string_functions_is_recognized() {
        let scanners = Scanners::find();
        // SAFETY: looks up names in the loaded libraries.
        let [length, copy] =
            [c"strlen", c"memcpy"].map(|name| unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) });
        assert!(scanners.contain(length as usize + 4));
        assert!(!scanners.contain(copy as usize + 4));
        assert!(!scanners.contain(code_of_string_functions_is_recognized as *const () as usize));
    }
}
