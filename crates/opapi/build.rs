//! Makes the C functions of both phases from `tables/operators.tsv`, and sets the soname.
//!
//! A row has: name, priority, header, parameters of phase one as in C, plan, documented types. The plan is a call of a
//! planning function, written with the names of the parameters. A mark after a name says how the parameter is used:
//! `!` it is written (in place if its name ends with `Ref`), `?` it may be NULL (as every `...Optional` may), `~` it may
//! be a tiled weight, which is read as a plain matrix. The plan `-` refuses the operator.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::{env, fs, path::Path};

const TYPES: [&str; 17] = [
    "f32", "f16", "i8", "i32", "u8", "i16", "u16", "u32", "i64", "u64", "f64", "bool", "c64", "c128", "bf16", "i4",
    "c32",
];
const KEYWORDS: [&str; 6] = ["self", "type", "mod", "ref", "move", "where"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=tables/operators.tsv");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libopapi.so");
    let table = fs::read_to_string("tables/operators.tsv").expect("tables/operators.tsv is readable");
    let mut code = String::new();
    for row in table.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = row.split('\t').collect();
        let [name, _, _, parameters, plan, types] = columns[..] else { panic!("a row has six columns: {row}") };
        operator(&mut code, name, parameters, plan, types);
    }
    let target = Path::new(&env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("exports.rs");
    fs::write(target, code).expect("OUT_DIR is writable");
}

/// A parameter of phase one.
struct Parameter<'a> {
    c_type: String,
    name: &'a str,
}

impl Parameter<'_> {
    fn identifier(&self) -> String {
        if KEYWORDS.contains(&self.name) { format!("{}_", self.name) } else { self.name.to_owned() }
    }

    /// Type in the C interface. Handles are numbers.
    fn rust_type(&self) -> &str {
        match self.c_type.as_str() {
            "int64_t" => "i64",
            "uint64_t" => "u64",
            "int32_t" | "int" | "aclDataType" => "i32",
            "int8_t" => "i8",
            "double" => "f64",
            "float" => "f32",
            "bool" => "u8",
            handle if handle.ends_with('*') => "usize",
            other => panic!("unknown C type {other}"),
        }
    }
}

fn parse(parameters: &str) -> Vec<Parameter<'_>> {
    let one = |text: &str| -> (usize, usize) {
        let start = text.rfind([' ', '*']).map_or(0, |at| at + 1);
        (start, text.len())
    };
    let each = parameters.split(',').map(str::trim).filter(|text| !text.is_empty());
    each.map(|text| {
        let (start, end) = one(text);
        let c_type: Vec<&str> = text[..start].split_whitespace().filter(|word| *word != "const").collect();
        Parameter { c_type: c_type.concat(), name: &text[start..end] }
    })
    .collect()
}

