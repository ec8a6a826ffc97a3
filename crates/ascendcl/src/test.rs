//! Support for testing programs: runs a test body on many legal execution orders, under the checker, or in a region in
//! which no call may wait.
//!
//! softacl reads its schedule once per process. The test program therefore starts itself again for every schedule, with
//! only the one test, and reads the checker's report. See [`on_schedules`] for an example.

use crate::raw;
use std::any::type_name;
use std::env;
use std::ffi::{CStr, CString};
use std::process::{Command, Output, Stdio};

/// Environment variable of the process that runs the body. Its value is the name of the test.
const CHILD: &str = "ASCENDCL_TEST_BODY";

/// Runs a test body once for each schedule: `early`, `late`, and `random:1` to `random:seeds`.
///
/// Each run has fresh devices, in a separate process under the checker of softacl. The body must be a closure in the
/// test function or in `main`, because the child process finds it by the name of that function. With a library other
/// than softacl, schedules do not exist, and the body runs once in the calling process.
///
/// # Panics
///
/// Panics if the body panics, if the body uses no device, or with the report of the checker if it has proven a finding.
///
/// ```standalone_crate
/// use ascendcl::{Device, test::on_schedules};
///
/// fn main() {       // or a `#[test]` function
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
        if let Some(failure) = failure(&output) {
            let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            panic!("{name} on schedule {schedule}: {failure}\n{out}\n{err}");
        }
    }
}

/// Runs a body in which no call of the calling thread may wait, except the C functions that `allow` lists.
///
/// Synchronous copies, asynchronous copies of pageable memory, explicit waits, `aclrtDestroyStream` (a dropped
/// [`Stream`](crate::Stream)) and frees with synchronization count, even if there was nothing to wait for. Works with and
/// without the checker. With another library than softacl, only the body runs.
///
/// # Panics
///
/// Panics with the source lines of the calls that waited, and if `allow` has a name that is not a function of the API.
///
/// ```
/// use ascendcl::{Device, test::no_hidden_sync};
///
/// let context = Device::new(0)?.new_context()?;
/// let stream = context.new_stream()?;
/// let mut device = context.alloc_zeros::<u8>(4)?;
/// let host = context.alloc_pinned_from_slice(&[1, 2, 3, 4])?;
/// let transfer = no_hidden_sync(&[], || stream.upload(host, &mut device))?;
/// no_hidden_sync(&["aclrtSynchronizeEvent", "aclrtSynchronizeStream"], || transfer.wait())?;
/// # Ok::<(), ascendcl::Error>(())
/// ```
#[track_caller]
pub fn no_hidden_sync<T>(allow: &[&str], body: impl FnOnce() -> T) -> T {
    if !is_softacl() {
        return body();
    }
    let allow = CString::new(allow.join(",")).expect("a function name contains no zero byte");
    // SAFETY: both arguments are strings that outlive the call.
    if let Err(error) = unsafe { raw::softaclNoHiddenSyncBegin(c"".as_ptr(), allow.as_ptr()) } {
        panic!("no_hidden_sync: {error}");
    }
    let mut region = Region { is_open: true };
    let result = body();
    let (count, text) = region.end();
    assert!(count == 0, "{count} call{} waited:\n{text}", if count == 1 { "" } else { "s" });
    result
}

/// An open region of the calling thread. Ends when dropped, because the body may panic.
struct Region {
    is_open: bool,
}

impl Region {
    /// Ends the region. Returns the number of calls that waited, and a line for each call site.
    fn end(&mut self) -> (usize, String) {
        self.is_open = false;
        let mut text = vec![0_u8; 1 << 14];
        // SAFETY: the buffer has the given size.
        let count = unsafe { raw::softaclNoHiddenSyncEnd(text.as_mut_ptr().cast(), text.len()) };
        let text = CStr::from_bytes_until_nul(&text).unwrap_or_default();
        (count.unwrap_or(0), text.to_string_lossy().into_owned())
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if self.is_open {
            self.end();
        }
    }
}

/// Describes why a run failed. `None` if it succeeded.
fn failure(output: &Output) -> Option<String> {
    if !output.status.success() {
        return Some(match output.status.code() {
            Some(2) => "the checker has proven a finding".to_owned(),
            _ => format!("the body failed ({})", output.status),
        });
    }
    // A run without a report was not checked, so it does not count as clean.
    let is_reported = String::from_utf8_lossy(&output.stderr).contains("softacl check: ");
    (!is_reported).then(|| "nothing was checked: does the body use a device?".to_owned())
}

/// Starts the program again, for one test on one schedule, and waits for it.
fn run(name: &str, schedule: &str) -> Output {
    let program = env::current_exe().expect("the path of the program is available");
    let mut command = Command::new(program);
    if name == "main" {
        command.args(env::args_os().skip(1));
    } else {
        command.args([name, "--exact", "--nocapture", "--include-ignored", "--test-threads=1"]);
    }
    command.env(CHILD, name).env("SOFTACL_CHECK", "1").env("SOFTACL_SCHEDULE", schedule);
    command.env_remove("SOFTACL_CHECK_DIR").stdin(Stdio::null());
    command.output().expect("the program can be started")
}

/// Returns the path of the function that contains the closure, without the crate. This is its name in the test harness.
fn test_name<F>() -> &'static str {
    let path = type_name::<F>();
    let path = path.split("::{{closure}}").next().unwrap_or(path);
    path.split_once("::").map_or(path, |(_, name)| name)
}

fn is_softacl() -> bool {
    // SAFETY: the call has no preconditions.
    unsafe { raw::softaclVersion() }.is_ok()
}
