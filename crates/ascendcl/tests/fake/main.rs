//! The safe level on a fake library whose memory is that of the test: everything that is freed too early, twice or
//! never shows, here and under Miri or ASan. Copies run when somebody waits. No softacl is involved.

mod library;

use ascendcl::{Batch, Device, Error, Plane};
use library::{Fake, RUNNING, finish, keep, run, with};
use std::collections::VecDeque;
use std::mem::{self, ManuallyDrop};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Instant;
use wakers::Count;

#[test]
fn a_copy_runs_and_everything_is_given_back() {
    assert_eq!(
        0,
        run(|context| {
            let stream = context.stream()?;
            let mut device = context.zeros::<u16>(3)?;
            let host = stream.upload(context.pinned_from(&[1, 2, 3])?, &mut device)?.wait()?;
            let back = stream.download(&device, context.pinned(3)?)?.wait()?;
            assert_eq!(*host, *back);
            Ok(())
        })
    );
}

#[test]
fn a_dropped_transfer_leaves_its_memory_with_the_stream() {
    assert_eq!(
        0,
        run(|context| {
            let stream = context.stream()?;
            let mut device = context.zeros::<u8>(3)?;
            drop(stream.upload(context.pinned_from(&[1, 2, 3])?, &mut device)?);
            assert_eq!(with(|fake| fake.memory.len()), 2, "the copy still needs both");
            assert_eq!(device.to_vec()?, [1, 2, 3]);
            assert_eq!(with(|fake| fake.memory.len()), 1, "a wait was enough");
            Ok(())
        })
    );
}

#[test]
fn a_forgotten_transfer_leaks_and_does_not_dangle() {
    assert_eq!(
        1,
        run(|context| {
            let stream = context.stream()?;
            let mut device = context.zeros::<u8>(3)?;
            // As `mem::forget` does it.
            keep(ManuallyDrop::new(stream.upload(context.pinned_from(&[1, 2, 3])?, &mut device)?));
            assert_eq!(device.to_vec()?, [1, 2, 3]);
            Ok(())
        })
    );
}

#[test]
fn a_panic_in_a_scope_waits_for_its_copies() {
    assert_eq!(
        0,
        run(|context| {
            let stream = context.stream()?;
            let mut device = context.zeros::<u8>(3)?;
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                let host = context.pinned_from(&[1u8, 2, 3]).expect("memory");
                let result: Result<(), Error> = stream.scope(|scope| {
                    scope.upload(&host, &mut device)?;
                    panic!("on purpose");
                });
                result
            }));
            assert!(panicked.is_err());
            assert!(with(|fake| fake.streams.values().all(VecDeque::is_empty)), "the scope waited");
            assert_eq!(device.to_vec()?, [1, 2, 3]);
            Ok(())
        })
    );
}

#[test]
fn things_can_be_dropped_in_any_order() {
    for order in 0..24 {
        assert_eq!(
            0,
            run(|context| {
                let stream = context.stream()?;
                let other = context.stream()?;
                let mut device = context.zeros::<u8>(3)?;
                let transfer = stream.upload(context.pinned_from(&[1, 2, 3])?, &mut device)?;
                other.fill(&mut device, 1)?;
                let event = other.record()?;
                stream.wait(&event)?;
                let mut things: Vec<Box<dyn std::any::Any>> =
                    vec![Box::new(stream), Box::new(other), Box::new(device), Box::new((transfer, event))];
                let mut order = order;
                while !things.is_empty() {
                    drop(things.remove(order % things.len()));
                    order /= things.len().max(1) + 1;
                }
                Ok(())
            })
        );
    }
}

#[test]
fn what_cannot_be_waited_for_is_leaked() {
    // The pinned memory, the device memory, and the stream.
    assert_eq!(
        2,
        run(|context| {
            let stream = context.stream()?;
            let mut device = context.zeros::<u8>(3)?;
            let transfer = stream.upload(context.pinned_from(&[1, 2, 3])?, &mut device)?;
            keep(context.clone());
            with(|fake| fake.refusals.extend([507_899; 8]));
            let error = transfer.wait().expect_err("the device is lost");
            assert_eq!(error.code(), 507_899);
            assert!(error.submitted().is_some_and(|place| place.file().ends_with("main.rs")));
            drop(device);
            drop(stream);
            Ok(())
        })
    );
    with(|fake| *fake = Fake { last_handle: fake.last_handle, ..Fake::default() });
}

