//! Every interleaving of the concurrent primitives, explored with loom.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test -p softacl-engine --release --lib`.

use crate::handle::{Kind, Slots};
use crate::shares::Shares;
use crate::stream::bell::Bell;
use crate::stream::completion::Completion;
use crate::stream::lane::Readiness;
use crate::stream::track::Track;
use crate::sync::{AtomicU32, Ordering, lock};
use loom::sync::Arc;
use loom::thread;

#[test]
fn a_sleeper_is_always_woken() {
    loom::model(|| {
        let completion = Arc::new(Completion::default());
        let publisher = {
            let completion = Arc::clone(&completion);
            thread::spawn(move || {
                completion.publish(1);
                completion.publish(2);
            })
        };
        completion.sleep(2);
        assert_eq!(completion.done(), 2);
        publisher.join().unwrap();
    });
}

#[test]
fn what_a_task_wrote_is_visible_behind_its_completion() {
    loom::model(|| {
        let shared = Arc::new((Completion::default(), loom::cell::UnsafeCell::new(0)));
        let writer = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                // SAFETY: the reader looks only after completion was published; loom checks that.
                shared.1.with_mut(|bytes| unsafe { *bytes = 7 });
                shared.0.publish(1);
            })
        };
        if shared.0.done() >= 1 {
            // SAFETY: published, so the writer is done with it; loom checks that.
            assert_eq!(shared.1.with(|bytes| unsafe { *bytes }), 7);
        }
        writer.join().unwrap();
    });
}

#[test]
fn a_ring_for_one_is_not_lost() {
    loom::model(|| {
        let shared = Arc::new((Bell::default(), AtomicU32::new(0)));
        let sleeper = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.0.sleep(|| shared.1.load(Ordering::Acquire) > 0))
        };
        shared.1.store(1, Ordering::Release);
        shared.0.ring_one();
        sleeper.join().unwrap();
    });
}

#[test]
fn a_watcher_is_told_or_sees_for_itself() {
    loom::model(|| {
        let track = Arc::new(Track::<&str, u32>::default());
        lock(&track.lane).push("task");
        lock(&track.lane).claim(|_| Readiness::Ready).unwrap();
        let finisher = {
            let track = Arc::clone(&track);
            thread::spawn(move || track.finish(1))
        };
        let registered = track.watch(1, 42);
        let told = finisher.join().unwrap();
        assert_eq!(told, if registered { vec![42] } else { vec![] });
    });
}

#[test]
fn two_executors_never_run_the_same_task_or_two_at_once() {
    loom::model(|| {
        let track = Arc::new(Track::<u32, u32>::default());
        let running = Arc::new(AtomicU32::new(0));
        lock(&track.lane).push(1);
        lock(&track.lane).push(2);
        let execute = {
            let (track, running) = (Arc::clone(&track), Arc::clone(&running));
            move || {
                let mut ran = Vec::new();
                loop {
                    let claimed = lock(&track.lane).claim(|_| Readiness::Ready);
                    let Ok((task, sequence)) = claimed else { return ran };
                    assert_eq!(running.fetch_add(1, Ordering::Relaxed), 0);
                    ran.push(task);
                    running.fetch_sub(1, Ordering::Relaxed);
                    track.finish(sequence);
                }
            }
        };
        let other = thread::spawn(execute.clone());
        let mut ran = execute();
        ran.extend(other.join().unwrap());
        // An executor that finds the lane claimed leaves; whoever holds the claim goes on.
        ran.extend(execute());
        ran.sort_unstable();
        assert_eq!(ran, [1, 2]);
        assert_eq!(track.completion.done(), 2);
    });
}

#[test]
fn dropping_what_is_pending_finishes_everything() {
    loom::model(|| {
        let track = Arc::new(Track::<u32, u32>::default());
        lock(&track.lane).push(1);
        lock(&track.lane).claim(|_| Readiness::Ready).unwrap();
        lock(&track.lane).push(2);
        track.watch(2, 7);
        let finisher = {
            let track = Arc::clone(&track);
            thread::spawn(move || track.finish(1))
        };
        let (dropped, told) = track.clear();
        assert_eq!(dropped, [2]);
        let told = [told, finisher.join().unwrap()].concat();
        assert_eq!(told, [7]);
        assert_eq!(track.completion.done(), 2);
    });
}

#[test]
fn what_an_executor_takes_out_is_run_or_dropped_and_never_lost() {
    loom::model(|| {
        let track = Arc::new(Track::<u32, u32>::default());
        (1..=3).for_each(|task| drop(lock(&track.lane).push(task)));
        let executor = {
            let track = Arc::clone(&track);
            thread::spawn(move || {
                let mut lane = lock(&track.lane);
                let Ok((first, sequence)) = lane.claim(|_| Readiness::Ready) else { return vec![] };
                let mut rest = lane.take();
                drop(lane);
                let newest = sequence + rest.len() as u64;
                let ran: Vec<u32> = [first].into_iter().chain(rest.pop_front()).collect();
                let last = sequence + ran.len() as u64 - 1;
                let _ = lock(&track.lane).put_back(rest, newest);
                track.finish(last);
                ran
            })
        };
        let (dropped, _) = track.clear();
        let ran = executor.join().unwrap();
        // Nothing is left behind, nothing ran twice, and completion says so.
        assert!(lock(&track.lane).is_idle());
        assert_eq!(track.completion.done(), 3);
        assert!(ran.is_empty() || ran == [1, 2], "{ran:?}");
        assert!(dropped.iter().all(|task| !ran.contains(task)));
    });
}

#[derive(Default)]
struct Thing;

impl Kind for Thing {
    const NUMBER: u8 = 1;
}

#[test]
fn a_handle_is_ended_once_and_never_found_afterwards() {
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

/// Three units and two threads: each is done once, the one that waits sees what the other did, and is woken.
#[test]
fn shared_units_are_done_once_and_seen_by_who_waits() {
    loom::model(|| {
        let shared = Arc::new((Shares::new(3), [0; 3].map(loom::cell::UnsafeCell::new)));
        let work = |shared: &(Shares, [loom::cell::UnsafeCell<u32>; 3])| {
            while shared.0.take(|unit| {
                // SAFETY: a unit is one thread's; loom checks that.
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
            // SAFETY: all units are done; loom checks that.
            assert_eq!(unit.with(|bytes| unsafe { *bytes }), 1);
        }
        assert!(!shared.0.have_failed());
        helper.join().unwrap();
    });
}

/// A unit that fails ends the work for everybody, and nobody waits for units that were never taken.
#[test]
fn a_failed_unit_ends_the_work() {
    loom::model(|| {
        let shared = Arc::new(Shares::new(3));
        let helper = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || while shared.take(|unit| unit != 0) {})
        };
        while shared.take(|unit| unit != 0) {}
        shared.wait();
        assert!(shared.have_failed());
        helper.join().unwrap();
    });
}
