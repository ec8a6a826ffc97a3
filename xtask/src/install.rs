//! `cargo xtask install --prefix DIR`: installs a tree with the layout of a CANN installation.

use crate::files::{copy_tree, place};
use crate::{python, workspace};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Builds softacl and installs it into `prefix`.
pub fn install(prefix: &Path) -> Result<()> {
    let built = workspace::build_library()?;
    fs::create_dir_all(prefix).with_context(|| format!("creating {}", prefix.display()))?;
    let prefix = fs::canonicalize(prefix)?;
    copy_tree(&workspace::root().join("include"), &prefix.join("include"))?;
    place(&built.join("libascendcl.so"), &prefix.join("lib64/libascendcl.so"), 0o755)?;
    link("libascendcl.so", &prefix.join("lib64/libacl_rt.so"))?;
    place(&built.join("softacl"), &prefix.join("bin/softacl"), 0o755)?;
    link("softacl", &prefix.join("bin/npu-smi"))?;
    // A separate directory: lib64 contains only libraries that work.
    for stub in softacl_stubs::LIBRARIES {
        let path = prefix.join("stubs/lib64").join(stub.name);
        fs::create_dir_all(path.parent().context("a file has no parent directory")?)?;
        fs::write(&path, stub.bytes).with_context(|| format!("writing {}", path.display()))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    }
    python::stage_module(&prefix.join("python/site-packages"))?;
    write(&prefix.join("set_env.sh"), &SET_ENV.replace("@PREFIX@", &prefix.display().to_string()))?;
    write(&prefix.join("lib64/pkgconfig/ascendcl.pc"), &PKG_CONFIG.replace("@VERSION@", VERSION))?;
    // CMake searches lib64 on some systems and lib on others.
    for directory in ["lib64", "lib"] {
        write(&prefix.join(directory).join("cmake/ascendcl/ascendcl-config.cmake"), CMAKE)?;
    }
    println!("installed softacl {VERSION} in {}", prefix.display());
    println!("use it with: source {}/set_env.sh", prefix.display());
    Ok(())
}

/// Locates itself in bash and zsh, so that the tree can be moved. Other shells use the path of the installation.
const SET_ENV: &str = r#"# Source this file to use softacl as the Ascend toolkit. With --stubs, stub versions of
# other vendor libraries are available as well; programs such as torch_npu need them to load.
if [ -n "${BASH_VERSION:-}" ]; then
  eval '_softacl_home="${BASH_SOURCE[0]}"'
elif [ -n "${ZSH_VERSION:-}" ]; then
  eval '_softacl_home="${(%):-%x}"'
else
  _softacl_home='@PREFIX@/set_env.sh'
fi
_softacl_home="$(cd "$(dirname "$_softacl_home")" && pwd)"
export ASCEND_HOME_PATH="$_softacl_home"
export ASCEND_TOOLKIT_HOME="$_softacl_home"
_softacl_libraries="$_softacl_home/lib64"
if [ "${1:-}" = --stubs ]; then
  _softacl_libraries="$_softacl_libraries:$_softacl_home/stubs/lib64"
fi
export LD_LIBRARY_PATH="$_softacl_libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export PYTHONPATH="$_softacl_home/python/site-packages${PYTHONPATH:+:$PYTHONPATH}"
export PATH="$_softacl_home/bin${PATH:+:$PATH}"
unset _softacl_home _softacl_libraries
"#;

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

/// Creates a symbolic link to `target` in the same directory.
fn link(target: &str, path: &Path) -> Result<()> {
    if path.symlink_metadata().is_ok() {
        fs::remove_file(path)?;
    }
    symlink(target, path).with_context(|| format!("linking {}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::create_dir_all(path.parent().context("a file has no parent directory")?)?;
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

/// Installs into an empty directory and tests the result from outside: through `set_env.sh`, with the compiler, with
/// `dlopen` of both library names, and with `softacl run`.
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
             gcc {} -o {opened} -ldl && {opened} libascendcl.so && {opened} libacl_rt.so && \
             softacl explain 107003 >/dev/null && python3 -c 'import acl; assert acl.rt.set_device(0) == 0'",
            expect.display(),
            source.display(),
            linked.display(),
            opener.display(),
            linked = linked.display(),
            opened = opened.display(),
        ),
    )
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
