//! The function table: the addresses of the functions of a library. `library` selects the library; the parent module
//! has the functions to call.

use ascendcl_sys::*;
use std::ffi::{CStr, c_char, c_void};
use std::fmt;

/// Expands to the type of a C function. `first` and `last` are the position of the result pointer.
macro_rules! signature {
    (plain [] $($kind:ty),*) => { unsafe extern "C" fn($($kind),*) -> aclError };
    (first [$out:ty] $($kind:ty),*) => { unsafe extern "C" fn(*mut $out $(, $kind)*) -> aclError };
    (last [$out:ty] $($kind:ty),*) => { unsafe extern "C" fn($($kind,)* *mut $out) -> aclError };
    (text [] $($kind:ty),*) => { unsafe extern "C" fn($($kind),*) -> *const c_char };
    (value [$out:ty] $($kind:ty),*) => { unsafe extern "C" fn($($kind),*) -> $out };
    (void [] $($kind:ty),*) => { unsafe extern "C" fn($($kind),*) };
    (variadic [] $($kind:ty),*) => { unsafe extern "C" fn($($kind,)* ...) };
}

/// Expands the table that `build.rs` generates: shape, name, result type, documentation, arguments. The result is the
/// struct of addresses and the symbols of the bundled library.
macro_rules! functions {
    ($($shape:ident $name:ident [$($out:ty)?] [$doc:literal] ($($arg:ident: $kind:ty),* $(,)?);)*) => {
        /// The functions of a library, which may lack some of them.
        ///
        /// [`functions`](super::functions) returns those of the loaded library. [`install`](super::install) replaces
        /// the library, for example by a fake one in a test:
        ///
        /// ```
        /// use ascendcl::raw::{Functions, install};
        /// use std::ptr;
        ///
        /// unsafe extern "C" fn count(result: *mut u32) -> i32 {
        ///     // SAFETY: the caller passes a valid pointer.
        ///     unsafe { result.write(7) };
        ///     0
        /// }
        ///
        /// // SAFETY: the function has the signature of aclrtGetDeviceCount.
        /// let functions = unsafe {
        ///     Functions::load_with(|name| {
        ///         if name == c"aclrtGetDeviceCount" { count as *const _ } else { ptr::null() }
        ///     })
        /// };
        /// install(functions)?;
        /// assert_eq!(ascendcl::Device::count()?, 7);
        /// # Ok::<(), ascendcl::Error>(())
        /// ```
        #[derive(Clone, Copy)]
        pub struct Functions { $(pub(super) $name: Option<signature!($shape [$($out)?] $($kind),*)>,)* }

        impl Functions {
            /// Looks up every function by name. `find` returns NULL for functions that the library does not have.
            ///
            /// # Safety
            ///
            /// For each name, `find` must return NULL or the address of a function with the C signature of that name,
            /// which must remain valid until the process exits.
            ///
            /// ```
            /// let mut names = 0;
            /// // SAFETY: NULL is allowed for every name.
            /// unsafe { ascendcl::raw::Functions::load_with(|_| { names += 1; std::ptr::null() }) };
            /// assert!(names > 500);
            /// ```
            #[must_use]
            pub unsafe fn load_with(mut find: impl FnMut(&CStr) -> *const c_void) -> Functions {
                Functions {$(
                    $name: {
                        type Signature = Option<signature!($shape [$($out)?] $($kind),*)>;
                        let name = concat!(stringify!($name), "\0");
                        let name = CStr::from_bytes_with_nul(name.as_bytes()).expect("one NUL, at the end");
                        let address = find(name);
                        // SAFETY: NULL is `None`; the caller guarantees that other addresses have this signature.
                        unsafe { std::mem::transmute::<*const c_void, Signature>(address) }
                    },
                )*}
            }

            $(
                #[doc = concat!("Returns the C function `", stringify!($name), "`. `None` if the library lacks it.")]
                #[inline]
                #[must_use]
                pub fn $name(&self) -> Option<signature!($shape [$($out)?] $($kind),*)> {
                    self.$name
                }
            )*
        }

        /// Returns the address of a function of the bundled softacl.
        #[cfg(feature = "bundled")]
        pub(super) fn bundled(name: &CStr) -> *const c_void {
            use ascendcl_capi as _;
            match name.to_bytes() {
                $(name if name == stringify!($name).as_bytes() => {
                    // Declared without arguments, because only the address is taken.
                    unsafe extern "C" { fn $name(); }
                    $name as *const c_void
                })*
                _ => std::ptr::null(),
            }
        }

        /// Name, shape and number of arguments, for the comparison with the manifest.
        #[cfg(test)]
        const TABLE: &[(&str, &str, usize)] = &[$((
            stringify!($name),
            stringify!($shape),
            <[&str]>::len(&[$(stringify!($arg)),*]),
        )),*];
    };
}

include!(concat!(env!("OUT_DIR"), "/functions.rs"));

impl fmt::Debug for Functions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Functions")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_has_every_function_of_the_manifest_with_its_arguments() {
        let table: Vec<_> = TABLE.iter().filter(|(name, ..)| !name.starts_with("softacl")).collect();
        assert_eq!(table.len(), FUNCTIONS.len());
        for (name, shape, count) in table {
            let function = manifest::function(name).unwrap_or_else(|| panic!("{name} is not in the manifest"));
            let inside = function.prototype.split_once('(').expect("a prototype has an argument list").1;
            let inside = inside.rsplit_once(')').expect("an argument list is closed").0.trim();
            let expected = if inside.is_empty() || inside == "void" { 0 } else { inside.split(',').count() };
            let omitted = usize::from(matches!(*shape, "first" | "last" | "variadic"));
            assert_eq!(count + omitted, expected, "{}", function.prototype);
        }
    }

    #[cfg(feature = "bundled")]
    #[test]
    fn bundled_library_exports_every_function() {
        let missing: Vec<_> = TABLE
            .iter()
            .filter(|(name, ..)| bundled(&std::ffi::CString::new(*name).expect("names contain no NUL")).is_null())
            .collect();
        assert_eq!(missing, Vec::<&(&str, &str, usize)>::new());
    }
}
