//! Tests of library selection. The library is loaded once per process, so each case runs in a child process.

use ascendcl::raw::{Origin, loaded};
use ascendcl::{Device, Error};
use std::env;
use std::path::PathBuf;
use std::process::{Command, Output};

/// Runs a test of this file in a child process with `ASCENDCL_LIBRARY` set.
fn run_in_child(test: &str, library: &str) -> Output {
    let mut command = Command::new(env::current_exe().expect("the path of the program is available"));
    command.args([test, "--exact", "--include-ignored", "--nocapture"]).env("ASCENDCL_LIBRARY", library);
    command.output().expect("the program can be started")
}

/// Returns the path of the shared library. Cargo builds it next to the tests, because they link the same crate.
fn shared_library() -> PathBuf {
    let path = env::current_exe().expect("the path of the program is available").with_file_name("libascendcl_capi.so");
    assert!(path.is_file(), "{} does not exist", path.display());
    path
}

fn copy() -> Result<(), Error> {
    let context = Device::new(0)?.new_context()?;
    let mut device = context.alloc_zeros::<u8>(3)?;
    context.new_stream()?.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut device)?.wait()?;
    assert_eq!(device.to_vec()?, [1, 2, 3]);
    Ok(())
}

#[test]
fn bundled_library_is_the_default() {
    assert_eq!(loaded(), Ok(&Origin::Bundled));
    copy().expect("no call fails");
}

#[test]
#[ignore = "run by named_library_is_loaded, in a child process"]
fn child_copies_with_the_named_library() {
    let named = PathBuf::from(env::var_os("ASCENDCL_LIBRARY").expect("the parent sets the variable"));
    assert_eq!(loaded(), Ok(&Origin::Loaded(named)));
    copy().expect("no call fails");
}

#[test]
fn named_library_is_loaded() {
    let output = run_in_child("child_copies_with_the_named_library", &shared_library().display().to_string());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
}

#[test]
#[ignore = "run by missing_named_library_is_reported_with_its_path, in a child process"]
fn child_prints_the_load_error() {
    println!("{}", Device::new(0).expect_err("the library does not exist"));
}

#[test]
fn missing_named_library_is_reported_with_its_path() {
    let output = run_in_child("child_prints_the_load_error", "/nowhere/libascendcl.so");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("tried /nowhere/libascendcl.so: cannot open shared object file"), "{text}");
    assert!(text.contains("ASCENDCL_LIBRARY") && text.contains("LD_LIBRARY_PATH"), "{text}");
}
