//! The step `installation` of `cargo xtask test`: installs into an empty directory and uses the result from outside, as a
//! new user would, with the shell, the compiler, the loader and Python. At the end it is uninstalled without a rest.

use crate::install::{install, uninstall};
use crate::{sample_layouts, workspace};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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
             softacl explain 107003 >/dev/null && test -s $ASCEND_HOME_PATH/share/softacl/version && \
             python3 -m softacl explain 107003 >/dev/null && python3 -c 'import acl; assert acl.rt.set_device(0) == 0'",
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
    sample_layouts::check(&prefix, &directory)?;
    uninstall(&prefix)?;
    ensure!(!prefix.exists(), "{} has files that were not removed", prefix.display());
    Ok(())
}

/// Fails unless `set_env.sh` and `softacl run` of the installation set the same variables, and a program that uses the
/// operator interface builds and runs with `--aclnn`.
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
    for (name, source) in [("objects", "conformance/aclnn"), ("transformer", "examples/c/aclnn")] {
        let source = workspace::root().join(source).join(name).with_extension("cpp");
        let program = directory.join(name);
        text_of(&format!(
            "set -e; source {prefix}/set_env.sh --aclnn; g++ -std=c++17 -pthread -I$ASCEND_HOME_PATH/include {} -o {program} \
             -L$ASCEND_HOME_PATH/lib64 -L$ASCEND_HOME_PATH/lib64/stub -lopapi -lnnopbase -lascendcl; {program}",
            source.display(),
            program = program.display()
        ))?;
    }
    check_missing_wait(&prefix.to_string(), directory)
}

/// The checker finds the wait that the transformer lacks with NO_WAIT, and nothing where the wait is.
fn check_missing_wait(prefix: &str, directory: &Path) -> Result<()> {
    let source = workspace::root().join("examples/c/aclnn/transformer.cpp");
    for (flags, is_found) in [("", false), ("-DNO_WAIT", true)] {
        let program = directory.join("checked");
        let output = text_of(&format!(
            "source {prefix}/set_env.sh --aclnn; g++ -std=c++17 -pthread {flags} -I$ASCEND_HOME_PATH/include {} -o {program} \
             -L$ASCEND_HOME_PATH/lib64 -L$ASCEND_HOME_PATH/lib64/stub -lopapi -lnnopbase -lascendcl || exit 1; \
             {prefix}/bin/softacl check --with-aclnn -- {program} 2>&1; echo code $?",
            source.display(),
            program = program.display()
        ))?;
        let code = if is_found { "code 2\n" } else { "code 0\n" };
        ensure!(output.ends_with(code) && output.contains("S1") == is_found, "softacl check {flags}:\n{output}");
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
