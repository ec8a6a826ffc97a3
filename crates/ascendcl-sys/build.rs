//! Turns the tables into Rust: every constant of the interface and the function manifest.
//!
//! The tables are the single source; the C headers are checked against the same files by a test.

use std::fmt::Write as _;
use std::{env, fs, path::Path};

fn main() {
    println!("cargo::rerun-if-changed=tables");
    println!("cargo::rerun-if-changed=build.rs");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&out).join("constants.rs"), constants()).expect("write constants.rs");
    fs::write(Path::new(&out).join("manifest.rs"), manifest()).expect("write manifest.rs");
}

fn rows(table: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(table).unwrap_or_else(|e| panic!("{table}: {e}"));
    text.lines().skip(1).map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

fn constants() -> String {
    let mut source = String::new();
    let mut codes = String::from("pub const CODES: &[(i32, &str)] = &[\n");
    for row in rows("tables/constants.tsv") {
        let (group, name, value) = (&row[0], &row[1], &row[2]);
        let number: i64 = value.parse().unwrap_or_else(|_| panic!("{name}: {value}"));
        let kind = if i32::try_from(number).is_ok() { "i32" } else { "i64" };
        writeln!(source, "#[doc = \"`{group}`\"]\npub const {name}: {kind} = {number};").unwrap();
        if name.starts_with("ACL_ERROR_") && number != 0 {
            writeln!(codes, "    ({number}, \"{name}\"),").unwrap();
        }
    }
    codes.push_str("];\n");
    source + "/// Every non-zero error code with its name.\n" + &codes
}

/// Product columns of products.tsv, in the order of the bits of `Function::products`.
fn product_bits(cells: &[String]) -> u8 {
    let mut bits = 0;
    for (bit, cell) in cells.iter().take(6).enumerate() {
        // "950PR:Y,950DT:N" counts as supported: the profile is the PR chip.
        if cell.starts_with('Y') || cell.contains("PR:Y") {
            bits |= 1 << bit;
        }
    }
    bits
}

fn manifest() -> String {
    let products = rows("tables/products.tsv");
    let mut source = String::from("pub static FUNCTIONS: &[Function] = &[\n");
    for row in rows("tables/manifest.tsv") {
        let [name, header, area, priority, deprecated, state, limit, prototype] = &row[..] else {
            panic!("manifest.tsv: {row:?} does not have eight columns");
        };
        let bits = products
            .iter()
            .find(|product| &product[0] == name)
            .map_or(0b11_1111, |product| product_bits(&product[1..]));
        let state = match (state.as_str(), limit.is_empty()) {
            ("complete", true) => "Support::Complete".to_owned(),
            ("partial", false) => format!("Support::Partial({limit:?})"),
            ("absent", _) => format!("Support::Absent({limit:?})"),
            _ => panic!("manifest.tsv: {name}: state {state:?} with limit {limit:?}"),
        };
        writeln!(
            source,
            "    Function {{ name: {name:?}, header: {header:?}, area: {area:?}, \
             priority: Priority::{priority}, deprecated: {}, products: {bits:#08b}, \
             state: {state}, prototype: {prototype:?} }},",
            deprecated == "yes"
        )
        .unwrap();
    }
    source + "];\n"
}
