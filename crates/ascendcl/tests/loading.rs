//! The library is chosen at run time. It is loaded once per process, so each case is a process of its own.

use ascendcl::raw::{Origin, loaded};
use ascendcl::{Device, Error};
use std::env;
use std::path::PathBuf;
use std::process::{Command, Output};

/// Runs one of the tests below again, with a library named in the environment.
fn run_in_child(test: &str, library: &str) -> Output {
    let mut command = Command::new(env::current_exe().expect("a program has a path"));
    command.args([test, "--exact", "--include-ignored", "--nocapture"]).env("ASCENDCL_LIBRARY", library);
    command.output().expect("the program can be started again")
}

/// The shared library, which is built beside the tests because they carry the same crate along.
fn shared() -> PathBuf {
    let beside = env::current_exe().expect("a program has a path").with_file_name("libascendcl_capi.so");
    assert!(beside.is_file(), "{} is not there", beside.display());
    beside
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
    copy().expect("it works");
}

#[test]
#[ignore = "run by the test below, in a process of its own"]
fn child_copies_with_the_named_one() {
    let named = PathBuf::from(env::var_os("ASCENDCL_LIBRARY").expect("the parent names one"));
    assert_eq!(loaded(), Ok(&Origin::Loaded(named)));
    copy().expect("it works");
}

#[test]
fn the_same_program_runs_with_a_library_that_is_named() {
    let output = run_in_child("child_copies_with_the_named_one", &shared().display().to_string());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
}

#[test]
#[ignore = "run by the test below, in a process of its own"]
fn child_finds_nothing() {
    println!("{}", Device::new(0).expect_err("there is no such library"));
}

#[test]
fn missing_named_library_is_reported_with_its_path() {
    let output = run_in_child("child_finds_nothing", "/nowhere/libascendcl.so");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("tried /nowhere/libascendcl.so: cannot open shared object file"), "{said}");
    assert!(said.contains("ASCENDCL_LIBRARY") && said.contains("LD_LIBRARY_PATH"), "{said}");
}
