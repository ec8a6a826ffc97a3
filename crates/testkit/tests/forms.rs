//! The C++ forms of `acl/acl_rt_api.h`: they compile in every standard from C++11 to C++20 with g++ and, where it is
//! installed, clang++, which the workflow requires; a call with the parameter list of C stays the C function; and no form is exported by a library.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const STANDARDS: [&str; 4] = ["-std=c++11", "-std=c++14", "-std=c++17", "-std=c++20"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// If it is set, a missing clang++ is a failure.
const REQUIRED: &str = "SOFTACL_REQUIRE_CLANG";

/// Compilers of this host. `cargo xtask test` says before the first step if clang++ is missing.
fn compilers() -> Vec<&'static str> {
    let is_installed = |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success());
    let found: Vec<&str> = ["g++", "clang++"].into_iter().filter(is_installed).collect();
    if !found.contains(&"clang++") {
        assert!(std::env::var_os(REQUIRED).is_none(), "clang++ is not installed, and {REQUIRED} is set");
        eprintln!("clang++ is not installed: the C++ forms are compiled with g++ only");
    }
    assert!(found.contains(&"g++"), "g++ is not installed");
    found
}

fn compile(compiler: &str, standard: &str, source: &Path, target: &Path, more: &[&str]) -> Output {
    let flags = ["-Wall", "-Wextra", "-Werror", "-Wshadow", "-Wcast-qual", "-Wno-deprecated-declarations", "-pthread"];
    let mut command = Command::new(compiler);
    command.args([standard, "-O0"]).args(flags).arg("-I").arg(root().join("include"));
    command.arg(source).arg("-o").arg(target).args(more).output().unwrap()
}

fn check(output: &Output, what: &str) {
    assert!(output.status.success(), "{what} failed:\n{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn calls_reach_the_c_function_that_the_documents_name() {
    let source = root().join("crates/testkit/tests/forms/overloads.cpp");
    for compiler in compilers() {
        for standard in STANDARDS {
            let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("overloads-{compiler}{standard}"));
            check(&compile(compiler, standard, &source, &program, &[]), &format!("{compiler} {standard}"));
            let run = Command::new(&program).output().unwrap();
            let text = String::from_utf8_lossy(&run.stdout).into_owned();
            assert!(run.status.success() && text == "passed\n", "{compiler} {standard}: {text}");
            // A call with `void *` on both sides is the C function, not a template that calls it.
            let symbols = Command::new("nm").arg("--demangle").arg(&program).output().unwrap();
            let symbols = String::from_utf8_lossy(&symbols.stdout).into_owned();
            assert!(symbols.contains("aclrtMemcpy<float, float>"), "{symbols}");
            let untyped = "aclrtMemcpy<void, void>";
            assert!(!symbols.contains(untyped), "{compiler} {standard}: {untyped} was instantiated");
        }
    }
}

#[test]
fn conformance_program_compiles_in_every_standard() {
    let source = root().join("conformance/cpp/forms.cpp");
    for compiler in compilers() {
        for standard in STANDARDS {
            let object = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("forms-{compiler}{standard}.o"));
            let flags = ["-c", "-Wno-cast-qual", "-Wno-shadow"];
            check(&compile(compiler, standard, &source, &object, &flags), &format!("{compiler} {standard}"));
        }
    }
}

#[test]
fn pointer_to_const_as_destination_does_not_compile() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for (name, call) in [
        ("memcpy", "aclrtMemcpy(memory, 4, memory, 4, ACL_MEMCPY_DEFAULT)"),
        ("malloc", "aclrtMalloc(&memory, 4)"),
        ("policy", "aclrtMalloc(&number, 4, ACL_MEM_MALLOC_HUGE_FIRST)"),
    ] {
        let source = directory.join(format!("const-{name}.cpp"));
        let text = format!(
            "#include \"acl/acl_rt_api.h\"\naclError f(const float *memory, float *number)\n\
             {{ (void)memory; (void)number; return {call}; }}\n"
        );
        std::fs::write(&source, text).unwrap();
        let output = compile("g++", "-std=c++11", &source, &source.with_extension("o"), &["-c"]);
        assert!(!output.status.success(), "{call} compiles");
    }
}