#[test]
fn a_failure_is_told_by_every_transfer_that_it_may_concern() {
    assert_eq!(
        0,
        run(|context| {
            let stream = context.stream()?;
            let (mut one, mut two) = (context.zeros::<u8>(3)?, context.zeros::<u8>(3)?);
            let first = stream.upload(context.pinned_from(&[1, 2, 3])?, &mut one)?;
            let second = stream.upload(context.pinned_from(&[1, 2, 3])?, &mut two)?;
            with(|fake| fake.failures.push_back(507_013));
            assert_eq!(first.wait().expect_err("it failed").code(), 507_013);
            assert_eq!(second.wait().expect_err("or it did").code(), 507_013);
            stream.upload(context.pinned_from(&[1, 2, 3])?, &mut one)?.wait()?;
            Ok(())
        })
    );
}

#[test]
fn memory_of_a_refused_copy_stays_until_the_stream_is_done() {
    assert_eq!(
        0,
        run(|context| {
            let stream = context.stream()?;
            let mut device = context.zeros::<u8>(3)?;
            with(|fake| fake.refused_copies = 1);
            let error = stream.upload(context.pinned_from(&[1, 2, 3])?, &mut device).expect_err("refused");
            assert_eq!(error.code(), 207_008);
            assert_eq!(with(|fake| fake.memory.len()), 2);
            stream.synchronize()?;
            assert_eq!(with(|fake| fake.memory.len()), 1);
            Ok(())
        })
    );
}

#[test]
fn another_stream_waits() {
    assert_eq!(
        0,
        run(|context| {
            let (one, other) = (context.stream()?, context.stream()?);
            let (mut first, mut second) = (context.zeros::<u8>(3)?, context.zeros::<u8>(3)?);
            let upload = one.upload(context.pinned_from(&[1, 2, 3])?, &mut first)?;
            other.copy(&first, &mut second)?;
            one.fill(&mut first, 9)?;
            assert_eq!(second.to_vec()?, [1, 2, 3]);
            assert_eq!(first.to_vec()?, [9, 9, 9]);
            upload.wait()?;
            Ok(())
        })
    );
}

#[test]
fn a_batch_on_a_library_without_batches_is_single_copies() {
    assert_eq!(
        0,
        run(|context| {
            let stream = context.stream()?;
            let mut cache = context.zeros::<u8>(8)?;
            let mut batch = Batch::upload(context.pinned_from(&[1, 2, 3, 4])?, [&mut cache]);
            batch.push(0..2, 6..8)?;
            batch.push(2..2, 0..0)?;
            batch.push(2..4, 0..2)?;
            stream.submit(batch)?.wait()?;
            assert_eq!(cache.to_vec()?, [3, 4, 0, 0, 0, 0, 1, 2]);
            Ok(())
        })
    );
}

/// A waker that counts, and a task that waits for it.
mod wakers {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Condvar, Mutex, PoisonError};
    use std::task::{Wake, Waker};

    #[derive(Default)]
    pub struct Count {
        calls: AtomicUsize,
        lock: Mutex<()>,
        called: Condvar,
    }

    impl Count {
        pub fn waker(self: &Arc<Count>) -> Waker {
            Waker::from(Arc::clone(self))
        }

        pub fn calls(&self) -> usize {
            self.calls.load(Ordering::Acquire)
        }

        pub fn wait_for(&self, calls: usize) {
            let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
            while self.calls() < calls {
                lock = self.called.wait(lock).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            let _lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
            self.calls.fetch_add(1, Ordering::Release);
            self.called.notify_all();
        }
    }

    /// What a task holds goes when its waker does.
    pub struct Holds<T>(pub Mutex<Option<T>>);

    impl<T: Send + 'static> Wake for Holds<T> {
        fn wake(self: Arc<Self>) {}
    }

    pub struct Panics;

    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a waker of a bad executor");
        }
    }
}

