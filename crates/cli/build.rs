//! Embeds two things into the program: the finding pages for `softacl explain`, and the interposer for `softacl check`,
//! which the C compiler builds.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

fn main() {
    pages();
    interposer();
}

/// Builds the interposer. It is written in C because it replaces C library functions that Rust cannot define.
fn interposer() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("interposer");
    println!("cargo::rerun-if-changed={}", directory.display());
    let sources = fs::read_dir(&directory).expect("the interposer can be read");
    let sources = sources.map(|entry| entry.expect("the interposer can be read").path());
    let mut sources: Vec<_> = sources.filter(|path| path.extension().is_some_and(|name| name == "c")).collect();
    sources.sort();
    let target = Path::new(&env::var("OUT_DIR").expect("cargo sets OUT_DIR")).join("libsoftacl_interposer.so");
    let compiler = compiler();
    // Without inline versions of the functions that it defines, which the headers of some C libraries have.
    let language = ["-std=gnu11", "-O2", "-fno-builtin", "-D__NO_INLINE__", "-Wall", "-Wextra", "-Werror"];
    let library = ["-shared", "-fPIC", "-fvisibility=hidden", "-s"];
    let status =
        Command::new(&compiler).args(language).args(library).args(sources).arg("-o").arg(&target).arg("-ldl").status();
    assert!(status.is_ok_and(|status| status.success()), "{compiler} could not build the interposer");
}

/// Returns the C compiler for the target, from the variables that build tools set: a cross build names one per target.
fn compiler() -> String {
    let triple = env::var("TARGET").expect("cargo sets TARGET").replace('-', "_");
    let variables = [format!("CC_{triple}"), "CC".to_owned()];
    variables.iter().for_each(|name| println!("cargo::rerun-if-env-changed={name}"));
    variables.iter().find_map(|name| env::var(name).ok()).unwrap_or_else(|| "cc".to_owned())
}

/// Writes the table of finding pages.
fn pages() {
    // A link to docs/findings, which a package of this crate contains as files.
    let findings = Path::new(env!("CARGO_MANIFEST_DIR")).join("findings");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", findings.display());
    let mut pages = Vec::new();
    for entry in fs::read_dir(findings).expect("the finding pages can be read") {
        let path = entry.expect("docs/findings can be read").path();
        let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        if path.extension().is_some_and(|extension| extension == "md") {
            pages.push((name, fs::canonicalize(&path).expect("the page can be resolved")));
        }
    }
    pages.sort();
    let mut table = String::from("&[\n");
    for (name, path) in pages {
        writeln!(table, "    ({name:?}, include_str!({:?})),", path.display().to_string())
            .expect("writing to a string cannot fail");
    }
    table.push(']');
    let target = Path::new(&env::var("OUT_DIR").expect("cargo sets OUT_DIR")).join("pages.rs");
    fs::write(target, table).expect("OUT_DIR can be written");
}
