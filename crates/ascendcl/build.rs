//! Writes the table of `raw`: one line for each function of the interface, from the prototypes of the manifest.
//!
//! What is decided here and not there: which results are returned instead of being written through a pointer.

use ascendcl_sys::manifest::{LAYOUTS, TYPEDEFS};
use ascendcl_sys::{FUNCTIONS, Function};
use std::fmt::Write as _;
use std::{env, fs, path::Path};

/// Functions whose first argument is where the result goes.
const FIRST: &[&str] = &[
    "aclrtCreateContext",
    "aclrtCreateEvent",
    "aclrtCreateEventExWithFlag",
    "aclrtCreateEventWithFlag",
    "aclrtCreateStream",
    "aclrtCreateStreamWithConfig",
    "aclrtDeviceCanAccessPeer",
    "aclrtEventElapsedTime",
    "aclrtGetCurrentContext",
    "aclrtGetDevice",
    "aclrtGetDeviceCount",
    "aclrtGetRunMode",
    "aclrtMalloc",
    "aclrtMallocHost",
];

/// Functions whose last argument is where the result goes.
const LAST: &[&str] = &[
    "aclrtGetMemcpyDescSize",
    "aclrtPointerGetAttributes",
    "aclrtQueryEventStatus",
    "aclrtStreamGetId",
    "aclrtStreamQuery",
];

/// Structs that `ascendcl-sys` has; of others only the address is known.
const STRUCTS: &[&str] = &[
    "aclCANNPackageVersion",
    "aclmdlRICondTaskParams",
    "aclrtCntNotifyRecordInfo",
    "aclrtCntNotifyWaitInfo",
    "aclrtErrorInfo",
    "aclrtIpcEventHandle",
    "aclrtMallocConfig",
    "aclrtMemAccessDesc",
    "aclrtMemLocation",
    "aclrtMemManagedLocation",
    "aclrtMemPoolProps",
    "aclrtMemUceInfo",
    "aclrtMemUsageInfo",
    "aclrtMemcpyBatchAttr",
    "aclrtPhysicalMemProp",
    "aclrtPtrAttributes",
    "aclrtStreamAttrValue",
    "aclrtUtilizationInfo",
    "aclrtUuid",
    "dim3",
];

/// Structs that are only declared.
const OPAQUE: &[&str] = &[
    "acldumpTensorInfo",
    "aclprofAicoreEvents",
    "aclprofConfig",
    "aclprofEventAttributes",
    "aclprofStepInfo",
    "aclprofSubscribeConfig",
    "acltdtChannelHandle",
    "acltdtDataItem",
    "acltdtDataset",
    "acltdtQueueAttr",
    "acltdtQueueRoute",
    "acltdtQueueRouteList",
    "acltdtQueueRouteQueryInfo",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let mut table = String::from("functions! {\n");
    for function in FUNCTIONS {
        line(&mut table, function);
    }
    table
        .push_str("    text softaclVersion [] [\"`const char *softaclVersion(void)`: only softacl has it.\"] ();\n}\n");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&out).join("functions.rs"), table).expect("the table can be written");
}

/// `shape name [result] ["documentation"] (arguments);`
fn line(table: &mut String, function: &Function) {
    let (head, inside) = function.prototype.split_once('(').expect("a prototype has arguments");
    let inside = inside.rsplit_once(')').expect("and they end").0.trim();
    let result = head.trim_end().strip_suffix(function.name).expect("a prototype has its name").trim();
    let mut arguments: Vec<(String, String)> = match inside {
        "" | "void" => Vec::new(),
        inside => inside.split(',').filter(|text| text.trim() != "...").map(argument).collect(),
    };
    let (shape, out) = if FIRST.contains(&function.name) {
        ("first", pointee(&arguments.remove(0).1))
    } else if LAST.contains(&function.name) {
        ("last", pointee(&arguments.pop().expect("it has arguments").1))
    } else if inside.ends_with("...") {
        ("varied", String::new())
    } else {
        match result {
            "aclError" => ("plain", String::new()),
            "const char*" => ("text", String::new()),
            "void" => ("silent", String::new()),
            value => ("value", rust_type(value)),
        }
    };
    let arguments: Vec<String> = arguments.iter().map(|(name, kind)| format!("{name}: {kind}")).collect();
    let prototype = function.prototype.trim_end_matches(';');
    let document = format!("`{prototype}`: {} (`{}`).", function.area, function.header);
    writeln!(table, "    {shape} {} [{out}] [{document:?}] ({});", function.name, arguments.join(", ")).unwrap();
}

/// Name and Rust type of an argument in C.
fn argument(text: &str) -> (String, String) {
    let text = text.trim();
    let start = text.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |place| place + 1);
    let (kind, name) = text.split_at(start);
    assert!(!kind.is_empty() && !name.is_empty(), "{text} has a type and a name");
    let name =
        if ["type", "ref", "in", "mod", "fn", "loop"].contains(&name) { format!("r#{name}") } else { name.into() };
    (name, rust_type(kind))
}

fn pointee(kind: &str) -> String {
    kind.strip_prefix("*mut ").unwrap_or_else(|| panic!("{kind} is no place for a result")).to_owned()
}

/// What a type in C is in Rust.
fn rust_type(text: &str) -> String {
    let spaced = text.replace('*', " * ");
    let mut words: Vec<&str> = spaced.split_whitespace().collect();
    let is_const = words.first() == Some(&"const");
    words.retain(|word| *word != "const");
    let base = words[0];
    let stars = words.iter().filter(|word| **word == "*").count();
    assert_eq!(words.len(), stars + 1, "{text} is understood");
    let mut kind = base_type(base, stars > 0);
    for star in 0..stars {
        kind = format!("{} {kind}", if is_const && star == 0 { "*const" } else { "*mut" });
    }
    kind
}

fn base_type(name: &str, is_behind_pointer: bool) -> String {
    let plain = match name {
        "void" if is_behind_pointer => "c_void",
        "char" => "c_char",
        "size_t" => "usize",
        "int8_t" => "i8",
        "int32_t" | "int" | "aclError" => "i32",
        "int64_t" => "i64",
        "uint32_t" => "u32",
        "uint64_t" => "u64",
        "aclFloat16" => "u16",
        "float" => "f32",
        "acltdtBuf" => "*mut c_void",
        "aclrtContext" | "aclrtStream" | "aclrtEvent" | "aclrtCallback" | "aclrtHostFunc" => name,
        _ if STRUCTS.contains(&name) => name,
        _ => "",
    };
    if !plain.is_empty() {
        return plain.to_owned();
    }
    let line_of = |table: &'static str| table.lines().find(|line| line.split('\t').next() == Some(name));
    let is_struct = match line_of(TYPEDEFS) {
        // A handle, or a function, which is an address all the same.
        Some(declaration) if declaration.contains("typedef void *") || declaration.contains("(*") => {
            return "*mut c_void".to_owned();
        }
        Some(declaration) => declaration.contains("typedef struct"),
        None => OPAQUE.contains(&name) || line_of(LAYOUTS).is_some(),
    };
    match (is_struct, is_behind_pointer) {
        (true, true) => "c_void".to_owned(),
        (true, false) => panic!("{name} is passed by value, and ascendcl-sys does not have it"),
        // What is left are enumerations.
        (false, _) => "i32".to_owned(),
    }
}