#[test]
fn a_future_is_woken_when_the_stream_was_there() {
    assert_eq!(
        0,
        run(|context| {
            let stream = context.stream()?;
            let device = context.upload_slice(&[1u8, 2])?;
            let (first, count) = (Arc::new(Count::default()), Arc::new(Count::default()));
            let mut transfer = pin!(stream.download(&device, context.pinned(2)?)?);
            // While tasks do not run, it is pending, and the task that asked last is woken.
            let stopped = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
            assert!(transfer.as_mut().poll(&mut TaskContext::from_waker(&first.waker())).is_pending());
            let waker = count.waker();
            let mut task = TaskContext::from_waker(&waker);
            assert!(transfer.as_mut().poll(&mut task).is_pending());
            drop(stopped);
            count.wait_for(1);
            assert_eq!(first.calls(), 0);
            let Poll::Ready(host) = transfer.as_mut().poll(&mut task) else { panic!("it was woken") };
            assert_eq!(*host?, [1, 2]);

            // One that is given up on while a thread waits for it; the memory is in use until the stream is done.
            let stopped = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
            let mut given_up = Box::pin(stream.download(&device, context.pinned(2)?)?);
            assert!(given_up.as_mut().poll(&mut task).is_pending());
            with(|fake| fake.ends_late = true);
            drop(given_up);
            drop(stopped);
            Ok(())
        })
    );
}

#[test]
fn a_waker_that_panics_keeps_nobody_from_being_woken() {
    assert_eq!(
        0,
        run(|context| {
            let stream = context.stream()?;
            let device = context.upload_slice(&[1u8, 2])?;
            let stopped = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
            let bad = Waker::from(Arc::new(wakers::Panics));
            let mut one = pin!(stream.download(&device, context.pinned(2)?)?);
            assert!(one.as_mut().poll(&mut TaskContext::from_waker(&bad)).is_pending());
            let mut other = stream.download(&device, context.pinned(2)?)?;
            let count = Arc::new(Count::default());
            let waker = count.waker();
            assert!(Pin::new(&mut other).poll(&mut TaskContext::from_waker(&waker)).is_pending());
            drop(stopped);
            count.wait_for(1);
            assert_eq!(*pollster::block_on(other)?, [1, 2]);
            assert_eq!(*pollster::block_on(one)?, [1, 2]);
            Ok(())
        })
    );
}

#[test]
fn a_waker_may_end_another_transfer_of_the_stream() {
    assert_eq!(
        0,
        run(|context| {
            let stream = context.stream()?;
            let device = context.upload_slice(&[1u8, 2])?;
            with(|fake| fake.ends_late = true);
            for is_replaced in [false, true] {
                let stopped = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
                // The waker of `one` holds `other`, whose task waits too.
                let mut other = stream.download(&device, context.pinned(2)?)?;
                assert!(Pin::new(&mut other).poll(&mut TaskContext::from_waker(Waker::noop())).is_pending());
                let holder = Waker::from(Arc::new(wakers::Holds(Mutex::new(Some(other)))));
                let mut one = stream.download(&device, context.pinned(2)?)?;
                assert!(Pin::new(&mut one).poll(&mut TaskContext::from_waker(&holder)).is_pending());
                drop(holder);
                if is_replaced {
                    assert!(Pin::new(&mut one).poll(&mut TaskContext::from_waker(Waker::noop())).is_pending());
                }
                drop(one);
                drop(stopped);
            }
            Ok(())
        })
    );
}

#[test]
fn everything_can_be_used_and_ended_on_other_threads() {
    assert_eq!(
        0,
        run(|context| {
            let stream = context.stream()?;
            let mut device = context.zeros::<u8>(3)?;
            let transfer = stream.upload(context.pinned_from(&[1, 2, 3])?, &mut device)?;
            let event = stream.record()?;
            std::thread::scope(|threads| {
                threads.spawn(move || drop(transfer.wait().expect("it succeeds")));
                threads.spawn(move || event.synchronize().expect("it succeeds"));
                for _ in 0..3 {
                    threads.spawn(|| {
                        let own = context.stream().expect("a stream");
                        let host = own.download(&device, context.pinned(3).expect("memory")).expect("it is accepted");
                        assert_eq!(*host.wait().expect("it succeeds"), [1, 2, 3]);
                    });
                }
            });
            std::thread::spawn(move || drop((device, stream))).join().expect("nothing panics");
            Ok(())
        })
    );
}

