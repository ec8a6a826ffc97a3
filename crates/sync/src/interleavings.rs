//! Model checks: loom explores every interleaving of the concurrency primitives.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test --release --lib` in `crates/sync`.

use crate::allocation_record::AllocationRecord;
use crate::completion::Completion;
use crate::facade::{AtomicBool, AtomicU32, Ordering, lock};
use crate::failure::FirstFailure;
use crate::graph_event::GraphEvent;
use crate::handle::{HandleKind, Slots};
use crate::inbox::Inbox;
use crate::lane::Readiness;
use crate::shared_lane::SharedLane;
use crate::signal_log::SignalLog;
use crate::wait_queue::WaitQueue;
use crate::waiter_list::WaiterList;
use crate::work_units::WorkUnits;
use loom::sync::Arc;
use loom::thread;

#[test]
fn parked_thread_is_always_woken() {
    loom::model(|| {
        let completion = Arc::new(Completion::default());
        let publisher = {
            let completion = Arc::clone(&completion);
            thread::spawn(move || {
                completion.publish(1);
                completion.publish(2);
            })
        };
        completion.wait(2);
        assert_eq!(completion.done(), 2);
        publisher.join().unwrap();
    });
}

#[test]
fn task_writes_are_visible_after_completion() {
    loom::model(|| {
        let shared = Arc::new((Completion::default(), loom::cell::UnsafeCell::new(0)));
        let writer = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                // SAFETY: exclusive: the reader reads only after `publish`. loom checks this.
                shared.1.with_mut(|bytes| unsafe { *bytes = 7 });
                shared.0.publish(1);
            })
        };
        if shared.0.done() >= 1 {
            // SAFETY: `done` returned 1, so the write happened before. loom checks this.
            assert_eq!(shared.1.with(|bytes| unsafe { *bytes }), 7);
        }
        writer.join().unwrap();
    });
}

#[test]
fn wake_one_is_not_lost() {
    loom::model(|| {
        let shared = Arc::new((WaitQueue::default(), AtomicU32::new(0)));
        let waiter = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.0.wait(|| shared.1.load(Ordering::Acquire) > 0))
        };
        shared.1.store(1, Ordering::Release);
        shared.0.wake_one();
        waiter.join().unwrap();
    });
}

#[test]
fn watcher_is_collected_or_sees_completion() {
    loom::model(|| {
        let shared_lane = Arc::new(SharedLane::<&str, u32>::default());
        lock(&shared_lane.lane).push("task");
        lock(&shared_lane.lane).claim(|_| Readiness::Ready).unwrap();
        let finisher = {
            let shared_lane = Arc::clone(&shared_lane);
            thread::spawn(move || shared_lane.finish(1))
        };
        let registered = shared_lane.watch(1, 42);
        let collected = finisher.join().unwrap();
        assert_eq!(collected, if registered { vec![42] } else { vec![] });
    });
}

#[test]
fn lane_has_one_executor_at_a_time() {
    loom::model(|| {
        let shared_lane = Arc::new(SharedLane::<u32, u32>::default());
        let running = Arc::new(AtomicU32::new(0));
        lock(&shared_lane.lane).push(1);
        lock(&shared_lane.lane).push(2);
        let execute = {
            let (shared_lane, running) = (Arc::clone(&shared_lane), Arc::clone(&running));
            move || {
                let mut ran = Vec::new();
                loop {
                    let claimed = lock(&shared_lane.lane).claim(|_| Readiness::Ready);
                    let Ok((task, sequence)) = claimed else { return ran };
                    assert_eq!(running.fetch_add(1, Ordering::Relaxed), 0);
                    ran.push(task);
                    running.fetch_sub(1, Ordering::Relaxed);
                    shared_lane.finish(sequence);
                }
            }
        };
        let other = thread::spawn(execute.clone());
        let mut ran = execute();
        ran.extend(other.join().unwrap());
        // A thread that finds the lane claimed returns; the holder of the claim continues.
        ran.extend(execute());
        ran.sort_unstable();
        assert_eq!(ran, [1, 2]);
        assert_eq!(shared_lane.completion.done(), 2);
    });
}

