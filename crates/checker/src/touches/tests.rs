//! Message and count of H1 findings.

use crate::Checker;
use crate::checker::RunInfo;
use crate::guard::PAGE;
use crate::unjudged::Subject;
use softacl_engine::observer::{FunctionOrder, Mode, Observer, StreamPosition, Submitted, TaskKind, Touch, Window};
use std::sync::atomic::{AtomicBool, Ordering};

/// Pinned memory and a checker that guards it.
struct Pinned {
    checker: Checker,
    start: usize,
    size: usize,
    /// The mapping through which the guard reads pages that the program cannot.
    alias: usize,
}

impl Pinned {
    fn new(pages: usize) -> Pinned {
        let (size, access) = (pages * PAGE, libc::PROT_READ | libc::PROT_WRITE);
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        // SAFETY: a fresh mapping that only this test uses.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), size, access, flags, -1, 0) };
        assert_ne!(start, libc::MAP_FAILED);
        // SAFETY: an old size of 0 leaves a shared mapping in place and maps its pages a second time.
        let alias = unsafe { libc::mremap(start, 0, size, libc::MREMAP_MAYMOVE) };
        assert_ne!(alias, libc::MAP_FAILED);
        let (checker, start, alias) = (Checker::default(), start as usize, alias as usize);
        checker.attached(Window { start, len: size, shift: alias as isize - start as isize });
        Pinned { checker, start, size, alias }
    }

    /// Writes a byte like a program whose write faults first.
    fn write(&self, offset: usize, value: u8) {
        self.checker.touched(self.start + offset, true, 0);
        // SAFETY: inside the mapping, and `touched` has unprotected the page.
        unsafe { ((self.start + offset) as *mut u8).write(value) };
        self.checker.stepped();
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        for start in [self.start, self.alias] {
            // SAFETY: a mapping from above, which is no longer used.
            unsafe { libc::munmap(start as *mut _, self.size) };
        }
    }
}

fn submit(checker: &Checker, sequence: u64, sources: &[(usize, usize)]) {
    let source = |(address, len): &(usize, usize)| Touch { address: *address, len: *len, mode: Mode::Read };
    submit_copy(checker, sequence, &sources.iter().map(source).collect::<Vec<_>>());
}

fn submit_copy(checker: &Checker, sequence: u64, touches: &[Touch]) {
    checker.submitted(&Submitted {
        label: None,
        at: StreamPosition { stream: 1, sequence },
        device: 0,
        kind: TaskKind::Copy,
        touches,
        captured: None,
        function: None,
        after: None,
        event: None,
        is_external_wait: false,
        signal: None,
        releases: None,
    });
}

/// Runs the task and waits for it.
fn finish(checker: &Checker, sequence: u64) {
    let at = StreamPosition { stream: 1, sequence };
    checker.started(at);
    checker.finished(at);
    checker.waited(at);
}

/// The end of each H1 message, and its count.
fn reported(checker: &Checker) -> Vec<(String, u64)> {
    let findings = checker.report(RunInfo::default()).findings.into_iter().filter(|found| found.id == "H1");
    findings.map(|found| (found.message.split_once("execution: ").unwrap().1.to_owned(), found.count)).collect()
}

#[test]
fn changes_of_several_sources_are_one_finding_with_a_total() {
    let pinned = Pinned::new(16);
    let sources = [0, 256, 2 * PAGE].map(|offset| (pinned.start + offset, 100));
    submit(&pinned.checker, 1, &sources);
    for offset in [300, 301, 2 * PAGE + 7] {
        pinned.write(offset, 9);
    }
    finish(&pinned.checker, 1);
    let message = "3 of 300 bytes differ, the first is byte 44 of piece 2 of 3".to_owned();
    assert_eq!(reported(&pinned.checker), [(message, 1)]);
}

#[test]
fn change_that_continues_during_the_copy_is_counted_once() {
    let pinned = Pinned::new(16);
    submit(&pinned.checker, 1, &[(pinned.start, 2 * PAGE)]);
    // A single call site.
    for offset in std::hint::black_box(vec![0, PAGE]) {
        pinned.write(offset, 9);
        pinned.checker.started(StreamPosition { stream: 1, sequence: 1 });
    }
    finish(&pinned.checker, 1);
    let message = "1 of 8192 bytes differ, the first is byte 0".to_owned();
    assert_eq!(reported(&pinned.checker), [(message, 1)]);
}

