//! Lifetimes: transfers, buffers, streams and contexts are dropped in any order, forgotten, or dropped by a panic.

use crate::library::{clean, keep, leaves, with};
use ascendcl::{Batch, Error};
use std::collections::VecDeque;
use std::mem::{self, ManuallyDrop};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

#[test]
fn copy_succeeds_and_everything_is_freed() {
    clean(|context| {
        let stream = context.new_stream()?;
        let mut device = context.alloc_zeros::<u16>(3)?;
        let host = stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut device)?.wait()?;
        let back = stream.download(&device, context.alloc_pinned(3)?)?.wait()?;
        assert_eq!(*host, *back);
        Ok(())
    });
}

#[test]
fn dropped_transfer_leaves_its_memory_with_the_stream() {
    clean(|context| {
        let stream = context.new_stream()?;
        let mut device = context.alloc_zeros::<u8>(3)?;
        drop(stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut device)?);
        assert_eq!(with(|fake| fake.memory.len()), 2, "the copy still uses both buffers");
        assert_eq!(device.to_vec()?, [1, 2, 3]);
        assert_eq!(with(|fake| fake.memory.len()), 1, "the wait has released the pinned buffer");
        Ok(())
    });
}

#[test]
fn forgotten_transfer_leaks_its_memory() {
    leaves(1, |context| {
        let stream = context.new_stream()?;
        let mut device = context.alloc_zeros::<u8>(3)?;
        // Equivalent to `mem::forget`, but reachable for leak checkers.
        keep(ManuallyDrop::new(stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut device)?));
        assert_eq!(device.to_vec()?, [1, 2, 3]);
        Ok(())
    });
}

#[test]
fn scope_waits_for_its_copies_after_a_panic() {
    clean(|context| {
        let stream = context.new_stream()?;
        let mut device = context.alloc_zeros::<u8>(3)?;
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let host = context.alloc_pinned_from_slice(&[1u8, 2, 3]).expect("memory");
            let result: Result<(), Error> = stream.scope(|scope| {
                scope.upload(&host, &mut device)?;
                panic!("expected panic");
            });
            result
        }));
        assert!(panicked.is_err());
        assert!(with(|fake| fake.streams.values().all(VecDeque::is_empty)), "the scope waited");
        assert_eq!(device.to_vec()?, [1, 2, 3]);
        Ok(())
    });
}

#[test]
fn values_can_be_dropped_in_any_order() {
    for order in 0..24 {
        clean(|context| {
            let stream = context.new_stream()?;
            let other = context.new_stream()?;
            let mut device = context.alloc_zeros::<u8>(3)?;
            let transfer = stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut device)?;
            other.fill(&mut device, 1)?;
            let event = other.record()?;
            stream.wait(&event)?;
            let mut values: Vec<Box<dyn std::any::Any>> =
                vec![Box::new(stream), Box::new(other), Box::new(device), Box::new((transfer, event))];
            let mut order = order;
            while !values.is_empty() {
                drop(values.remove(order % values.len()));
                order /= values.len().max(1) + 1;
            }
            Ok(())
        });
    }
}

#[test]
fn values_can_be_used_and_dropped_on_other_threads() {
    clean(|context| {
        let stream = context.new_stream()?;
        let mut device = context.alloc_zeros::<u8>(3)?;
        let transfer = stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut device)?;
        let event = stream.record()?;
        std::thread::scope(|threads| {
            threads.spawn(move || drop(transfer.wait().expect("the call succeeds")));
            threads.spawn(move || event.synchronize().expect("the call succeeds"));
            for _ in 0..3 {
                threads.spawn(|| {
                    let own = context.new_stream().expect("a stream");
                    let host =
                        own.download(&device, context.alloc_pinned(3).expect("memory")).expect("the copy is accepted");
                    assert_eq!(*host.wait().expect("the call succeeds"), [1, 2, 3]);
                });
            }
        });
        std::thread::spawn(move || drop((device, stream))).join().expect("the thread does not panic");
        Ok(())
    });
}

#[test]
fn swapped_buffers_keep_their_pending_uses() {
    clean(|context| {
        let (stream, other) = (context.new_stream()?, context.new_stream()?);
        let (mut one, mut two) = (context.alloc_zeros::<u8>(3)?, context.alloc_zeros::<u8>(3)?);
        let upload = stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut one)?;
        mem::swap(&mut one, &mut two);
        drop(one);
        let moved = other.download(&two, context.alloc_pinned(3)?)?;
        drop(two);
        assert_eq!(*moved.wait()?, [1, 2, 3]);
        upload.wait()?;
        Ok(())
    });
}

#[test]
fn panic_with_transfers_in_flight_frees_everything() {
    clean(|context| {
        let panicked = catch_unwind(AssertUnwindSafe(|| -> Result<(), Error> {
            let stream = context.new_stream()?;
            let (mut device, other) = (context.alloc_zeros::<u8>(3)?, context.alloc_zeros::<u8>(3)?);
            let _upload = stream.upload(context.alloc_pinned(3)?, &mut device)?;
            let _download = stream.download(&other, context.alloc_pinned(3)?)?;
            let mut batch = Batch::new_upload(context.alloc_pinned(3)?, [&mut device]);
            batch.push(0..3, 0..3)?;
            panic!("expected panic");
        }));
        assert!(panicked.is_err());
        Ok(())
    });
}

#[test]
fn dropped_transfers_are_freed_on_a_stream_that_is_never_idle() {
    /// A stream releases finished transfers after every 64 that it keeps alive.
    const MAX_KEPT: usize = 66;
    clean(|context| {
        let stream = context.new_stream()?;
        let mut device = context.alloc_zeros::<u8>(3)?;
        with(|fake| fake.ends_late = true);
        for _ in 0..MAX_KEPT * 5 {
            drop(stream.upload(context.alloc_pinned::<u8>(3)?, &mut device)?);
        }
        // The program does not wait, but the memory is freed nevertheless.
        let start = Instant::now();
        while with(|fake| fake.memory.len()) > MAX_KEPT {
            assert!(start.elapsed().as_secs() < 60, "the stream has not released its transfers");
            std::thread::yield_now();
        }
        Ok(())
    });
}