#[test]
fn dropping_pending_tasks_completes_them() {
    loom::model(|| {
        let shared_lane = Arc::new(SharedLane::<u32, u32>::default());
        lock(&shared_lane.lane).push(1);
        lock(&shared_lane.lane).claim(|_| Readiness::Ready).unwrap();
        lock(&shared_lane.lane).push(2);
        shared_lane.watch(2, 7);
        let finisher = {
            let shared_lane = Arc::clone(&shared_lane);
            thread::spawn(move || shared_lane.finish(1))
        };
        let (dropped, collected) = shared_lane.clear();
        assert_eq!(dropped, [2]);
        let collected = [collected, finisher.join().unwrap()].concat();
        assert_eq!(collected, [7]);
        assert_eq!(shared_lane.completion.done(), 2);
    });
}

#[test]
fn claimed_tasks_run_or_are_dropped() {
    loom::model(|| {
        let shared_lane = Arc::new(SharedLane::<u32, u32>::default());
        for task in 1..=3 {
            let _ = lock(&shared_lane.lane).push(task);
        }
        let executor = {
            let shared_lane = Arc::clone(&shared_lane);
            thread::spawn(move || {
                let mut lane = lock(&shared_lane.lane);
                let Ok((first, sequence)) = lane.claim(|_| Readiness::Ready) else { return vec![] };
                let mut rest = lane.take();
                drop(lane);
                let newest = sequence + rest.len() as u64;
                let ran: Vec<u32> = [first].into_iter().chain(rest.pop_front()).collect();
                let last = sequence + ran.len() as u64 - 1;
                let _ = lock(&shared_lane.lane).put_back(rest, newest);
                shared_lane.finish(last);
                ran
            })
        };
        let (dropped, _) = shared_lane.clear();
        let ran = executor.join().unwrap();
        // Every task was run or dropped, none of them twice, and all are published.
        assert!(lock(&shared_lane.lane).is_idle());
        assert_eq!(shared_lane.completion.done(), 3);
        assert!(ran.is_empty() || ran == [1, 2], "{ran:?}");
        assert!(dropped.iter().all(|task| !ran.contains(task)));
    });
}

#[derive(Default)]
struct Thing;

impl HandleKind for Thing {
    const NUMBER: u8 = 1;
}

#[test]
fn removed_handle_is_never_found_again() {
    loom::model(|| {
        let slots = Arc::new(Slots::<Thing>::default());
        let key = slots.insert(|_, _| {}).unwrap();
        let other = {
            let slots = Arc::clone(&slots);
            thread::spawn(move || slots.remove(key))
        };
        let ours = slots.remove(key);
        assert!(slots.get(key).is_none());
        let again = slots.insert(|_, _| {}).unwrap();
        assert_ne!(again, key);
        assert!(other.join().unwrap() ^ ours);
        assert!(slots.get(key).is_none() && slots.get(again).is_some());
    });
}

/// Two threads run three units: each unit runs once, and the waiting thread is woken and sees all writes.
#[test]
fn units_run_once_and_are_visible_to_the_waiter() {
    loom::model(|| {
        let shared = Arc::new((WorkUnits::new(3), [0; 3].map(loom::cell::UnsafeCell::new)));
        let work = |shared: &(WorkUnits, [loom::cell::UnsafeCell<u32>; 3])| {
            while shared.0.take(|unit| {
                // SAFETY: exclusive: `take` gives each unit to one thread. loom checks this.
                shared.1[unit].with_mut(|bytes| unsafe { *bytes += 1 });
                true
            }) {}
        };
        let helper = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || work(&shared))
        };
        work(&shared);
        shared.0.wait();
        for unit in &shared.1 {
            // SAFETY: `wait` returned, so every unit is done. loom checks this.
            assert_eq!(unit.with(|bytes| unsafe { *bytes }), 1);
        }
        assert!(!shared.0.has_failed());
        helper.join().unwrap();
    });
}

/// A failed unit ends the job for all threads, and the waiter does not wait for units that were never taken.
#[test]
fn failed_unit_ends_the_job() {
    loom::model(|| {
        let shared = Arc::new(WorkUnits::new(3));
        let helper = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || while shared.take(|unit| unit != 0) {})
        };
        while shared.take(|unit| unit != 0) {}
        shared.wait();
        assert!(shared.has_failed());
        helper.join().unwrap();
    });
}

/// An item that is put while the inbox is closed is rejected or returned by `close`.
#[test]
fn closing_an_inbox_loses_no_item() {
    loom::model(|| {
        let inbox = Arc::new(Inbox::default());
        let writer = {
            let inbox = Arc::clone(&inbox);
            thread::spawn(move || [1, 2].into_iter().filter(|item| inbox.put(*item)).collect::<Vec<_>>())
        };
        let left = inbox.close();
        assert_eq!(left, writer.join().unwrap());
    });
}

