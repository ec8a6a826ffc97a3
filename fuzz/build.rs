//! Generates a table of every public function: name, prototype and address.

use ascendcl_sys::FUNCTIONS;
use std::fmt::Write as _;
use std::{env, fs, path::Path};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let mut source = String::from("unsafe extern \"C\" {\n");
    for function in FUNCTIONS {
        writeln!(source, "    fn {}();", function.name).unwrap();
    }
    source.push_str("}\n\n/// Name, prototype and address of every public function.\n");
    source.push_str("pub static TABLE: &[(&str, &str, unsafe extern \"C\" fn())] = &[\n");
    for function in FUNCTIONS {
        writeln!(source, "    ({:?}, {:?}, {}),", function.name, function.prototype, function.name).unwrap();
    }
    source.push_str("];\n");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&out).join("table.rs"), source).expect("write table.rs");
}