#[test]
fn a_buffer_that_changes_places_takes_its_users_along() {
    assert_eq!(
        0,
        run(|context| {
            let (stream, other) = (context.stream()?, context.stream()?);
            let (mut one, mut two) = (context.zeros::<u8>(3)?, context.zeros::<u8>(3)?);
            let upload = stream.upload(context.pinned_from(&[1, 2, 3])?, &mut one)?;
            mem::swap(&mut one, &mut two);
            drop(one);
            let moved = other.download(&two, context.pinned(3)?)?;
            drop(two);
            assert_eq!(*moved.wait()?, [1, 2, 3]);
            upload.wait()?;
            Ok(())
        })
    );
}

#[test]
fn a_panic_while_transfers_are_under_way_gives_everything_back() {
    assert_eq!(
        0,
        run(|context| {
            let panicked = catch_unwind(AssertUnwindSafe(|| -> Result<(), Error> {
                let stream = context.stream()?;
                let (mut device, other) = (context.zeros::<u8>(3)?, context.zeros::<u8>(3)?);
                let _upload = stream.upload(context.pinned(3)?, &mut device)?;
                let _download = stream.download(&other, context.pinned(3)?)?;
                let mut batch = Batch::upload(context.pinned(3)?, [&mut device]);
                batch.push(0..3, 0..3)?;
                panic!("on purpose");
            }));
            assert!(panicked.is_err());
            Ok(())
        })
    );
}

#[test]
fn a_future_tells_a_failure_also_when_more_is_queued_behind_it() {
    assert_eq!(
        0,
        run(|context| {
            let stream = context.stream()?;
            let mut device = context.zeros::<u8>(3)?;
            let mut other = context.zeros::<u8>(3)?;
            for is_polled_first in [false, true] {
                let waker = Waker::noop();
                let stopped = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
                with(|fake| fake.bad_copies = 1);
                let mut failing = stream.upload(context.pinned_from(&[1, 2, 3])?, &mut device)?;
                if is_polled_first {
                    assert!(Pin::new(&mut failing).poll(&mut TaskContext::from_waker(waker)).is_pending());
                }
                stream.fill(&mut other, 5)?;
                let later = stream.upload(context.pinned_from(&[4, 5, 6])?, &mut other)?;
                drop(stopped);
                let error = pollster::block_on(failing).expect_err("it failed");
                assert_eq!(error.code(), 507_013);
                assert!(error.submitted().is_some());
                // It may have been this one, so it may say so too.
                drop(later);
                // And the stream goes on.
                pollster::block_on(stream.upload(context.pinned_from(&[7, 8, 9])?, &mut device)?)?;
            }
            Ok(())
        })
    );
}

#[test]
fn what_only_shows_that_a_copy_is_over_does_not_hide_how_it_went() {
    assert_eq!(
        0,
        run(|context| {
            let stream = context.stream()?;
            let mut device = context.zeros::<u8>(3)?;
            // An event.
            with(|fake| fake.bad_copies = 1);
            let transfer = stream.upload(context.pinned_from(&[1, 2, 3])?, &mut device)?;
            stream.record()?.synchronize()?;
            assert!(transfer.is_done()?);
            assert_eq!(transfer.wait().expect_err("it failed").code(), 507_013);
            // A query.
            with(|fake| fake.bad_copies = 1);
            let transfer = stream.upload(context.pinned_from(&[1, 2, 3])?, &mut device)?;
            with(|fake| fake.streams.keys().copied().collect::<Vec<_>>()).into_iter().for_each(finish);
            assert!(transfer.is_done()? && stream.is_idle()?);
            assert_eq!(transfer.wait().expect_err("it failed").code(), 507_013);
            // The end of a buffer, which tells nobody.
            with(|fake| fake.bad_copies = 1);
            let mut short = context.zeros::<u8>(3)?;
            let transfer = stream.upload(context.pinned_from(&[1, 2, 3])?, &mut short)?;
            drop(short);
            assert_eq!(transfer.wait().expect_err("it failed").code(), 507_013);
            Ok(())
        })
    );
}

