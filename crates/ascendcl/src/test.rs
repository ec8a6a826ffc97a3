//! Tests of programs that use this crate: the same body on many legal orders, under the checker.
//!
//! softacl reads its schedule once per process. So the test program starts itself again for every schedule, with
//! only the one test, and reads what the checker says about it. [`on_schedules`] has an example.

use crate::raw;
use std::any::type_name;
use std::env;
use std::process::{Command, Output, Stdio};

/// Set for the process that runs the body: the name of the test.
const CHILD: &str = "ASCENDCL_TEST_BODY";

/// Runs a test body on fresh devices, once for each schedule: `early`, `late`, and as many random ones as asked for,
/// each in a process of its own and under the checker of softacl. Panics if the body does, or with the report of the
/// checker if that has proven something.
///
/// The body must be a closure in the test function, or in `main`: its name is how the process finds it again. On a
/// library that is not softacl there are no schedules, and the body runs once, here.
///
/// ```standalone_crate
/// use ascendcl::{Device, test::on_schedules};
///
/// fn main() {       // or a function with `#[test]`
///     on_schedules(8, || {
///         let context = Device::new(0).unwrap().new_context().unwrap();
///         let stream = context.new_stream().unwrap();
///         let mut device = context.alloc_zeros::<u8>(4).unwrap();
///         let host = context.alloc_pinned_from_slice(&[1, 2, 3, 4]).unwrap();
///         stream.upload(host, &mut device).unwrap().wait().unwrap();
///         assert_eq!(device.to_vec().unwrap(), [1, 2, 3, 4]);
///     });
/// }
/// ```
#[track_caller]
pub fn on_schedules<F: FnOnce()>(seeds: u64, body: F) {
    let name = test_name::<F>();
    if env::var_os(CHILD).is_some_and(|child| child == name) {
        return body();
    }
    if !is_softacl() {
        return body();
    }
    let fixed = ["early".to_owned(), "late".to_owned()];
    for schedule in fixed.into_iter().chain((1..=seeds).map(|seed| format!("random:{seed}"))) {
        let output = run(name, &schedule);
        if let Some(why) = verdict(&output) {
            let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            panic!("{name} on schedule {schedule}: {why}\n{out}\n{err}");
        }
    }
}

/// Why a run is not fine, if it is not.
fn verdict(output: &Output) -> Option<String> {
    if !output.status.success() {
        return Some(match output.status.code() {
            Some(2) => "the checker has proven a mistake".to_owned(),
            _ => format!("the body failed ({})", output.status),
        });
    }
    // Silence does not mean clean.
    let told = String::from_utf8_lossy(&output.stderr).contains("softacl check: ");
    (!told).then(|| "nothing was checked: does the body use a device?".to_owned())
}

fn run(name: &str, schedule: &str) -> Output {
    let program = env::current_exe().expect("a program has a path");
    let mut command = Command::new(program);
    if name == "main" {
        command.args(env::args_os().skip(1));
    } else {
        command.args([name, "--exact", "--nocapture", "--include-ignored", "--test-threads=1"]);
    }
    command.env(CHILD, name).env("SOFTACL_CHECK", "1").env("SOFTACL_SCHEDULE", schedule);
    command.env_remove("SOFTACL_CHECK_DIR").stdin(Stdio::null());
    command.output().expect("the program can be started again")
}

/// The path of the function that the closure is in, without the crate: what the test harness calls it.
fn test_name<F>() -> &'static str {
    let path = type_name::<F>();
    let path = path.split("::{{closure}}").next().unwrap_or(path);
    path.split_once("::").map_or(path, |(_, name)| name)
}

fn is_softacl() -> bool {
    // SAFETY: asking has no conditions.
    unsafe { raw::softaclVersion() }.is_ok()
}
