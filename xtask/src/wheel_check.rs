//! What a wheel must be before it is published: small, accepted by auditwheel and twine, and of use in an empty
//! environment without a compiler, on every installed interpreter.

use crate::{portable, python, workspace};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The command contains the engine once more, for the demo and the benchmark: a third of this size.
const MAX_SIZE: u64 = 6_500_000;
/// Time from `pip install` to the end of `softacl demo`.
const MAX_START: Duration = Duration::from_secs(60);

/// What auditwheel says about a wheel: the oldest platform on which all its libraries load.
#[derive(Deserialize)]
struct Audit {
    overall_tag: String,
}

/// Examines a portable wheel and uses it.
pub fn check(wheel: &Path) -> Result<()> {
    let size = fs::metadata(wheel)?.len();
    ensure!(size < MAX_SIZE, "{} has {size} bytes, more than {MAX_SIZE}", wheel.display());
    let text = portable::tool("auditwheel", &["show", "--json"], wheel)?;
    let audit: Audit = serde_json::from_str(&text).with_context(|| format!("auditwheel show printed {text}"))?;
    let floor = glibc(&audit.overall_tag).with_context(|| format!("{} is not a manylinux tag", audit.overall_tag))?;
    let promised = glibc(portable::PLATFORM).context("the platform of the wheel is a manylinux tag")?;
    ensure!(floor <= promised, "auditwheel: the wheel needs {}, not {}", audit.overall_tag, portable::PLATFORM);
    portable::tool("twine", &["check", "--strict"], wheel)?;
    println!("{size} bytes; auditwheel says {}; twine accepts it", audit.overall_tag);
    for interpreter in interpreters() {
        first_minute(wheel, &interpreter)?;
    }
    Ok(())
}

/// The glibc of a manylinux tag: (2, 28) for manylinux_2_28_x86_64.
fn glibc(tag: &str) -> Option<(u32, u32)> {
    let mut parts = tag.strip_prefix("manylinux_")?.splitn(3, '_');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Returns one interpreter of every supported version on this host.
fn interpreters() -> Vec<String> {
    let mut found = vec!["python3".to_owned()];
    let is_supported = |python: &String| {
        let script = "import sys, venv; assert (3, 9) <= sys.version_info[:2] <= (3, 14)";
        Command::new(python).args(["-c", script]).output().is_ok_and(|output| output.status.success())
    };
    found.extend(python::pyenv_interpreters().into_iter().filter(is_supported));
    found
}

/// Installs the wheel into an empty environment and does what a new user does, with no compiler in the search path.
fn first_minute(wheel: &Path, interpreter: &str) -> Result<()> {
    let environment = workspace::target().join("wheel-check");
    if environment.exists() {
        fs::remove_dir_all(&environment)?;
    }
    workspace::run(Command::new(interpreter).args(["-m", "venv"]).arg(&environment))?;
    let start = Instant::now();
    python::pip(&environment.join("bin/python"), &["--no-index", &wheel.display().to_string()])?;
    in_environment(&environment, "softacl demo >/dev/null")?;
    let elapsed = start.elapsed();
    ensure!(elapsed < MAX_START, "pip install and softacl demo took {elapsed:?}");
    for script in COMMANDS {
        in_environment(&environment, script)?;
    }
    println!("{interpreter}: pip install and softacl demo took {:.1} s; all commands work", elapsed.as_secs_f64());
    Ok(())
}

/// What a user of the wheel does first. Each must exit with 0.
const COMMANDS: [&str; 9] = [
    "python -m softacl --version | grep -q '^softacl [0-9]'",
    "softacl explain H1 | grep -q 'source changed'",
    "python -c 'import acl, softacl; assert acl.rt.set_device(0) == 0; assert acl.rt.reset_device(0) == 0'",
    "softacl run --soc Ascend310P -- python -c 'import acl; assert \"310P\" in acl.get_soc_name()'",
    "softacl run -- sh -c 'test -e $ASCEND_HOME_PATH/runtime/lib64/libacl_rt.so && test -e $ASCEND_HOME_PATH/include/acl/acl.h'",
    "softacl run --with-aclnn --with-stubs -- python -c 'import acl; assert acl.init() == 0'",
    "softacl run -- python -c 'import ctypes; ctypes.CDLL(\"libhccl.so\").HcclGetRootInfo'",
    "softacl check --allow-unchecked -- true",
    "bash -c 'source \"$(python -c \"import softacl; print(softacl.prefix())\")/set_env.sh\" && npu-smi info >/dev/null'",
];

fn in_environment(environment: &Path, script: &str) -> Result<()> {
    let commands = environment.join("search-path");
    if !commands.exists() {
        // Everything of the system except compilers and linkers.
        let link = "mkdir -p \"$1\" && for program in /usr/bin/* /bin/*; do name=${program##*/}; case $name in \
                    *gcc*|*g++*|cc|c++|c[89]9*|*clang*|ld|ld.*|*-ld*|as|python*|pip*) ;; *) ln -sf \"$program\" \"$1/$name\" ;; \
                    esac; done";
        workspace::run(Command::new("sh").args(["-c", link, "sh"]).arg(&commands))?;
    }
    let path: [PathBuf; 2] = [environment.join("bin"), commands];
    let mut command = python::clean(Path::new("sh"));
    command.args(["-c", script]).env("PATH", std::env::join_paths(path)?).current_dir(environment);
    let done = command.output().with_context(|| format!("starting {script}"))?;
    ensure!(
        done.status.success(),
        "{script} ended with {}:\n{}{}",
        done.status,
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::glibc;

    #[test]
    fn tags_are_compared_by_number() {
        assert_eq!(glibc("manylinux_2_28_x86_64"), Some((2, 28)));
        assert!(glibc("manylinux_2_5_x86_64") < glibc("manylinux_2_28"));
        assert_eq!(glibc("linux_x86_64"), None);
    }
}
