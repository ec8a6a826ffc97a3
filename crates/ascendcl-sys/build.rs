//! Generates the Rust constants and the function manifest from `tables/`.
//!
//! The tables are the single source; a test compares the C headers with the same files. A table that contradicts
//! itself fails the build: an unknown word, a row with a missing column, or a role for a parameter that the prototype
//! does not have.

use std::fmt::Write as _;
use std::{env, fs, path::Path};

fn main() {
    println!("cargo::rerun-if-changed=tables");
    println!("cargo::rerun-if-changed=build.rs");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&out).join("constants.rs"), constants()).expect("write constants.rs");
    fs::write(Path::new(&out).join("manifest.rs"), manifest()).expect("write manifest.rs");
}

/// Rows of a table whose header line is exactly `columns`.
fn rows<const N: usize>(table: &str, columns: [&str; N]) -> Vec<[String; N]> {
    let path = format!("tables/{table}");
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let mut rows = text.lines().map(|line| {
        let cells: Vec<String> = line.split('\t').map(str::to_owned).collect();
        <[String; N]>::try_from(cells).unwrap_or_else(|cells| panic!("{path}: {cells:?} does not have {N} columns"))
    });
    assert_eq!(rows.next().as_ref().map(|head| head.each_ref().map(String::as_str)), Some(columns), "{path}");
    rows.collect()
}

fn constants() -> String {
    let mut source = String::new();
    let mut codes = String::from("pub const CODES: &[(i32, &str)] = &[\n");
    for [group, name, value] in rows("constants.tsv", ["group", "name", "value"]) {
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

/// Product bits of a function that products.tsv does not list.
const ALL_PRODUCTS: u8 = 0b11_1111;

/// One row of the manifest, as the tables spell it.
struct Row<'a> {
    name: &'a str,
    header: &'a str,
    area: &'a str,
    priority: &'a str,
    is_deprecated: bool,
    replacement: &'a str,
    products: u8,
    state: &'a str,
    limit: &'a str,
    family: &'a str,
    traits: &'a str,
    bytes: &'a str,
    device: &'a str,
    stream: &'a str,
    prototype: &'a str,
}

impl Row<'_> {
    /// The row as a Rust expression.
    fn literal(&self) -> String {
        let Row { name, header, area, priority, family, prototype, .. } = self;
        let parameters = parameters(name, prototype);
        let replacement = (!self.replacement.is_empty()).then_some(self.replacement);
        let has = |word: &str| self.traits.split(',').any(|given| given == word);
        for word in self.traits.split(',').filter(|word| !word.is_empty()) {
            assert!(TRAITS.contains(&word), "{name}: unknown trait {word:?}");
        }
        let returns_code = prototype.starts_with("aclError ");
        assert!(returns_code || !has("value"), "{name}: only a function of type aclError can be marked as a value");
        format!(
            "Function {{ name: {name:?}, header: {header:?}, area: {area:?}, priority: Priority::{priority}, \
             deprecated: {}, replacement: {replacement:?}, products: {:#08b}, state: {}, family: Family::{family}, \
             is_asynchronous: {}, is_query: {}, has_code: {}, uses_machine: {}, bytes: {}, device: {:?}, stream: {:?}, \
             parameters: &{parameters:?}, prototype: {prototype:?} }}",
            self.is_deprecated,
            self.products,
            self.support(),
            has("asynchronous"),
            has("query"),
            returns_code && !has("value"),
            !has("standalone"),
            self.byte_count(&parameters),
            self.optional_position(&parameters, self.device),
            self.optional_position(&parameters, self.stream),
        )
    }

    fn support(&self) -> String {
        match (self.state, self.limit.is_empty()) {
            ("complete", true) => "Support::Complete".to_owned(),
            ("partial", false) => format!("Support::Partial({:?})", self.limit),
            ("absent", _) => format!("Support::Absent({:?})", self.limit),
            _ => panic!("{}: state {:?} with limit {:?}", self.name, self.state, self.limit),
        }
    }

    /// Reads the `bytes` column: `size`, `4*N`, `width*height`, `sizes[count]`, `unknown`, or nothing.
    fn byte_count(&self, parameters: &[&str]) -> String {
        let at = |parameter: &str| self.position(parameters, parameter);
        if let Some((sizes, count)) = self.bytes.strip_suffix(']').and_then(|text| text.split_once('[')) {
            return format!("ByteCount::Sum {{ sizes: {}, count: {} }}", at(sizes), at(count));
        }
        match (self.bytes, self.bytes.split_once('*')) {
            ("", _) => "ByteCount::None".to_owned(),
            ("unknown", _) => "ByteCount::Unknown".to_owned(),
            (argument, None) => format!("ByteCount::Argument({})", at(argument)),
            (_, Some((first, second))) => match first.parse::<u64>() {
                Ok(size) => format!("ByteCount::Elements {{ count: {}, size: {size} }}", at(second)),
                Err(_) => format!("ByteCount::Product({}, {})", at(first), at(second)),
            },
        }
    }

    fn optional_position(&self, parameters: &[&str], parameter: &str) -> Option<usize> {
        (!parameter.is_empty()).then(|| self.position(parameters, parameter))
    }

    fn position(&self, parameters: &[&str], parameter: &str) -> usize {
        parameters
            .iter()
            .position(|known| *known == parameter)
            .unwrap_or_else(|| panic!("{}: {parameter:?} is not one of its parameters {parameters:?}", self.name))
    }
}

