//! Names the library as clients expect it and writes the exports of unsupported functions.

use ascendcl_sys::{FUNCTIONS, Support};
use std::fmt::Write as _;
use std::{env, fs, path::Path};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libascendcl.so");
    // The library keeps threads and handlers: it cannot be unloaded.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&out).join("unsupported.rs"), unsupported()).expect("write unsupported.rs");
}

/// One export per unsupported function. It takes no arguments, which the C calling conventions allow: the
/// caller owns them.
fn unsupported() -> String {
    let mut source = String::new();
    for function in FUNCTIONS.iter().filter(|f| matches!(f.state, Support::Absent(_))) {
        let name = function.name;
        let result = function.prototype[..function.prototype.find(name).expect("its own name")].trim();
        let (kind, value) = match result {
            "aclError" => ("-> i32", "crate::unsupported::refuse(NAME)"),
            "void" => ("", "crate::unsupported::refuse(NAME);"),
            _ => ("-> usize", "{ crate::unsupported::refuse(NAME); 0 }"),
        };
        writeln!(
            source,
            "#[unsafe(no_mangle)]\npub extern \"C\" fn {name}() {kind} {{ const NAME: &str = {name:?}; {value} }}"
        )
        .unwrap();
    }
    source
}
