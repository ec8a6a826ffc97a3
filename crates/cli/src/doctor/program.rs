//! A program: whether it will load softacl, and whether the checker can work with it.

use super::diagnosis::Diagnosis;
use super::installation::{canonical, library_path};
use crate::library;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Sanitizers by a symbol that their programs contain, and whether `softacl check` works with them.
const SANITIZERS: [(&str, &str, bool); 3] = [
    ("__asan_init", "AddressSanitizer", true),
    ("__tsan_init", "ThreadSanitizer", true),
    ("__msan_init", "MemorySanitizer", false),
];

pub(super) fn diagnoses(program: &Path) -> Vec<Diagnosis> {
    const SUBJECT: &str = "program";
    let bytes = match fs::read(program) {
        Ok(bytes) => bytes,
        Err(error) => {
            let text = format!("{}: {error}", program.display());
            return vec![Diagnosis::problem(SUBJECT, text, "give the path of the program, with its directory")];
        }
    };
    if !bytes.starts_with(b"\x7fELF") {
        let text = format!("{} is a script; its interpreter decides what it loads", program.display());
        return vec![Diagnosis::good(SUBJECT, text)];
    }
    let mut all = vec![links(program), debug_information(&bytes)];
    for (symbol, name, works) in SANITIZERS {
        if contains(&bytes, symbol.as_bytes()) {
            let text = format!("the program is built with {name}");
            all.push(match works {
                true => Diagnosis::good("sanitizer", format!("{text}, with which all commands work")),
                false => Diagnosis::note(
                    "sanitizer",
                    format!("{text}, which does not see what a copy writes"),
                    "expect reports about initialized memory; use `softacl check` on a build without it",
                ),
            });
        }
    }
    all
}

/// Which libascendcl.so the dynamic linker finds under `softacl run`.
fn links(program: &Path) -> Diagnosis {
    const SUBJECT: &str = "links";
    let variables =
        library::home().and_then(|home| Ok(softacl_toolkit::environment(&home, softacl_toolkit::Options::default())?));
    let Ok(variables) = variables else { return Diagnosis::note(SUBJECT, "not tried", "see library") };
    let Ok(output) = Command::new("ldd").arg(canonical(program)).envs(variables).output() else {
        return Diagnosis::note(SUBJECT, "not tried: ldd is not installed", "install the C library's tools");
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let missing: Vec<&str> = text.lines().filter(|line| line.contains("not found")).map(str::trim).collect();
    if let [first, ..] = missing[..] {
        return Diagnosis::problem(
            SUBJECT,
            format!("a library is missing: {first}"),
            "softacl run --with-stubs provides other vendor libraries; else install it",
        );
    }
    let found = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("libascendcl.so")?.split_once("=> "))
        .map(|(_, path)| path);
    match found.and_then(|path| path.split(' ').next()) {
        Some(path) if Some(canonical(Path::new(path))) == library_path() => {
            Diagnosis::good(SUBJECT, "libascendcl.so resolves to softacl under `softacl run`")
        }
        Some(path) => Diagnosis::problem(
            SUBJECT,
            format!("libascendcl.so resolves to {path}, even under `softacl run`"),
            "the program has a fixed search path (DT_RPATH): link it without -rpath, or change it with patchelf",
        ),
        None => Diagnosis::note(
            SUBJECT,
            "the program does not link libascendcl.so",
            "fine if it loads the library at run time (dlopen) or through another library",
        ),
    }
}

/// Reports name lines only if the program has debug information.
fn debug_information(bytes: &[u8]) -> Diagnosis {
    const SUBJECT: &str = "source lines";
    match contains(bytes, b".debug_line") || contains(bytes, b".gnu_debuglink") {
        true => Diagnosis::good(SUBJECT, "the program has debug information"),
        false => Diagnosis::note(SUBJECT, "no debug information: reports name functions, not lines", "build with -g"),
    }
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}