#[test]
fn inbox_waiter_is_woken_by_push_or_close() {
    for is_closed in [false, true] {
        loom::model(move || {
            let inbox = Arc::new(Inbox::default());
            let reader = {
                let inbox = Arc::clone(&inbox);
                thread::spawn(move || {
                    inbox.wait();
                    inbox.fetch()
                })
            };
            match is_closed {
                true => assert!(inbox.close().is_empty()),
                false => assert!(inbox.put(7)),
            }
            assert_eq!(reader.join().unwrap(), (!is_closed).then_some(7));
        });
    }
}

/// A thread that parks on a stream sees the job or is woken for it.
#[test]
fn parked_waiter_is_woken_for_a_job() {
    loom::model(|| {
        let shared = Arc::new((WaiterList::<u32>::default(), Completion::default(), AtomicBool::new(false)));
        let waiter = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.0.park(7, || shared.1.wait_or(1, || shared.2.load(Ordering::Acquire)));
            })
        };
        shared.2.store(true, Ordering::Release);
        shared.0.wake_all(|_| &shared.1);
        waiter.join().unwrap();
    });
}

/// A task fails while another thread takes the failure: the failure is returned once, now or by the next `take`.
#[test]
fn failure_is_returned_exactly_once() {
    loom::model(|| {
        let first = Arc::new(FirstFailure::<u32>::default());
        let failing = {
            let first = Arc::clone(&first);
            thread::spawn(move || first.record(1))
        };
        let first_take = first.take();
        failing.join().unwrap();
        let second_take = first.take();
        assert_eq!(first_take.xor(second_take), Some(1), "{first_take:?} {second_take:?}");
    });
}

/// Two tasks fail while another thread takes failures: every returned failure was the first since the previous `take`,
/// and none is returned twice.
#[test]
fn failure_is_never_lost_or_duplicated() {
    loom::model(|| {
        let first = Arc::new(FirstFailure::<u32>::default());
        let failing = {
            let first = Arc::clone(&first);
            thread::spawn(move || {
                first.record(1);
                first.record(2);
            })
        };
        let first_take = first.take();
        failing.join().unwrap();
        let second_take = first.take();
        // The second is dropped if it is recorded before the first is taken.
        assert!(
            matches!((first_take, second_take), (None, Some(1)) | (Some(1), Some(2) | None)),
            "{first_take:?} {second_take:?}"
        );
        assert!(first.take().is_none() && !first.is_set());
    });
}

/// A stream that is about to wait for a graph event sees it set or is returned by `set`.
#[test]
fn graph_event_is_seen_or_wakes() {
    loom::model(|| {
        let event = Arc::new(GraphEvent::<u32>::default());
        let setter = {
            let event = Arc::clone(&event);
            thread::spawn(move || event.set())
        };
        event.watch(5);
        let seen = event.is_set();
        let woken = setter.join().unwrap();
        assert!(seen || woken == [5]);
    });
}

/// A record is read while its allocation ends and another begins: the bounds are those of one of the two.
#[test]
fn allocation_bounds_are_never_torn() {
    loom::model(|| {
        let record = Arc::new(AllocationRecord::default());
        record.place(1000);
        record.open(10);
        let heap = {
            let record = Arc::clone(&record);
            thread::spawn(move || {
                assert_eq!(record.close(), 10);
                record.place(2000);
                record.open(20);
            })
        };
        for _ in 0..2 {
            if let Some(bounds) = record.bounds() {
                assert!(bounds.1 == 0 || [(1000, 10), (2000, 20)].contains(&bounds), "{bounds:?}");
            }
        }
        heap.join().unwrap();
        assert_eq!(record.bounds(), Some((2000, 20)));
    });
}

/// Two handlers write while a reader drains: every value that was accepted is taken once.
#[test]
fn signal_log_loses_and_repeats_nothing() {
    loom::model(|| {
        let log = Arc::new(SignalLog::new(2));
        let writers: Vec<_> = [1_usize, 2]
            .into_iter()
            .map(|value| {
                let log = Arc::clone(&log);
                thread::spawn(move || log.push(value))
            })
            .collect();
        let mut taken = Vec::new();
        log.drain(|value| taken.push(value));
        let accepted = writers.into_iter().map(|writer| writer.join().unwrap()).collect::<Vec<_>>();
        assert_eq!(accepted, [true, true]);
        log.drain(|value| taken.push(value));
        assert!(log.push(3));
        log.drain(|value| taken.push(value));
        taken.sort_unstable();
        assert_eq!(taken, [1, 2, 3]);
    });
}
