//! Checks the public C headers against the tables in `crates/ascendcl-sys/tables`.
//!
//! Every table is converted to C and C++ sources that compile only if the headers agree with it: values and types of
//! constants, sizes and offsets of structs, typedefs, and the prototype of every function. In addition, every header
//! must compile alone and when included twice. `CC` and `CXX` select the compilers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

#[derive(Clone, Copy)]
enum Lang {
    C,
    Cpp,
}

const BOTH: [Lang; 2] = [Lang::C, Lang::Cpp];

/// Header that includes every type in the tables.
const ALL_TYPES: &str = "acl_rt_memory_soma.h";

/// Start of most generated sources. `CHECK` is a static assertion that C99 supports, too.
const PRELUDE: &str = "
#ifdef __cplusplus
#include <type_traits>
#define CHECK(id, condition) static_assert(condition, #id)
#define OPEN extern \"C\" {
#define CLOSE }
#else
#define CHECK(id, condition) typedef char id[(condition) ? 1 : -1]
#define OPEN
#define CLOSE
#endif
";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn include_dir() -> PathBuf {
    root().join("include")
}

/// Rows of a table, without its header line.
fn table(name: &str) -> Vec<Vec<String>> {
    let path = root().join("crates/ascendcl-sys/tables").join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
    let split = |line: &str| line.split('\t').map(str::to_owned).collect();
    let rows: Vec<Vec<String>> = text.lines().skip(1).map(split).collect();
    assert!(!rows.is_empty(), "{name} is empty");
    rows
}

/// Compiles `source`. `name` distinguishes the generated files.
fn compile(lang: Lang, name: &str, source: &str, extra: &[&str]) -> (Output, PathBuf) {
    let (variable, default, standard, suffix) = match lang {
        Lang::C => ("CC", "gcc", "-std=c99", "c"),
        Lang::Cpp => ("CXX", "g++", "-std=c++17", "cpp"),
    };
    let file = format!("headers-{}.{suffix}", name.replace(['/', '.', ' '], "_"));
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file);
    let result = file.with_extension(format!("{suffix}.out"));
    fs::write(&file, source).expect("generated source is written");
    let command = env::var(variable).unwrap_or_else(|_| default.to_owned());
    let mut words = command.split_whitespace();
    let output = Command::new(words.next().expect("compiler name"))
        .args(words)
        .args([standard, "-pedantic", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(include_dir())
        .args(extra)
        .arg(&file)
        .arg("-o")
        .arg(&result)
        .env("LC_ALL", "C")
        .output()
        .unwrap_or_else(|error| panic!("cannot run {command}: {error}"));
    (output, result)
}

/// Compiles without linking. Panics with the compiler's output if that fails.
fn must_compile(lang: Lang, name: &str, source: &str, extra: &[&str]) {
    let flags: Vec<&str> = ["-c"].iter().chain(extra).copied().collect();
    let (output, _) = compile(lang, name, source, &flags);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} does not compile\n{stderr}");
}

/// Paths of all headers, relative to the include directory.
fn headers() -> Vec<String> {
    fn walk(dir: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(dir).expect("include directory is readable") {
            let path = entry.expect("directory entry").path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|suffix| suffix == "h") {
                let relative = path.strip_prefix(include_dir()).expect("path inside");
                found.push(relative.display().to_string());
            }
        }
    }
    let mut found = Vec::new();
    walk(&include_dir(), &mut found);
    found.sort();
    found
}

/// Source that takes the address of every function, so that each must be declared before.
fn addresses<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let lines: String = names.map(|name| format!("    (void (*)(void)){name},\n")).collect();
    format!("void (*declared[])(void) = {{\n{lines}}};\n")
}

/// Names and prototypes of the manifest and of the supported operators, by header.
fn functions() -> BTreeMap<String, Vec<(String, String)>> {
    let mut by_header: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for row in table("manifest.tsv") {
        let prototype = row[13].replace("()", "(void)");
        by_header.entry(row[1].clone()).or_default().push((row[0].clone(), prototype));
    }
    for row in table("operators.tsv") {
        let prototype = row[3].replace("()", "(void)");
        by_header.entry(row[1].clone()).or_default().push((row[0].clone(), prototype));
    }
    by_header
}

#[test]
fn every_header_compiles_alone_and_included_twice() {
    for header in headers() {
        let source = format!("#include \"{header}\"\n#include \"{header}\"\ntypedef int used;\n");
        for lang in BOTH {
            must_compile(lang, &header, &source, &[]);
            must_compile(lang, &format!("library {header}"), &source, &["-DFUNC_VISIBILITY"]);
        }
    }
}