#[test]
fn a_failure_that_nobody_has_told_is_told_by_the_stream() {
    assert_eq!(
        0,
        run(|context| {
            let stream = context.stream()?;
            let mut device = context.zeros::<u8>(3)?;
            with(|fake| fake.bad_copies = 1);
            let transfer = stream.upload(context.pinned_from(&[1, 2, 3])?, &mut device)?;
            let transfer = transfer.reclaim().expect_err("nothing shows that it is over");
            let event = stream.record()?;
            event.synchronize()?;
            let mut host = transfer.reclaim().expect("now it does");
            host[0] = 9;
            drop(device);
            assert_eq!(stream.synchronize().expect_err("it was not told").code(), 507_013);
            stream.synchronize()?;
            Ok(())
        })
    );
}

#[test]
fn a_scope_tells_what_failed_in_it() {
    assert_eq!(
        0,
        run(|context| {
            let stream = context.stream()?;
            let mut device = context.zeros::<u8>(3)?;
            let host = context.pinned::<u8>(3)?;
            let result = stream.scope(|scope| {
                with(|fake| fake.bad_copies = 1);
                scope.upload(&host, &mut device)?;
                // The end of another buffer waits for the stream, and is told of the failure.
                let mut short = context.zeros::<u8>(3)?;
                scope.stream().fill(&mut short, 1)?;
                drop(short);
                scope.upload(&host, &mut device)
            });
            assert_eq!(result.expect_err("the first copy failed").code(), 507_013);
            Ok(())
        })
    );
}

#[test]
fn many_failures_are_remembered_for_who_asks_late() {
    assert_eq!(
        0,
        run(|context| {
            let stream = context.stream()?;
            let mut device = context.zeros::<u8>(3)?;
            let mut transfers = Vec::new();
            for _ in 0..40 {
                with(|fake| fake.bad_copies = 1);
                transfers.push(stream.upload(context.pinned_from(&[1, 2, 3])?, &mut device)?);
                assert!(stream.synchronize().is_err());
            }
            stream.upload(context.pinned_from(&[1, 2, 3])?, &mut device)?.wait()?;
            for transfer in transfers {
                assert_eq!(transfer.wait().expect_err("it failed").code(), 507_013);
            }
            Ok(())
        })
    );
}

#[test]
fn no_failure_is_lost_between_threads() {
    const ROUNDS: usize = if cfg!(miri) { 5 } else { 60 };
    assert_eq!(
        0,
        run(|context| {
            let stream = context.stream()?;
            for _ in 0..ROUNDS {
                std::thread::scope(|threads| {
                    let (stream, context) = (&stream, &context);
                    threads.spawn(|| {
                        let mut device = context.zeros::<u8>(3).expect("memory");
                        with(|fake| fake.bad_copies = 1);
                        let transfers = [(); 2].map(|()| {
                            let host = context.pinned::<u8>(3).expect("memory");
                            stream.upload(host, &mut device).expect("it is accepted")
                        });
                        let failed = transfers.into_iter().filter_map(|transfer| transfer.wait().err()).count();
                        assert!(failed > 0, "one of them failed");
                    });
                    threads.spawn(|| {
                        // Others wait and are told of it, or not.
                        let _ = stream.synchronize();
                        let _ = stream.synchronize();
                    });
                });
            }
            Ok(())
        })
    );
}

#[test]
fn a_copy_that_fails_before_its_call_returns_is_not_missed() {
    assert_eq!(
        0,
        run(|context| {
            let stream = context.stream()?;
            let mut device = context.zeros::<u8>(3)?;
            let other = stream.clone();
            with(|fake| {
                fake.bad_copies = 1;
                // As another thread would: it is told of the failure before the copy has its ticket.
                fake.meanwhile = Some(Box::new(move || assert!(other.synchronize().is_err())));
            });
            let transfer = stream.upload(context.pinned(3)?, &mut device)?;
            assert_eq!(transfer.wait().expect_err("it failed").code(), 507_013);
            stream.upload(context.pinned(3)?, &mut device)?.wait()?;
            Ok(())
        })
    );
}