/// Words of the `traits` column.
const TRAITS: [&str; 4] = ["asynchronous", "query", "value", "standalone"];

/// The parameter names of a prototype.
fn parameters<'a>(name: &str, prototype: &'a str) -> Vec<&'a str> {
    let list = prototype.split_once(&format!("{name}(")).and_then(|(_, rest)| rest.strip_suffix(");"));
    let list = list.unwrap_or_else(|| panic!("{name}: {prototype:?} is not its prototype"));
    let declarations = list.split(',').map(str::trim).filter(|text| !matches!(*text, "" | "void" | "..."));
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    declarations
        .map(|declaration| {
            let declarator = declaration.trim_end_matches("[]");
            &declarator[declarator.rfind(|letter| !is_name(letter)).map_or(0, |at| at + 1)..]
        })
        .collect()
}

const MANIFEST: [&str; 14] = [
    "name",
    "header",
    "area",
    "priority",
    "deprecated",
    "replacement",
    "state",
    "limit",
    "family",
    "traits",
    "bytes",
    "device",
    "stream",
    "prototype",
];
const PRODUCTS: [&str; 8] = ["api", "950", "A3", "A2", "310B", "310P", "910", "IPV350"];

fn manifest() -> String {
    let products = rows("products.tsv", PRODUCTS);
    let products =
        |name: &str| products.iter().find(|row| row[0] == name).map_or(ALL_PRODUCTS, |row| product_bits(&row[1..]));
    let mut functions = Table::new("TABLE");
    for cells in rows("manifest.tsv", MANIFEST) {
        let [
            name,
            header,
            area,
            priority,
            deprecated,
            replacement,
            state,
            limit,
            family,
            traits,
            bytes,
            device,
            stream,
            prototype,
        ] = cells.each_ref().map(String::as_str);
        let row = Row {
            name,
            header,
            area,
            priority,
            replacement,
            state,
            limit,
            family,
            traits,
            bytes,
            device,
            stream,
            prototype,
            is_deprecated: deprecated == "yes",
            products: products(name),
        };
        functions.add(&row);
    }
    let mut others = Table::new("OTHERS");
    for [name, header, _, prototype] in &rows("operators.tsv", ["name", "header", "note", "prototype"]) {
        let stream = if prototype.contains("aclrtStream stream") { "stream" } else { "" };
        others.add(&other(name, header, "Operator", "", stream, prototype));
    }
    let columns = ["name", "header", "family", "bytes", "stream", "prototype"];
    for [name, header, family, bytes, stream, prototype] in &rows("extensions.tsv", columns) {
        others.add(&other(name, header, family, bytes, stream, prototype));
    }
    format!(
        "{}{}/// The row of each function, under its C name.\n#[allow(non_upper_case_globals)]\n\
         pub mod rows {{\nuse super::{{Function, OTHERS, TABLE}};\n{}{}}}\n",
        functions.declaration(),
        others.declaration(),
        functions.rows,
        others.rows,
    )
}

/// The row of a function that is not in the public runtime manifest.
fn other<'a>(
    name: &'a str,
    header: &'a str,
    family: &'a str,
    bytes: &'a str,
    stream: &'a str,
    prototype: &'a str,
) -> Row<'a> {
    Row {
        name,
        header,
        area: "",
        priority: "P2",
        is_deprecated: false,
        replacement: "",
        products: ALL_PRODUCTS,
        state: "complete",
        limit: "",
        family,
        traits: "",
        bytes,
        device: "",
        stream,
        prototype,
    }
}

/// Generated source of one array of functions and of the constants that name its elements.
struct Table {
    name: &'static str,
    len: usize,
    elements: String,
    rows: String,
}

impl Table {
    fn new(name: &'static str) -> Table {
        Table { name, len: 0, elements: String::new(), rows: String::new() }
    }

    fn add(&mut self, row: &Row<'_>) {
        writeln!(self.elements, "    {},", row.literal()).unwrap();
        writeln!(self.rows, "    pub const {}: &Function = &{}[{}];", row.name, self.name, self.len).unwrap();
        self.len += 1;
    }

    fn declaration(&self) -> String {
        format!("static {}: [Function; {}] = [\n{}];\n", self.name, self.len, self.elements)
    }
}
