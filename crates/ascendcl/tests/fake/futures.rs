//! Transfers as futures, with wakers of every kind.

use crate::library::{clean, keep, leaves, stop, with};
use crate::wakers::{self, Count};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context as TaskContext, Poll, Waker};

#[test]
fn a_future_is_woken_when_the_stream_was_there() {
    clean(|context| {
        let stream = context.new_stream()?;
        let device = context.alloc_from_slice(&[1u8, 2])?;
        let (first, count) = (Arc::new(Count::default()), Arc::new(Count::default()));
        let mut transfer = pin!(stream.download(&device, context.alloc_pinned(2)?)?);
        // While tasks do not run, it is pending, and the task that asked last is woken.
        let stopped = stop();
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
        let stopped = stop();
        let mut given_up = Box::pin(stream.download(&device, context.alloc_pinned(2)?)?);
        assert!(given_up.as_mut().poll(&mut task).is_pending());
        with(|fake| fake.ends_late = true);
        drop(given_up);
        drop(stopped);
        Ok(())
    });
}

#[test]
fn a_waker_that_panics_keeps_nobody_from_being_woken() {
    clean(|context| {
        let stream = context.new_stream()?;
        let device = context.alloc_from_slice(&[1u8, 2])?;
        let stopped = stop();
        let bad = Waker::from(Arc::new(wakers::Panics));
        let mut one = pin!(stream.download(&device, context.alloc_pinned(2)?)?);
        assert!(one.as_mut().poll(&mut TaskContext::from_waker(&bad)).is_pending());
        let mut other = stream.download(&device, context.alloc_pinned(2)?)?;
        let count = Arc::new(Count::default());
        let waker = count.waker();
        assert!(Pin::new(&mut other).poll(&mut TaskContext::from_waker(&waker)).is_pending());
        drop(stopped);
        count.wait_for(1);
        assert_eq!(*pollster::block_on(other)?, [1, 2]);
        assert_eq!(*pollster::block_on(one)?, [1, 2]);
        Ok(())
    });
}

#[test]
fn a_waker_may_end_another_transfer_of_the_stream() {
    clean(|context| {
        let stream = context.new_stream()?;
        let device = context.alloc_from_slice(&[1u8, 2])?;
        with(|fake| fake.ends_late = true);
        for is_replaced in [false, true] {
            let stopped = stop();
            // The waker of `one` holds `other`, whose task waits too.
            let mut other = stream.download(&device, context.alloc_pinned(2)?)?;
            assert!(Pin::new(&mut other).poll(&mut TaskContext::from_waker(Waker::noop())).is_pending());
            let holder = Waker::from(Arc::new(wakers::Holds(Mutex::new(Some(other)))));
            let mut one = stream.download(&device, context.alloc_pinned(2)?)?;
            assert!(Pin::new(&mut one).poll(&mut TaskContext::from_waker(&holder)).is_pending());
            drop(holder);
            if is_replaced {
                assert!(Pin::new(&mut one).poll(&mut TaskContext::from_waker(Waker::noop())).is_pending());
            }
            drop(one);
            drop(stopped);
        }
        Ok(())
    });
}

#[test]
fn a_future_tells_a_failure_also_when_more_is_queued_behind_it() {
    clean(|context| {
        let stream = context.new_stream()?;
        let mut device = context.alloc_zeros::<u8>(3)?;
        let mut other = context.alloc_zeros::<u8>(3)?;
        for is_polled_first in [false, true] {
            let waker = Waker::noop();
            let stopped = stop();
            with(|fake| fake.bad_copies = 1);
            let mut failing = stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut device)?;
            if is_polled_first {
                assert!(Pin::new(&mut failing).poll(&mut TaskContext::from_waker(waker)).is_pending());
            }
            stream.fill(&mut other, 5)?;
            let later = stream.upload(context.alloc_pinned_from_slice(&[4, 5, 6])?, &mut other)?;
            drop(stopped);
            let error = pollster::block_on(failing).expect_err("it failed");
            assert_eq!(error.code(), 507_013);
            assert!(error.submitted().is_some());
            // It may have been this one, so it may say so too.
            drop(later);
            // And the stream goes on.
            pollster::block_on(stream.upload(context.alloc_pinned_from_slice(&[7, 8, 9])?, &mut device)?)?;
        }
        Ok(())
    });
}

#[test]
fn a_lost_device_ends_futures_and_keeps_the_memory() {
    leaves(1, |context| {
        let stream = context.new_stream()?;
        let device = context.alloc_zeros::<u8>(3)?;
        let transfer = stream.download(&device, context.alloc_pinned(3)?)?;
        keep(context.clone());
        with(|fake| fake.refusals.extend([507_899; 8]));
        assert_eq!(pollster::block_on(transfer).expect_err("the device is lost").code(), 507_899);
        with(|fake| fake.refusals.clear());
        Ok(())
    });
}
