//! Generates C sources of the stubs from the two tables and compiles them with the system's C compiler, which Rust
//! needs for linking, too.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    for file in ["build.rs", "libraries.tsv", "symbols.tsv"] {
        println!("cargo::rerun-if-changed={file}");
    }
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    // Only its name matters: the stubs are linked against it, and the loader resolves it to softacl's library.
    for needed in ["libascendcl.so", "libhccl.so", "libopapi.so"] {
        compile(&out, needed, "typedef int nothing;\n", &[]);
    }
    let symbols = rows("symbols.tsv");
    let libraries = rows("libraries.tsv");
    for kind in ["stub", "name", "empty", "hccl", "operators"] {
        let mut list = String::from("&[\n");
        for library in libraries.iter().filter(|row| row[1] == kind) {
            let name = library[0].as_str();
            let exported: Vec<&Vec<String>> = symbols.iter().filter(|row| row[0] == name).collect();
            let directory = format!("-L{}", out.display());
            let needed = match kind {
                "hccl" => "-lhccl",
                "operators" => "-lopapi",
                _ => "-lascendcl",
            };
            let mut options = vec!["-Wl,--no-as-needed", &directory, needed];
            // Where a package has the library that it needs, wherever the package was installed.
            options.push(if kind == "stub" { "-Wl,-rpath,$ORIGIN/../../lib64" } else { "-Wl,-rpath,$ORIGIN" });
            compile(&out, name, &source(name, &exported), &options);
            writeln!(
                list,
                "    Library {{ name: {name:?}, purpose: {:?}, bytes: include_bytes!({:?}) }},",
                library[2],
                out.join(name)
            )
            .expect("writing to a String cannot fail");
        }
        list.push(']');
        fs::write(out.join(format!("{kind}.rs")), list).expect("OUT_DIR can be written");
    }
    for row in &symbols {
        let is_stub = libraries.iter().any(|library| library[0] == row[0] && library[1] == "stub");
        assert!(is_stub, "symbols.tsv: {} is not a stub in libraries.tsv", row[0]);
    }
}

/// Reads a table of tab-separated columns, without its header.
fn rows(table: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(table).unwrap_or_else(|error| panic!("{table}: {error}"));
    text.lines().skip(1).map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

/// Returns the C source of a stub. Its functions are declared without parameters, which the C calling conventions
/// allow: the caller removes the arguments.
fn source(library: &str, symbols: &[&Vec<String>]) -> String {
    let mut text = String::from(
        "#include <stdio.h>\n\
         static void missing(int *reported, const char *name, const char *what, long result)\n\
         {\n\
         \x20   if (__atomic_exchange_n(reported, 1, __ATOMIC_RELAXED) == 0)\n\
         \x20       fprintf(stderr, \"softacl: %s is a stub (LIBRARY): softacl does not provide %s; returning %ld\\n\", name, what, result);\n\
         }\n",
    )
    .replace("LIBRARY", library);
    for row in symbols {
        let [_, name, result, what] = &row[..] else { panic!("symbols.tsv: {row:?} does not have four columns") };
        let (kind, value) = match result.split_once(' ') {
            Some(("code", value)) => ("int", value),
            Some(("number", value)) => ("unsigned long", value),
            _ => panic!("symbols.tsv: {name}: {result:?} is neither a code nor a number"),
        };
        writeln!(
            text,
            "{kind} {name}(void)\n{{\n    static int reported;\n    missing(&reported, \"{name}\", \"{what}\", {value});\n    return ({kind})({value});\n}}"
        )
        .expect("writing to a String cannot fail");
    }
    text
}

/// Compiles a C source to the shared library `name` in `out`. `more` are further linker arguments.
fn compile(out: &Path, name: &str, source: &str, more: &[&str]) {
    let file = out.join(name).with_extension("c");
    fs::write(&file, source).expect("OUT_DIR can be written");
    let compiler = compiler();
    let mut command = Command::new(&compiler);
    command.args(["-shared", "-fPIC", "-O2", "-s", "-Wno-unused-function"]).arg(format!("-Wl,-soname,{name}"));
    command.arg("-o").arg(out.join(name)).arg(&file).args(more);
    let status = command.status().unwrap_or_else(|error| panic!("could not start {compiler}: {error}"));
    assert!(status.success(), "{command:?} ended with {status}");
}

/// Returns the C compiler for the target, from the variables that build tools set: a cross build names one per target.
fn compiler() -> String {
    let triple = env::var("TARGET").expect("cargo sets TARGET").replace('-', "_");
    let variables = [format!("CC_{triple}"), "CC".to_owned()];
    variables.iter().for_each(|name| println!("cargo::rerun-if-env-changed={name}"));
    variables.iter().find_map(|name| env::var(name).ok()).unwrap_or_else(|| "cc".to_owned())
}