#[test]
fn every_constant_matches_its_value_and_type() {
    let mut by_header: BTreeMap<String, Vec<[String; 3]>> = BTreeMap::new();
    for row in table("constants.tsv") {
        let is_profiling = row[0].starts_with("enum aclprof");
        let types = if is_profiling { "acl_prof.h" } else { ALL_TYPES };
        let header = row[0].strip_prefix("constant ").unwrap_or(types).to_owned();
        let columns = [row[0].clone(), row[1].clone(), row[2].clone()];
        by_header.entry(header).or_default().push(columns);
    }
    for (header, constants) in by_header {
        let include = format!("#include \"acl/{header}\"\n");
        let mut checks = format!("{PRELUDE}{include}");
        let mut program = format!("{include}#include <stdio.h>\nint main(void)\n{{\nint bad = 0;\n");
        for [group, name, value] in &constants {
            let kind = match (group.strip_prefix("enum "), header.as_str()) {
                (Some(kind), _) => kind,
                (None, "acl_base_rt.h") => "const int",
                (None, "error_codes/ge_error_codes.h") => "const uint32_t",
                (None, _) => "",
            };
            checks += &match kind {
                "" => format!("#ifndef {name}\n#error {name} is not a macro\n#endif\n"),
                kind => format!("CHECK({name}_type, (std::is_same<decltype({name}), {kind}>::value));\n"),
            };
            checks += &format!("CHECK({name}_value, {name} == {value});\n");
            program += &format!("if ((long long){name} != {value}LL) bad |= puts(\"{name} is not {value}\") | 1;\n");
        }
        program += "return bad != 0;\n}\n";
        must_compile(Lang::Cpp, &format!("constants {header}"), &checks, &[]);
        // A `static const int` is not a constant expression in C, so a program compares the values.
        let (output, binary) = compile(Lang::C, &format!("constants {header}"), &program, &[]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "constants of {header}\n{stderr}");
        let run = Command::new(&binary).output().expect("program runs");
        let stdout = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success(), "constants of {header}\n{stdout}");
    }
}

#[test]
fn every_struct_matches_its_layout() {
    let mut source = format!("{PRELUDE}#include \"acl/{ALL_TYPES}\"\n#include <stddef.h>\n");
    for (index, row) in table("layout.tsv").iter().enumerate() {
        let [kind, field, declaration, offset, size] = [0, 1, 2, 3, 4].map(|at| row[at].as_str());
        if field.is_empty() {
            writeln!(source, "CHECK({kind}_size, sizeof({kind}) == {size});").unwrap();
            continue;
        }
        let member = format!("((({kind} *)0)->{field})");
        writeln!(source, "CHECK({kind}_{field}_size, sizeof({member}) == {size});").unwrap();
        let at = format!("offsetof({kind}, {field}) == {offset}");
        writeln!(source, "CHECK({kind}_{field}_offset, {at});").unwrap();
        // Two declarations of one variable must agree, so these compare the type of the field.
        if !declaration.starts_with("union") {
            writeln!(source, "struct probe_{index} {{ {declaration}; }};").unwrap();
            let probe = format!("(((struct probe_{index} *)0)->{field})");
            for typed in [member, probe] {
                writeln!(source, "extern __typeof__{typed} *field_{index};").unwrap();
            }
        }
    }
    for lang in BOTH {
        must_compile(lang, "layout", &source, &[]);
    }
}

#[test]
fn every_typedef_matches_its_table() {
    let mut source = format!("{PRELUDE}#include \"acl/{ALL_TYPES}\"\nOPEN\n");
    for row in table("typedefs.tsv") {
        let (name, declaration) = (&row[0], &row[1]);
        // The variable does not compile if the name is unknown, the repeated typedef if it differs.
        writeln!(source, "extern {name} *known_{name};\n{declaration};").unwrap();
    }
    source += "CLOSE\n";
    // C99 does not allow a typedef to be repeated.
    must_compile(Lang::C, "typedefs", &source, &["-std=c11"]);
    must_compile(Lang::Cpp, "typedefs", &source, &[]);
}

#[test]
fn every_function_matches_its_prototype() {
    for (header, functions) in functions() {
        let mut source = format!("{PRELUDE}#include \"acl/{header}\"\nOPEN\n");
        source += &addresses(functions.iter().map(|(name, _)| name));
        for (_, prototype) in &functions {
            writeln!(source, "{prototype}").unwrap();
        }
        source += "CLOSE\n";
        for lang in BOTH {
            let quiet = ["-Wno-deprecated-declarations"];
            must_compile(lang, &format!("functions {header}"), &source, &quiet);
        }
    }
}

#[test]
fn headers_declare_no_function_outside_the_tables() {
    let mut declared = 0;
    for header in headers().iter().filter(|header| header.starts_with("acl/")) {
        let text = fs::read_to_string(include_dir().join(header)).expect("header is readable");
        declared += text.lines().filter(|l| l.starts_with("ACL_FUNC_VISIBILITY ")).count();
    }
    let known = table("manifest.tsv").len() + table("operators.tsv").len();
    assert_eq!(declared, known, "functions in include/acl");
}

#[test]
fn only_deprecated_functions_warn() {
    let manifest = table("manifest.tsv");
    let deprecated = manifest.iter().filter(|row| row[4] == "yes");
    let expected: BTreeSet<&str> = deprecated.map(|row| row[0].as_str()).collect();
    let include = |header: &String| format!("#include \"acl/{header}\"\n");
    let mut source: String = functions().keys().map(include).collect();
    source += &addresses(manifest.iter().map(|row| &row[0]));
    let flags = ["-c", "-Wno-error=deprecated-declarations"];
    let (output, _) = compile(Lang::C, "deprecated", &source, &flags);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let warnings = stderr.lines().filter(|line| line.contains("' is deprecated"));
    let warned: BTreeSet<&str> = warnings.filter_map(|line| line.split('\'').nth(1)).collect();
    assert_eq!(warned, expected, "{stderr}");
}