#[test]
fn differences_of_registered_sources_are_summed() {
    let pinned = Pinned::new(16);
    let mut memory = vec![1_u8; 3000];
    let start = memory.as_mut_ptr() as usize;
    submit(&pinned.checker, 1, &[(start, 1000), (start + 1000, 1000), (start + 2000, 1000)]);
    memory[1500..].fill(2);
    finish(&pinned.checker, 1);
    let message = "1500 of 3000 bytes differ, the first is byte 500 of piece 2 of 3".to_owned();
    assert_eq!(reported(&pinned.checker), [(message, 1)]);
}

#[test]
fn large_registered_sources_are_compared_by_page() {
    let pinned = Pinned::new(16);
    let mut memory = vec![1_u8; 100_000];
    submit(&pinned.checker, 1, &[(memory.as_mut_ptr() as usize, 100_000)]);
    memory[5000] = 2;
    finish(&pinned.checker, 1);
    let message = "up to 4096 of 100000 bytes differ, the first is in the page from byte 4096".to_owned();
    assert_eq!(reported(&pinned.checker), [(message, 1)]);
}

#[test]
fn access_buffer_overflow_yields_a_lower_bound() {
    let pages = 5000;
    let pinned = Pinned::new(pages);
    submit(&pinned.checker, 1, &[(pinned.start, pinned.size)]);
    (0..pages).for_each(|page| pinned.write(page * PAGE, 9));
    finish(&pinned.checker, 1);
    let message = format!("at least 4096 of {} bytes differ, the first is byte 0", pinned.size);
    assert_eq!(reported(&pinned.checker), [(message, 1)]);
}

#[test]
fn wide_store_before_a_source_is_detected() {
    let pinned = Pinned::new(16);
    submit(&pinned.checker, 1, &[(pinned.start + 100, 8)]);
    // A wide store at 90 reaches the source.
    pinned.checker.touched(pinned.start + 90, true, 0);
    // SAFETY: inside the mapping, and `touched` has unprotected the page.
    unsafe { ((pinned.start + 90) as *mut [u8; 32]).write([3; 32]) };
    pinned.checker.stepped();
    finish(&pinned.checker, 1);
    let message = "8 of 8 bytes differ, the first is byte 0".to_owned();
    assert_eq!(reported(&pinned.checker), [(message, 1)]);
}

#[test]
fn stores_beside_a_source_do_not_hide_a_change() {
    let pinned = Pinned::new(16);
    submit(&pinned.checker, 1, &[(pinned.start + 100, 8)]);
    for _ in 0..600 {
        pinned.write(2000, 9);
    }
    // SAFETY: inside the mapping, and the guard has left the page open.
    unsafe { ((pinned.start + 104) as *mut u8).write(9) };
    finish(&pinned.checker, 1);
    assert_eq!(reported(&pinned.checker), [("1 of 8 bytes differ, the first is byte 4".to_owned(), 1)]);
    let unjudged = pinned.checker.report(RunInfo::default()).unjudged;
    assert!(unjudged.is_empty(), "changes of a source are found by comparing: {unjudged:?}");
}

#[test]
fn reads_of_a_destination_in_a_page_left_open_are_not_judged() {
    let pinned = Pinned::new(16);
    submit_copy(&pinned.checker, 1, &[Touch { address: pinned.start + 100, len: 8, mode: Mode::Write }]);
    for _ in 0..600 {
        pinned.write(2000, 9);
    }
    finish(&pinned.checker, 1);
    let unjudged = pinned.checker.report(RunInfo::default()).unjudged;
    let found: Vec<_> = unjudged.iter().map(|entry| (entry.findings.join(" "), entry.what)).collect();
    assert_eq!(found, [("H3".to_owned(), Subject::Page)], "{unjudged:?}");
}

#[test]
fn system_call_counts_with_the_bytes_that_it_used() {
    let pinned = Pinned::new(16);
    submit(&pinned.checker, 1, &[(pinned.start + 100, 8)]);
    let receive = |len: usize| {
        pinned.checker.system_access_begins(pinned.start, PAGE, true, "read");
        // SAFETY: inside the mapping, and the page is open.
        unsafe { (pinned.start as *mut u8).write_bytes(7, len) };
        pinned.checker.system_access_ends(pinned.start, Some(len));
    };
    receive(50);
    assert!(pinned.checker.report(RunInfo::default()).findings.is_empty());
    receive(103);
    finish(&pinned.checker, 1);
    assert_eq!(reported(&pinned.checker), [("3 of 8 bytes differ, the first is byte 0".to_owned(), 1)]);
}