#[test]
fn a_lost_device_ends_futures_and_keeps_the_memory() {
    assert_eq!(
        1,
        run(|context| {
            let stream = context.stream()?;
            let device = context.zeros::<u8>(3)?;
            let transfer = stream.download(&device, context.pinned(3)?)?;
            keep(context.clone());
            with(|fake| fake.refusals.extend([507_899; 8]));
            assert_eq!(pollster::block_on(transfer).expect_err("the device is lost").code(), 507_899);
            with(|fake| fake.refusals.clear());
            Ok(())
        })
    );
}

#[test]
fn dropped_transfers_end_on_a_stream_that_is_never_idle() {
    /// A stream looks what is over after every 64.
    const KEPT: usize = 66;
    assert_eq!(
        0,
        run(|context| {
            let stream = context.stream()?;
            let mut device = context.zeros::<u8>(3)?;
            with(|fake| fake.ends_late = true);
            for _ in 0..KEPT * 5 {
                drop(stream.upload(context.pinned::<u8>(3)?, &mut device)?);
            }
            // Nobody waits here; the memory goes all the same.
            let start = Instant::now();
            while with(|fake| fake.memory.len()) > KEPT {
                assert!(start.elapsed().as_secs() < 60, "the stream keeps everything");
                std::thread::yield_now();
            }
            Ok(())
        })
    );
}

#[test]
fn rows_stay_in_their_buffers() {
    assert_eq!(
        0,
        run(|context| {
            let stream = context.stream()?;
            let mut device = context.zeros::<u16>(12)?;
            let plane = Plane { width: 2, height: 3, source_pitch: 2, target_pitch: 4 };
            stream.upload_2d(context.pinned_from(&[1, 2, 3, 4, 5, 6])?, &mut device, plane)?.wait()?;
            assert_eq!(device.to_vec()?, [1, 2, 0, 0, 3, 4, 0, 0, 5, 6, 0, 0]);
            // The last row may end before its pitch does.
            let back = Plane { source_pitch: 4, target_pitch: 2, ..plane };
            let rows = stream.download_2d(device.slice(..10), context.pinned(6)?, back)?.wait()?;
            assert_eq!(*rows, [1, 2, 3, 4, 5, 6]);
            let refused = [
                Plane { height: 4, ..plane },
                Plane { width: 5, ..plane },
                Plane { width: 3, ..plane },
                Plane { target_pitch: 6, ..plane },
                Plane { height: usize::MAX, ..plane },
                Plane { target_pitch: usize::MAX, ..plane },
                Plane { width: 1, height: 1, source_pitch: usize::MAX, target_pitch: 1 },
            ];
            for plane in refused {
                let error = stream.upload_2d(context.pinned(6)?, &mut device, plane).expect_err("beyond a buffer");
                assert!(error.submitted().is_some(), "{error}");
            }
            for nothing in [Plane { width: 0, ..plane }, Plane { height: 0, ..plane }] {
                stream.upload_2d(context.pinned(6)?, &mut device, nothing)?.wait()?;
            }
            assert_eq!(device.to_vec()?, [1, 2, 0, 0, 3, 4, 0, 0, 5, 6, 0, 0]);
            Ok(())
        })
    );
}

#[test]
fn a_copy_between_devices_keeps_both_buffers() {
    assert_eq!(
        0,
        run(|here| {
            let there = Device::new(1)?.context()?;
            let (stream, other) = (here.stream()?, there.stream()?);
            let source = here.upload_slice(&[1u8, 2, 3])?;
            let mut target = there.zeros::<u8>(3)?;
            stream.copy_peer(&source, &mut target)?;
            let back = other.download(&target, there.pinned(3)?)?;
            drop((stream, source, target));
            assert_eq!(*back.wait()?, [1, 2, 3]);
            Ok(())
        })
    );
}