/// Marks of the parameters in a plan, and the plan without them.
fn marks(plan: &str, parameters: &[Parameter<'_>]) -> (BTreeMap<String, String>, String) {
    let (mut marks, mut text) = (BTreeMap::new(), String::new());
    let mut rest = plan;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !is_word(first) {
            text.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let word = &rest[..end];
        rest = &rest[end..];
        match parameters.iter().find(|parameter| parameter.name == word) {
            Some(parameter) => {
                let end = rest.find(|c| !"!?~".contains(c)).unwrap_or(rest.len());
                marks.entry(word.to_owned()).or_insert_with(String::new).push_str(&rest[..end]);
                rest = &rest[end..];
                text.push_str(&parameter.identifier());
            }
            None => text.push_str(word),
        }
    }
    (marks, text)
}

/// Documented types by parameter, as sets.
fn type_sets(types: &str) -> BTreeMap<&str, u32> {
    let mut sets = BTreeMap::new();
    let mut last = 0;
    for (name, list) in types.split_whitespace().filter_map(|entry| entry.split_once(':')) {
        if list != "\"" {
            let known = list.split(',').filter_map(|name| TYPES.iter().position(|known| *known == name));
            last = known.fold(0, |set, at| set | 1_u32 << at);
        }
        sets.insert(name, last);
    }
    sets
}

fn operator(code: &mut String, name: &str, parameters: &str, plan: &str, types: &str) {
    let parameters = parse(parameters);
    let (marks, call) = marks(plan, &parameters);
    let sets = type_sets(types);
    let mut list = String::new();
    for parameter in &parameters {
        let used = if plan == "-" { "_" } else { "" };
        write!(list, "{used}{}: {}, ", parameter.identifier(), parameter.rust_type()).expect("a string grows");
    }
    let mut body = String::new();
    if plan == "-" {
        list.push_str("_workspace_size: *mut u64, _executor: *mut *mut c_void");
        write!(body, "refuse(\"{name}\")").expect("a string grows");
    } else {
        list.push_str("workspace_size: *mut u64, executor: *mut *mut c_void");
        write!(body, "prepare(\"{name}\", workspace_size, executor, |arguments: &mut Arguments| {{").expect("grows");
        for parameter in &parameters {
            read(&mut body, parameter, marks.get(parameter.name).map(String::as_str), &sets);
        }
        write!(body, "\n        {call}\n    }})").expect("a string grows");
    }
    write!(
        code,
        "#[unsafe(no_mangle)]\npub unsafe extern \"C\" fn {name}GetWorkspaceSize({list}) -> Status {{\n    {body}\n}}\n\
         #[unsafe(no_mangle)]\npub unsafe extern \"C\" fn {name}(\n    _workspace: *mut c_void, _size: u64, executor: \
         *mut c_void, stream: *mut c_void,\n) -> Status {{\n    launch(\"{name}\", executor, stream)\n}}\n\n"
    )
    .expect("a string grows");
}

/// Reads one argument. Tensors that the plan does not use are counted.
fn read(body: &mut String, parameter: &Parameter<'_>, marks: Option<&str>, sets: &BTreeMap<&str, u32>) {
    let (variable, name) = (parameter.identifier(), parameter.name);
    let marked = |mark| marks.is_some_and(|marks| marks.contains(mark));
    let optional = name.ends_with("Optional") || marked('?');
    let is_output = marked('!') || marks.is_none() && name.to_lowercase().ends_with("out");
    let role = match (is_output, name.ends_with("Ref")) {
        (true, true) => "Role::Both",
        (true, false) => "Role::Output",
        (false, _) => "Role::Input",
    };
    let types = sets.get(name).copied().filter(|set| *set != 0).unwrap_or(u32::MAX);
    let maybe = if optional { "optional_" } else { "" };
    let line = match (parameter.c_type.as_str(), marks.is_some()) {
        ("aclTensor*", false) => format!("arguments.unused_tensor({variable}, {role});"),
        ("aclTensorList*", false) => format!("arguments.tensors({variable}, \"{name}\", {role}, u32::MAX, true)?;"),
        (_, false) => format!("let _ = {variable};"),
        ("aclTensor*", _) => format!(
            "let {variable} = arguments.{maybe}tensor({variable}, \"{name}\", {role}, {types:#x}, {})?;",
            marked('~')
        ),
        ("aclTensorList*", _) => {
            format!("let {variable} = arguments.tensors({variable}, \"{name}\", {role}, {types:#x}, {optional})?;")
        }
        ("aclScalar*", _) if optional => format!("let {variable} = arguments.optional_scalar({variable})?;"),
        ("aclIntArray*", _) if optional => format!("let {variable} = arguments.optional_integers({variable})?;"),
        ("aclScalar*", _) => format!("let {variable} = arguments.scalar({variable}, \"{name}\")?;"),
        ("aclIntArray*", _) => format!("let {variable} = arguments.integers({variable}, \"{name}\")?;"),
        ("aclScalarList*", _) => format!("let {variable} = arguments.scalars({variable}, \"{name}\")?;"),
        ("char*", _) => format!("let {variable} = arguments.text({variable}, \"{name}\")?;"),
        ("aclDataType", _) => format!("let {variable} = arguments.data_type({variable}, \"{name}\")?;"),
        ("bool", _) => format!("let {variable} = {variable} != 0;"),
        _ => return,
    };
    write!(body, "\n        {line}").expect("a string grows");
}