#[test]
fn system_call_with_two_arguments_in_a_page_counts_with_both() {
    let pinned = Pinned::new(16);
    submit(&pinned.checker, 1, &[(pinned.start + 100, 8)]);
    pinned.checker.system_access_begins(pinned.start + 200, 4, true, "getsockopt");
    pinned.checker.system_access_begins(pinned.start + 96, 16, true, "getsockopt");
    // SAFETY: inside the mapping, and the page is open.
    unsafe { ((pinned.start + 100) as *mut u8).write(7) };
    pinned.checker.system_access_ends(pinned.start + 96, Some(16));
    pinned.checker.system_access_ends(pinned.start + 200, Some(4));
    finish(&pinned.checker, 1);
    assert_eq!(reported(&pinned.checker), [("1 of 8 bytes differ, the first is byte 0".to_owned(), 1)]);
}

#[test]
fn page_of_a_blocked_system_call_stays_open_when_a_copy_is_queued() {
    let pinned = Pinned::new(16);
    pinned.checker.system_access_begins(pinned.start, 8, true, "read");
    submit(&pinned.checker, 1, &[(pinned.start + 100, 8)]);
    let mut ends = [0; 2];
    // SAFETY: the calls get valid memory. The kernel refuses memory that is protected.
    unsafe {
        assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
        assert_eq!(libc::write(ends[1], c"text".as_ptr().cast(), 4), 4);
        assert_eq!(libc::read(ends[0], pinned.start as *mut _, 8), 4);
        libc::close(ends[0]);
        libc::close(ends[1]);
    }
    pinned.checker.system_access_ends(pinned.start, Some(4));
    finish(&pinned.checker, 1);
    assert_eq!(reported(&pinned.checker), []);
}

#[test]
fn system_call_whose_use_is_unknown_is_not_judged() {
    let pinned = Pinned::new(16);
    submit(&pinned.checker, 1, &[(pinned.start + 100, 8)]);
    for start in [200, 50] {
        pinned.checker.system_access_begins(pinned.start + start, PAGE - start, true, "ioctl");
        pinned.checker.system_access_ends(pinned.start + start, None);
    }
    let unjudged = pinned.checker.report(RunInfo::default()).unjudged;
    assert_eq!((unjudged[0].findings.join(" "), unjudged[0].count), ("H1 H3".to_owned(), 1), "{unjudged:?}");
}

/// Queues a host function and a copy behind it, changes the source while `run_function` runs, and finishes the copy.
fn change_behind_function(run_function: impl Fn(&Checker, StreamPosition, &AtomicBool) + Sync) -> Pinned {
    let (pinned, is_changed) = (Pinned::new(16), AtomicBool::new(false));
    let at = StreamPosition { stream: 1, sequence: 1 };
    pinned.checker.submitted(&Submitted {
        label: None,
        at,
        device: 0,
        kind: TaskKind::HostFunction,
        touches: &[],
        captured: None,
        function: Some(FunctionOrder::HoldsStream),
        after: None,
        event: None,
        is_external_wait: false,
        signal: None,
        releases: None,
    });
    submit(&pinned.checker, 2, &[(pinned.start, 100)]);
    std::thread::scope(|scope| {
        scope.spawn(|| run_function(&pinned.checker, at, &is_changed));
        pinned.write(5, 9);
        is_changed.store(true, Ordering::Release);
    });
    pinned.checker.finished(at);
    finish(&pinned.checker, 2);
    pinned
}

#[test]
fn change_that_a_host_function_did_not_wait_for_is_reported() {
    let pinned = change_behind_function(|checker, at, _| {
        while !checker.wants_progress() {
            std::thread::yield_now();
        }
        checker.function_entered(at);
        checker.function_left(at);
    });
    assert_eq!(reported(&pinned.checker), [("1 of 100 bytes differ, the first is byte 5".to_owned(), 1)]);
}

#[test]
fn change_while_a_host_function_does_not_return_is_not_judged() {
    let pinned = change_behind_function(|checker, at, is_changed| {
        checker.function_entered(at);
        while !is_changed.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        checker.function_left(at);
    });
    let report = pinned.checker.report(RunInfo::default());
    assert!(report.findings.is_empty() && report.unjudged.len() == 1, "{:?}", report.unjudged);
}
