//! What ends when: transfers, buffers, streams and contexts in any order, dropped, forgotten, or after a panic.

use crate::library::{clean, keep, leaves, with};
use ascendcl::{Batch, Error};
use std::collections::VecDeque;
use std::mem::{self, ManuallyDrop};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

#[test]
fn a_copy_runs_and_everything_is_given_back() {
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
fn a_dropped_transfer_leaves_its_memory_with_the_stream() {
    clean(|context| {
        let stream = context.new_stream()?;
        let mut device = context.alloc_zeros::<u8>(3)?;
        drop(stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut device)?);
        assert_eq!(with(|fake| fake.memory.len()), 2, "the copy still needs both");
        assert_eq!(device.to_vec()?, [1, 2, 3]);
        assert_eq!(with(|fake| fake.memory.len()), 1, "a wait was enough");
        Ok(())
    });
}

#[test]
fn a_forgotten_transfer_leaks_and_does_not_dangle() {
    leaves(1, |context| {
        let stream = context.new_stream()?;
        let mut device = context.alloc_zeros::<u8>(3)?;
        // As `mem::forget` does it.
        keep(ManuallyDrop::new(stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut device)?));
        assert_eq!(device.to_vec()?, [1, 2, 3]);
        Ok(())
    });
}

#[test]
fn a_panic_in_a_scope_waits_for_its_copies() {
    clean(|context| {
        let stream = context.new_stream()?;
        let mut device = context.alloc_zeros::<u8>(3)?;
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let host = context.alloc_pinned_from_slice(&[1u8, 2, 3]).expect("memory");
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
    });
}

#[test]
fn things_can_be_dropped_in_any_order() {
    for order in 0..24 {
        clean(|context| {
            let stream = context.new_stream()?;
            let other = context.new_stream()?;
            let mut device = context.alloc_zeros::<u8>(3)?;
            let transfer = stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut device)?;
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
        });
    }
}

#[test]
fn everything_can_be_used_and_ended_on_other_threads() {
    clean(|context| {
        let stream = context.new_stream()?;
        let mut device = context.alloc_zeros::<u8>(3)?;
        let transfer = stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut device)?;
        let event = stream.record()?;
        std::thread::scope(|threads| {
            threads.spawn(move || drop(transfer.wait().expect("it succeeds")));
            threads.spawn(move || event.synchronize().expect("it succeeds"));
            for _ in 0..3 {
                threads.spawn(|| {
                    let own = context.new_stream().expect("a stream");
                    let host = own.download(&device, context.alloc_pinned(3).expect("memory")).expect("it is accepted");
                    assert_eq!(*host.wait().expect("it succeeds"), [1, 2, 3]);
                });
            }
        });
        std::thread::spawn(move || drop((device, stream))).join().expect("nothing panics");
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
fn a_panic_while_transfers_are_under_way_gives_everything_back() {
    clean(|context| {
        let panicked = catch_unwind(AssertUnwindSafe(|| -> Result<(), Error> {
            let stream = context.new_stream()?;
            let (mut device, other) = (context.alloc_zeros::<u8>(3)?, context.alloc_zeros::<u8>(3)?);
            let _upload = stream.upload(context.alloc_pinned(3)?, &mut device)?;
            let _download = stream.download(&other, context.alloc_pinned(3)?)?;
            let mut batch = Batch::upload(context.alloc_pinned(3)?, [&mut device]);
            batch.push(0..3, 0..3)?;
            panic!("on purpose");
        }));
        assert!(panicked.is_err());
        Ok(())
    });
}

#[test]
fn dropped_transfers_end_on_a_stream_that_is_never_idle() {
    /// A stream looks what is over after every 64.
    const MAX_KEPT: usize = 66;
    clean(|context| {
        let stream = context.new_stream()?;
        let mut device = context.alloc_zeros::<u8>(3)?;
        with(|fake| fake.ends_late = true);
        for _ in 0..MAX_KEPT * 5 {
            drop(stream.upload(context.alloc_pinned::<u8>(3)?, &mut device)?);
        }
        // Nobody waits here; the memory goes all the same.
        let start = Instant::now();
        while with(|fake| fake.memory.len()) > MAX_KEPT {
            assert!(start.elapsed().as_secs() < 60, "the stream keeps everything");
            std::thread::yield_now();
        }
        Ok(())
    });
}
