//! Sets the soname that clients link against and generates the exports of unsupported functions.

use ascendcl_sys::{FUNCTIONS, Support};
use std::fmt::Write as _;
use std::{env, fs, path::Path};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libascendcl.so");
    // The library has threads and signal handlers, so it cannot be unloaded.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&out).join("unsupported.rs"), unsupported()).expect("write unsupported.rs");
}

/// Generates one export per unsupported function. It takes no arguments, which the C calling conventions allow, because
/// the caller owns them.
fn unsupported() -> String {
    let mut source = String::new();
    for function in FUNCTIONS.iter().filter(|f| matches!(f.state, Support::Absent(_))) {
        let name = function.name;
        let result = function.prototype[..function.prototype.find(name).expect("a prototype contains the name of its function")].trim();
        let (kind, value) = match result {
            "aclError" => ("-> i32", "crate::unsupported::refuse(ROW)"),
            "void" => ("", "crate::unsupported::refuse(ROW);"),
            _ => ("-> usize", "{ crate::unsupported::refuse(ROW); 0 }"),
        };
        writeln!(
            source,
            "#[unsafe(no_mangle)]\npub extern \"C\" fn {name}() {kind} \
             {{ const ROW: &ascendcl_sys::Function = ascendcl_sys::rows::{name}; {value} }}"
        )
        .unwrap();
    }
    source
}
