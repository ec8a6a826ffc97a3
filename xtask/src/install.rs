//! `cargo xtask install --prefix DIR`: installs a tree with the layout of a CANN installation.

use crate::files::{copy_tree, place};
use crate::{python, sample_layouts, workspace};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Builds softacl and installs it into `prefix`.
pub fn install(prefix: &Path) -> Result<()> {
    let built = workspace::build_library()?;
    fs::create_dir_all(prefix).with_context(|| format!("creating {}", prefix.display()))?;
    let prefix = fs::canonicalize(prefix)?;
    copy_tree(&workspace::root().join("include"), &prefix.join("include"))?;
    softacl_toolkit::write(&prefix, cann_version())?;
    place(&built.join("libascendcl.so"), &prefix.join("lib64/libascendcl.so"), 0o755)?;
    let operators = prefix.join(softacl_toolkit::ACLNN_LIBRARIES).join("libopapi.so");
    place(&built.join("libopapi.so"), &operators, 0o755)?;
    place(&built.join("softacl"), &prefix.join("bin/softacl"), 0o755)?;
    for tool in ["npu-smi", "hccn_tool"] {
        softacl_toolkit::write_link(Path::new("softacl"), &prefix.join("bin").join(tool))?;
    }
    python::stage_module(&prefix.join("python/site-packages"))?;
    write(&prefix.join("lib64/pkgconfig/ascendcl.pc"), &PKG_CONFIG.replace("@VERSION@", VERSION))?;
    // CMake searches lib64 on some systems and lib on others.
    for directory in ["lib64", "lib"] {
        write(&prefix.join(directory).join("cmake/ascendcl/ascendcl-config.cmake"), CMAKE)?;
    }
    println!("installed softacl {VERSION} in {}", prefix.display());
    println!("use it with: source {}/set_env.sh", prefix.display());
    Ok(())
}

/// The CANN version that softacl emulates by default.
fn cann_version() -> &'static str {
    &softacl_profiles::cann_versions()[0].version
}

const PKG_CONFIG: &str = "prefix=${pcfiledir}/../..
Name: ascendcl
Description: AscendCL runtime API, implemented by softacl
Version: @VERSION@
Cflags: -I${prefix}/include
Libs: -L${prefix}/lib64 -lascendcl
";

const CMAKE: &str = r#"# find_package(ascendcl CONFIG) defines the target ascendcl::ascendcl.
get_filename_component(_ascendcl_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET ascendcl::ascendcl)
  add_library(ascendcl::ascendcl SHARED IMPORTED)
  set_target_properties(ascendcl::ascendcl PROPERTIES
    IMPORTED_LOCATION "${_ascendcl_prefix}/lib64/libascendcl.so"
    IMPORTED_SONAME "libascendcl.so"
    INTERFACE_INCLUDE_DIRECTORIES "${_ascendcl_prefix}/include")
endif()
unset(_ascendcl_prefix)
"#;

