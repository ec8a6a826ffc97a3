//! The installation: the library, the settings, the chip, and a copy that must work.

use super::diagnosis::Diagnosis;
use crate::{library, settings};
use ascendcl_capi::VARIABLES;
use softacl_profiles::closest_match;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(super) fn diagnoses() -> Vec<Diagnosis> {
    let mut all = vec![library(), settings(), chip(), copy(), other_library()];
    all.extend(unknown_variables());
    all.push(python());
    all
}

/// The library that `softacl run` gives to programs.
pub(super) fn library_path() -> Option<PathBuf> {
    let home = library::home().ok()?;
    std::fs::canonicalize(home.join(softacl_toolkit::LIBRARIES).join("libascendcl.so")).ok()
}

fn library() -> Diagnosis {
    const SUBJECT: &str = "library";
    match (library::home(), library_path()) {
        (Ok(_), Some(path)) => {
            Diagnosis::good(SUBJECT, format!("softacl {}, {}", env!("CARGO_PKG_VERSION"), path.display()))
        }
        (Ok(home), None) => Diagnosis::problem(
            SUBJECT,
            format!("{} has no libascendcl.so", home.display()),
            "install softacl again: cargo xtask install --prefix DIR",
        ),
        (Err(error), _) => Diagnosis::problem(SUBJECT, format!("{error:#}"), "install or build softacl again"),
    }
}

fn settings() -> Diagnosis {
    const SUBJECT: &str = "settings";
    match settings::settings() {
        Ok(settings) => {
            let files: Vec<String> = settings.files().map(|path| path.display().to_string()).collect();
            let text = if files.is_empty() { "no softacl.toml".to_owned() } else { files.join(", ") };
            Diagnosis::good(SUBJECT, text)
        }
        Err(error) => Diagnosis::problem(
            SUBJECT,
            format!("{error:#}"),
            format!("correct the file, or set {}=none", settings::VARIABLE),
        ),
    }
}

fn chip() -> Diagnosis {
    const SUBJECT: &str = "chip";
    match ascendcl_capi::from_environment() {
        Ok(config) => {
            let (soc, devices, cann) = (&config.profile.soc, config.devices.len(), &config.cann.version);
            Diagnosis::good(SUBJECT, format!("{soc}, {devices} devices with {} GiB, CANN {cann}", config.memory >> 30))
        }
        Err(error) => Diagnosis::problem(SUBJECT, error, "correct the variable; `softacl env` lists them all"),
    }
}

/// Copies some bytes to a device and back, in a separate process: it may reserve a lot of address space.
fn copy() -> Diagnosis {
    const SUBJECT: &str = "copies";
    let Ok(program) = env::current_exe() else { return Diagnosis::note(SUBJECT, "not tried", "run `softacl demo`") };
    match Command::new(program).args(["demo", "--blocks", "16", "--json", "-"]).output() {
        Ok(output) if output.status.success() => {
            Diagnosis::good(SUBJECT, "a small demo ran, and its data was verified")
        }
        Ok(output) => {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let reason = stderr.lines().last().unwrap_or("no message").to_owned();
            Diagnosis::problem(
                SUBJECT,
                format!("the demo failed: {reason}"),
                "run `softacl demo` for the whole message",
            )
        }
        Err(error) => Diagnosis::problem(SUBJECT, format!("the demo did not start: {error}"), "run `softacl demo`"),
    }
}

/// Another libascendcl.so that programs find if they are not started with `softacl run`.
fn other_library() -> Diagnosis {
    const SUBJECT: &str = "search path";
    let ours = library_path();
    let paths = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let found = env::split_paths(&paths).map(|path| path.join("libascendcl.so")).find(|path| path.is_file());
    match found.and_then(|path| std::fs::canonicalize(path).ok()) {
        Some(path) if Some(&path) == ours.as_ref() => Diagnosis::good(SUBJECT, "LD_LIBRARY_PATH leads to softacl"),
        Some(path) => Diagnosis::note(
            SUBJECT,
            format!("LD_LIBRARY_PATH leads to another library first: {}", path.display()),
            "start programs with `softacl run`, `check` or `trace`, or source set_env.sh of softacl last",
        ),
        None => Diagnosis::good(SUBJECT, "LD_LIBRARY_PATH has no libascendcl.so; `softacl run` sets it for programs"),
    }
}

/// Variables with our prefix that nothing reads, which are typing errors.
fn unknown_variables() -> Vec<Diagnosis> {
    let known: Vec<&str> = VARIABLES.iter().map(|variable| variable.name).collect();
    let given = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let unknown = given.filter(|name| name.starts_with("SOFTACL_") && !known.contains(&name.as_str()));
    let diagnosis = |name: String| {
        let near = closest_match(&name, known.iter().copied());
        let remedy = near.map_or("`softacl env` lists them all".to_owned(), |near| format!("did you mean {near}?"));
        Diagnosis::note("variables", format!("{name} is set, but softacl does not read it"), remedy)
    };
    unknown.map(diagnosis).collect()
}

/// Whether Python finds the module `acl` of softacl, and PyTorch's extension.
fn python() -> Diagnosis {
    const SUBJECT: &str = "python";
    let script = "import acl, importlib.util as u, sys; print(acl.__file__); \
                  print('torch_npu ' + ('found' if u.find_spec('torch_npu') else 'not found'))";
    let Ok(home) = library::home() else { return Diagnosis::note(SUBJECT, "not tried", "see library") };
    let variables = softacl_toolkit::environment(&home, softacl_toolkit::Options::default());
    let Ok(variables) = variables else { return Diagnosis::note(SUBJECT, "not tried", "see library") };
    match Command::new("python3").args(["-c", script]).envs(variables).output() {
        Err(_) => Diagnosis::note(SUBJECT, "no python3 on PATH", "only needed for pyACL and PyTorch"),
        Ok(output) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout).trim().replace('\n', "; ");
            Diagnosis::good(SUBJECT, format!("import acl: {text}"))
        }
        Ok(output) => {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let reason = stderr.lines().last().unwrap_or_default().to_owned();
            Diagnosis::note(
                SUBJECT,
                format!("python3 does not import acl: {reason}"),
                "install the wheel (cargo xtask wheel), if you use pyACL or PyTorch",
            )
        }
    }
}

/// Returns the canonical form of a path, or the path itself.
pub(super) fn canonical(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
