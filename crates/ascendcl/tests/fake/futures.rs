//! Transfers as futures, with well-behaved and misbehaving wakers.

use crate::library::{clean, keep, leaves, pause, with};
use crate::wakers::{self, Count};
use ascendcl::ErrorKind;
use ascendcl::sys::{ACL_ERROR_RT_LOST_HEARTBEAT, ACL_ERROR_RT_SYS_DMA};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context as TaskContext, Poll, Waker};

#[test]
fn future_is_woken_when_its_copy_has_finished() {
    clean(|context| {
        let stream = context.new_stream()?;
        let device = context.alloc_from_slice(&[1u8, 2])?;
        let (first, count) = (Arc::new(Count::default()), Arc::new(Count::default()));
        let mut transfer = pin!(stream.download(&device, context.alloc_pinned(2)?)?);
        // While tasks are paused, the future is pending. Only the waker of the last poll is woken.
        let paused = pause();
        assert!(transfer.as_mut().poll(&mut TaskContext::from_waker(&first.waker())).is_pending());
        let waker = count.waker();
        let mut task = TaskContext::from_waker(&waker);
        assert!(transfer.as_mut().poll(&mut task).is_pending());
        drop(paused);
        count.wait_for(1);
        assert_eq!(first.calls(), 0);
        let Poll::Ready(host) = transfer.as_mut().poll(&mut task) else { panic!("the future was woken") };
        assert_eq!(*host?, [1, 2]);

        // A future that is dropped while a thread waits for it. Its memory is in use until the stream is done.
        let paused = pause();
        let mut dropped = Box::pin(stream.download(&device, context.alloc_pinned(2)?)?);
        assert!(dropped.as_mut().poll(&mut task).is_pending());
        with(|fake| fake.ends_late = true);
        drop(dropped);
        drop(paused);
        Ok(())
    });
}

#[test]
fn panicking_waker_does_not_prevent_other_wakeups() {
    clean(|context| {
        let stream = context.new_stream()?;
        let device = context.alloc_from_slice(&[1u8, 2])?;
        let paused = pause();
        let panicking = Waker::from(Arc::new(wakers::Panics));
        let mut one = pin!(stream.download(&device, context.alloc_pinned(2)?)?);
        assert!(one.as_mut().poll(&mut TaskContext::from_waker(&panicking)).is_pending());
        let mut other = stream.download(&device, context.alloc_pinned(2)?)?;
        let count = Arc::new(Count::default());
        let waker = count.waker();
        assert!(Pin::new(&mut other).poll(&mut TaskContext::from_waker(&waker)).is_pending());
        drop(paused);
        count.wait_for(1);
        assert_eq!(*pollster::block_on(other)?, [1, 2]);
        assert_eq!(*pollster::block_on(one)?, [1, 2]);
        Ok(())
    });
}

#[test]
fn waker_can_drop_another_transfer_of_the_stream() {
    clean(|context| {
        let stream = context.new_stream()?;
        let device = context.alloc_from_slice(&[1u8, 2])?;
        with(|fake| fake.ends_late = true);
        for is_replaced in [false, true] {
            let paused = pause();
            // The waker of `one` owns `other`, whose task waits as well.
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
            drop(paused);
        }
        Ok(())
    });
}

#[test]
fn future_returns_a_failure_with_more_work_queued_after_it() {
    clean(|context| {
        let stream = context.new_stream()?;
        let mut device = context.alloc_zeros::<u8>(3)?;
        let mut other = context.alloc_zeros::<u8>(3)?;
        for is_polled_first in [false, true] {
            let waker = Waker::noop();
            let paused = pause();
            with(|fake| fake.failing_copies = 1);
            let mut failing = stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut device)?;
            if is_polled_first {
                assert!(Pin::new(&mut failing).poll(&mut TaskContext::from_waker(waker)).is_pending());
            }
            stream.fill(&mut other, 5)?;
            let later = stream.upload(context.alloc_pinned_from_slice(&[4, 5, 6])?, &mut other)?;
            drop(paused);
            let error = pollster::block_on(failing).expect_err("the copy failed");
            assert_eq!(error.code(), ACL_ERROR_RT_SYS_DMA);
            assert!(error.submitted_at().is_some());
            // The failure may concern this transfer, so it may return the error as well.
            drop(later);
            // The stream continues.
            pollster::block_on(stream.upload(context.alloc_pinned_from_slice(&[7, 8, 9])?, &mut device)?)?;
        }
        Ok(())
    });
}

#[test]
fn lost_device_completes_futures_and_leaks_the_memory() {
    leaves(1, |context| {
        let stream = context.new_stream()?;
        let device = context.alloc_zeros::<u8>(3)?;
        let transfer = stream.download(&device, context.alloc_pinned(3)?)?;
        keep(context.clone());
        with(|fake| fake.refused_waits.extend([ACL_ERROR_RT_LOST_HEARTBEAT; 8]));
        assert_eq!(pollster::block_on(transfer).expect_err("the device is lost").kind(), ErrorKind::DeviceLost);
        with(|fake| fake.refused_waits.clear());
        Ok(())
    });
}
