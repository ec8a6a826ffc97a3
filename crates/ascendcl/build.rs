//! Generates the function table of `raw` from the prototypes of the manifest, one line per function.
//!
//! The manifest does not contain the functions that softacl adds, nor which results are returned instead of written
//! through a pointer. Both are defined here.

use ascendcl_sys::FUNCTIONS;
use ascendcl_sys::manifest::{LAYOUTS, TYPEDEFS};
use std::fmt::Write as _;
use std::{env, fs, path::Path};

/// Functions whose first argument points to the result.
const RESULT_FIRST: &[&str] = &[
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

/// Functions whose last argument points to the result.
const RESULT_LAST: &[&str] = &[
    "aclrtGetMemcpyDescSize",
    "aclrtPointerGetAttributes",
    "aclrtQueryEventStatus",
    "aclrtStreamGetId",
    "aclrtStreamQuery",
    "softaclHostView",
];

/// Functions that softacl adds to the API: prototype and header.
const EXTENSIONS: &[(&str, &str)] = &[
    ("aclError softaclAnnotateRead(aclrtStream stream, const void *ptr, size_t size)", "softacl/annotate.h"),
    ("aclError softaclAnnotateWrite(aclrtStream stream, const void *ptr, size_t size)", "softacl/annotate.h"),
    ("aclError softaclAnnotateAlloc(const void *ptr, size_t size, aclrtStream stream)", "softacl/annotate.h"),
    ("aclError softaclAnnotateFree(const void *ptr, size_t size, aclrtStream stream)", "softacl/annotate.h"),
    ("aclError softaclHostView(void *devPtr, size_t size, void **hostPtr)", "softacl/softacl.h"),
    ("aclError softaclNoHiddenSyncBegin(const char *name, const char *allow)", "softacl/softacl.h"),
    ("size_t softaclNoHiddenSyncEnd(char *text, size_t size)", "softacl/softacl.h"),
    ("aclError softaclTraceRangeBegin(const char *name)", "softacl/softacl.h"),
    ("aclError softaclTraceRangeEnd(void)", "softacl/softacl.h"),
    ("int softaclIsChecking(void)", "softacl/softacl.h"),
    ("int softaclTellFindings(void)", "softacl/softacl.h"),
    ("size_t softaclFindings(char *text, size_t size)", "softacl/softacl.h"),
    ("size_t softaclUnobservedErrors(char *text, size_t size)", "softacl/softacl.h"),
    ("const char* softaclVersion(void)", "softacl/softacl.h"),
];

/// Structs that `ascendcl-sys` defines. Pointers to other structs become `*mut c_void`.
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

/// Structs that the headers only declare.
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
        let origin = format!("{} (`{}`)", function.area, function.header);
        write_line(&mut table, function.name, function.prototype, &origin);
    }
    for (prototype, header) in EXTENSIONS {
        let head = prototype.split_once('(').expect("a prototype has an argument list").0;
        let name = head.rsplit(' ').next().expect("a prototype has a name");
        write_line(&mut table, name, prototype, &format!("softacl only (`{header}`)"));
    }
    table.push_str("}\n");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&out).join("functions.rs"), table).expect("write functions.rs");
}

/// Appends `shape name [result] ["documentation"] (arguments);`.
fn write_line(table: &mut String, name: &str, prototype: &str, origin: &str) {
    let (head, inside) = prototype.split_once('(').expect("a prototype has an argument list");
    let inside = inside.rsplit_once(')').expect("an argument list is closed").0.trim();
    let result = head.trim_end().strip_suffix(name).expect("a prototype contains its name").trim();
    let mut arguments: Vec<(String, String)> = match inside {
        "" | "void" => Vec::new(),
        inside => inside.split(',').filter(|text| text.trim() != "...").map(argument).collect(),
    };
    let (shape, out) = if RESULT_FIRST.contains(&name) {
        ("first", pointee(&arguments.remove(0).1))
    } else if RESULT_LAST.contains(&name) {
        ("last", pointee(&arguments.pop().expect("the last argument points to the result").1))
    } else if inside.ends_with("...") {
        ("variadic", String::new())
    } else {
        match result {
            "aclError" => ("plain", String::new()),
            "const char*" => ("text", String::new()),
            "void" => ("void", String::new()),
            value => ("value", rust_type(value)),
        }
    };
    let arguments: Vec<String> = arguments.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
    let document = format!("`{}`: {origin}.", prototype.trim_end_matches(';'));
    writeln!(table, "    {shape} {name} [{out}] [{document:?}] ({});", arguments.join(", ")).unwrap();
}

/// Returns the name and the Rust type of a C argument.
fn argument(text: &str) -> (String, String) {
    let text = text.trim();
    let start = text.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |end| end + 1);
    let (ty, name) = text.split_at(start);
    assert!(!ty.is_empty() && !name.is_empty(), "{text} must have a type and a name");
    let name =
        if ["type", "ref", "in", "mod", "fn", "loop"].contains(&name) { format!("r#{name}") } else { name.into() };
    (name, rust_type(ty))
}

/// Returns the type that a result pointer points to.
fn pointee(ty: &str) -> String {
    ty.strip_prefix("*mut ").unwrap_or_else(|| panic!("{ty} is not a result pointer")).to_owned()
}

/// Translates a C type to Rust.
fn rust_type(text: &str) -> String {
    let spaced = text.replace('*', " * ");
    let mut words: Vec<&str> = spaced.split_whitespace().collect();
    let is_const = words.first() == Some(&"const");
    words.retain(|word| *word != "const");
    let base = words[0];
    let stars = words.iter().filter(|word| **word == "*").count();
    assert_eq!(words.len(), stars + 1, "{text} must be a name with stars");
    let mut ty = base_type(base, stars > 0);
    for star in 0..stars {
        ty = format!("{} {ty}", if is_const && star == 0 { "*const" } else { "*mut" });
    }
    ty
}

/// Translates a C type without stars to Rust.
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
        // A handle or a function pointer.
        Some(declaration) if declaration.contains("typedef void *") || declaration.contains("(*") => {
            return "*mut c_void".to_owned();
        }
        Some(declaration) => declaration.contains("typedef struct"),
        None => OPAQUE.contains(&name) || line_of(LAYOUTS).is_some(),
    };
    match (is_struct, is_behind_pointer) {
        (true, true) => "c_void".to_owned(),
        (true, false) => panic!("{name} is passed by value, but ascendcl-sys does not define it"),
        // The remaining types are enumerations.
        (false, _) => "i32".to_owned(),
    }
}