fn write(path: &Path, text: &str) -> Result<()> {
    fs::create_dir_all(path.parent().context("a file has no parent directory")?)?;
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

/// Installs into an empty directory and tests the result from outside: through `set_env.sh`, with the compiler, with
/// `dlopen` of all library names, and with `softacl run`.
pub fn check() -> Result<()> {
    let directory = workspace::target().join("install-check");
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    let prefix = directory.join("softacl");
    install(&prefix)?;
    let source = workspace::root().join("conformance/kvcache/offload.c");
    let expect = workspace::root().join("conformance");
    let linked = directory.join("linked");
    let opened = directory.join("opened");
    let opener = directory.join("opener.c");
    fs::write(&opener, OPENER)?;
    shell(
        &prefix,
        &format!(
            "gcc -std=gnu99 -pthread -I$ASCEND_HOME_PATH/include -I{} {} -o {} -L$ASCEND_HOME_PATH/lib64 -lascendcl && \
             {linked} && softacl run --soc Ascend910C -- {linked} && \
             sh -c '. '\"$ASCEND_HOME_PATH\"'/set_env.sh && cd / && test -e $ASCEND_HOME_PATH/lib64/libascendcl.so' && \
             gcc {} -o {opened} -ldl && {opened} libascendcl.so && {names} \
             softacl explain 107003 >/dev/null && python3 -c 'import acl; assert acl.rt.set_device(0) == 0'",
            expect.display(),
            source.display(),
            linked.display(),
            opener.display(),
            linked = linked.display(),
            opened = opened.display(),
            names = softacl_stubs::NAMES
                .iter()
                .map(|library| format!("{} {} && ", opened.display(), library.name))
                .collect::<String>(),
        ),
    )?;
    check_environments(&prefix, &directory)?;
    sample_layouts::check(&prefix, &directory)
}

/// Fails unless `set_env.sh` and `softacl run` of the installation set the same variables, and programs that use the operator
/// interface build and run with `--aclnn`.
fn check_environments(prefix: &Path, directory: &Path) -> Result<()> {
    let names: Vec<&str> = softacl_toolkit::VARIABLES.iter().map(|variable| variable.name).collect();
    let print = format!("for name in {}; do echo \"$name=${{!name}}\"; done", names.join(" "));
    let clean = "env -i PATH=/usr/bin:/bin HOME=$HOME";
    let prefix = prefix.display();
    for (script, run) in [("", ""), ("--stubs", "--with-stubs"), ("--aclnn", "--with-aclnn")] {
        let sourced = text_of(&format!("{clean} bash -c 'source {prefix}/set_env.sh {script}; {print}'"))?;
        let run = text_of(&format!("{clean} {prefix}/bin/softacl run {run} -- bash -c '{print}'"))?;
        ensure!(sourced == run, "set_env.sh {script} and softacl run differ:\n{sourced}\n{run}");
        ensure!(names.iter().all(|name| sourced.contains(&format!("{name}={prefix}"))), "not all are set:\n{sourced}");
    }
    for source in ["conformance/aclnn/objects.cpp", "examples/c/aclnn/transformer.cpp"] {
        let source = workspace::root().join(source);
        let program = directory.join(source.with_extension("").file_name().context("a source has a name")?);
        text_of(&format!(
            "set -e; source {prefix}/set_env.sh --aclnn; g++ -std=c++17 -pthread -I$ASCEND_HOME_PATH/include {} -o {program} \
             -L$ASCEND_HOME_PATH/lib64 -L$ASCEND_HOME_PATH/lib64/stub -lopapi -lnnopbase -lascendcl; {program}",
            source.display(),
            program = program.display()
        ))?;
    }
    Ok(())
}

/// Returns what a bash script prints. Fails with its errors if it fails.
fn text_of(script: &str) -> Result<String> {
    let done = Command::new("bash").args(["-c", script]).output().context("starting bash")?;
    ensure!(done.status.success(), "{script} failed:\n{}", String::from_utf8_lossy(&done.stderr));
    Ok(String::from_utf8(done.stdout)?)
}

/// C program that loads the library by name and makes one call.
const OPENER: &str = r#"#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    void *library = dlopen(argv[argc - 1], RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    const char *(*name)(void) = (const char *(*)(void))dlsym(library, "aclrtGetSocName");
    printf("%s is %s\n", argv[argc - 1], name == NULL ? "broken" : name());
    return name == NULL || dlclose(library) != 0;
}
"#;

fn shell(prefix: &Path, script: &str) -> Result<()> {
    let script = format!("set -e; source {}/set_env.sh; {script}", prefix.display());
    let mut command = Command::new("bash");
    command.args(["-c", &script]);
    let outputs: PathBuf = prefix.to_owned();
    let status = command.status().context("starting bash")?;
    ensure!(status.success(), "the installation in {} does not work: {script}", outputs.display());
    Ok(())
}
