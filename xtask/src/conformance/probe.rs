//! Probe programs that test the environment of a run: whether the sanitizer reports known bugs, and which card is
//! present.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};

use super::build::Toolchain;
use super::execute::{End, clean_environment, launcher, library_path, run_into, sanitizer_variables};
use super::options::Sanitizer;

const OVERFLOW: &str = r#"
#include <stdlib.h>
int main(int argc, char **argv)
{
    (void)argv;
    volatile char *block = malloc(8);
    block[7 + argc] = 1;
    free((void *)block);
    return 0;
}
"#;

const LEAK: &str = r#"
#include <stdlib.h>
static void lose(void)
{
    volatile char *block = malloc(1234);
    block[0] = 1;
    block = NULL;
}
int main(void)
{
    for (int i = 0; i < 100; i++) {
        lose();
    }
    return 0;
}
"#;

const RACE: &str = r#"
#include <pthread.h>
static int shared;
static void *add(void *unused)
{
    for (int i = 0; i < 100000; i++) {
        shared++;
    }
    return unused;
}
int main(void)
{
    pthread_t thread;
    if (pthread_create(&thread, 0, add, 0) != 0) {
        return 1;
    }
    add(0);
    pthread_join(thread, 0);
    return 0;
}
"#;

const SHIFT: &str = r#"
int main(int argc, char **argv)
{
    (void)argv;
    return (1 << (31 + argc)) == 7;
}
"#;

const MISALIGNED: &str = r#"
#include <stdint.h>
int main(int argc, char **argv)
{
    (void)argv;
    static uint64_t words[2];
    volatile uint64_t *word = (volatile uint64_t *)((uintptr_t)words + (uintptr_t)argc);
    return (int)*word;
}
"#;

const SOC: &str = r#"
#include <stdio.h>
#include "acl/acl.h"
int main(void)
{
    const char *name = aclrtGetSocName();
    printf("%s\n", name == NULL ? "" : name);
    return name == NULL;
}
"#;

/// Fails unless the sanitizer reports known bugs, so that a sanitizer without effect is not mistaken for a clean run.
pub fn sanitizer_reports(toolchain: &Toolchain, sanitizer: Sanitizer) -> Result<()> {
    let cases: &[(&str, &str, &str)] = match sanitizer {
        Sanitizer::Address => {
            &[("overflow", OVERFLOW, "heap-buffer-overflow"), ("leak", LEAK, "LeakSanitizer: detected memory leaks")]
        }
        Sanitizer::Thread => &[("race", RACE, "ThreadSanitizer: data race")],
        Sanitizer::Undefined => &[
            ("shift", SHIFT, "runtime error: shift exponent"),
            ("misalignment", MISALIGNED, "runtime error: load of misaligned address"),
        ],
        Sanitizer::Valgrind => {
            &[("overflow", OVERFLOW, "Invalid write of size 1"), ("leak", LEAK, "blocks are definitely lost")]
        }
    };
    for (name, source, report) in cases {
        let (succeeded, text) = run_source(toolchain, name, source, false)?;
        ensure!(
            !succeeded && text.contains(report),
            "the sanitizer has no effect: a program with a known {name} printed, instead of \"{report}\":\n{text}"
        );
    }
    Ok(())
}

/// Returns the product of the card, by the name that the directives use.
pub fn soc_of_card(toolchain: &Toolchain) -> Result<String> {
    let (succeeded, text) = run_source(toolchain, "soc", SOC, true)?;
    ensure!(succeeded, "the library did not return a product name:\n{text}");
    let name = text.lines().last().unwrap_or_default().trim();
    let families = [
        ("Ascend910_95", "Ascend950"),
        ("Ascend950", "Ascend950"),
        ("Ascend910_93", "Ascend910C"),
        ("Ascend910C", "Ascend910C"),
        ("Ascend910B", "Ascend910B"),
        ("Ascend310B", "Ascend310B"),
        ("Ascend310P", "Ascend310P"),
        ("Ascend910", "Ascend910A"),
    ];
    match families.iter().find(|(prefix, _)| name.starts_with(prefix)) {
        Some((_, family)) => Ok((*family).to_string()),
        None => bail!("unknown product {name}"),
    }
}

/// Compiles and runs a source text. Returns whether it succeeded, and its output.
fn run_source(toolchain: &Toolchain, name: &str, source: &str, with_library: bool) -> Result<(bool, String)> {
    let file = |extension: &str| -> PathBuf { toolchain.directory.join(format!("probe-{name}{extension}")) };
    fs::write(file(".c"), source).with_context(|| format!("writing {}", file(".c").display()))?;
    if let Some(text) = toolchain.compile_file(&file(".c"), &file(""), with_library)? {
        bail!("the probe {name} does not compile:\n{text}");
    }
    let mut command = launcher(toolchain, &file(""));
    clean_environment(&mut command, toolchain.options.real_hardware);
    command.env("LD_LIBRARY_PATH", library_path(toolchain));
    command.envs(sanitizer_variables(toolchain.options.sanitizer));
    let end = run_into(&mut command, &file(".txt"))?;
    let text = fs::read(file(".txt")).with_context(|| format!("reading {}", file(".txt").display()))?;
    let text = String::from_utf8_lossy(&text).into_owned();
    match end {
        End::Exited(status) => Ok((status.success(), text)),
        End::TimedOut => bail!("the probe {name} timed out:\n{text}"),
    }
}
