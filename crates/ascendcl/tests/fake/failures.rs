//! Failed and rejected copies and lost devices: which calls return the error, and when the memory is freed.

use crate::library::{Fake, clean, finish, keep, leaves, with};
use ascendcl::ErrorKind;
use ascendcl::sys::{ACL_ERROR_RT_LOST_HEARTBEAT, ACL_ERROR_RT_NO_STREAM_RESOURCE, ACL_ERROR_RT_SYS_DMA};

#[test]
fn memory_is_leaked_if_the_stream_cannot_be_waited_for() {
    // The pinned memory and the device memory. The stream is leaked, too.
    leaves(2, |context| {
        let stream = context.new_stream()?;
        let mut device = context.alloc_zeros::<u8>(3)?;
        let transfer = stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut device)?;
        keep(context.clone());
        with(|fake| fake.refused_waits.extend([ACL_ERROR_RT_LOST_HEARTBEAT; 8]));
        let error = transfer.wait().expect_err("the device is lost");
        assert_eq!(error.kind(), ErrorKind::DeviceLost);
        assert!(error.submitted_at().is_some_and(|location| location.file().ends_with("failures.rs")));
        drop(device);
        drop(stream);
        Ok(())
    });
    with(|fake| *fake = Fake { last_handle: fake.last_handle, ..Fake::default() });
}

#[test]
fn failure_is_returned_by_every_transfer_it_may_concern() {
    clean(|context| {
        let stream = context.new_stream()?;
        let (mut one, mut two) = (context.alloc_zeros::<u8>(3)?, context.alloc_zeros::<u8>(3)?);
        let first = stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut one)?;
        let second = stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut two)?;
        with(|fake| fake.failures.push_back(ACL_ERROR_RT_SYS_DMA));
        assert_eq!(first.wait().expect_err("the copy failed").code(), ACL_ERROR_RT_SYS_DMA);
        assert_eq!(second.wait().expect_err("the failure may concern this copy").code(), ACL_ERROR_RT_SYS_DMA);
        stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut one)?.wait()?;
        Ok(())
    });
}

#[test]
fn memory_of_a_rejected_copy_is_kept_until_the_stream_is_done() {
    clean(|context| {
        let stream = context.new_stream()?;
        let mut device = context.alloc_zeros::<u8>(3)?;
        with(|fake| fake.rejected_copies = 1);
        let error =
            stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut device).expect_err("the copy is rejected");
        assert_eq!(error.code(), ACL_ERROR_RT_NO_STREAM_RESOURCE);
        assert_eq!(with(|fake| fake.memory.len()), 2);
        stream.synchronize()?;
        assert_eq!(with(|fake| fake.memory.len()), 1);
        Ok(())
    });
}

#[test]
fn completion_queries_do_not_consume_failures() {
    clean(|context| {
        let stream = context.new_stream()?;
        let mut device = context.alloc_zeros::<u8>(3)?;
        // Completion shown by an event.
        with(|fake| fake.failing_copies = 1);
        let transfer = stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut device)?;
        stream.record()?.synchronize()?;
        assert!(transfer.is_done()?);
        assert_eq!(transfer.wait().expect_err("the copy failed").code(), ACL_ERROR_RT_SYS_DMA);
        // Completion shown by a query.
        with(|fake| fake.failing_copies = 1);
        let transfer = stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut device)?;
        with(|fake| fake.streams.keys().copied().collect::<Vec<_>>()).into_iter().for_each(finish);
        assert!(transfer.is_done()? && stream.is_idle()?);
        assert_eq!(transfer.wait().expect_err("the copy failed").code(), ACL_ERROR_RT_SYS_DMA);
        // Completion shown by dropping a buffer, which returns no error.
        with(|fake| fake.failing_copies = 1);
        let mut short = context.alloc_zeros::<u8>(3)?;
        let transfer = stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut short)?;
        drop(short);
        assert_eq!(transfer.wait().expect_err("the copy failed").code(), ACL_ERROR_RT_SYS_DMA);
        Ok(())
    });
}

#[test]
fn unreported_failure_is_returned_by_synchronize() {
    clean(|context| {
        let stream = context.new_stream()?;
        let mut device = context.alloc_zeros::<u8>(3)?;
        with(|fake| fake.failing_copies = 1);
        let transfer = stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut device)?;
        let transfer = transfer.try_reclaim().expect_err("the copy is not known to have finished");
        let event = stream.record()?;
        event.synchronize()?;
        let mut host = transfer.try_reclaim().expect("the event is complete");
        host[0] = 9;
        drop(device);
        assert_eq!(stream.synchronize().expect_err("no call has returned the failure").code(), ACL_ERROR_RT_SYS_DMA);
        stream.synchronize()?;
        Ok(())
    });
}

#[test]
fn scope_returns_failures_of_its_copies() {
    clean(|context| {
        let stream = context.new_stream()?;
        let mut device = context.alloc_zeros::<u8>(3)?;
        let host = context.alloc_pinned::<u8>(3)?;
        let result = stream.scope(|scope| {
            with(|fake| fake.failing_copies = 1);
            scope.upload(&host, &mut device)?;
            // Dropping another buffer waits for the stream, which consumes the failure.
            let mut short = context.alloc_zeros::<u8>(3)?;
            scope.stream().fill(&mut short, 1)?;
            drop(short);
            scope.upload(&host, &mut device)
        });
        assert_eq!(result.expect_err("the first copy failed").code(), ACL_ERROR_RT_SYS_DMA);
        Ok(())
    });
}

#[test]
fn many_failures_are_stored_for_later_waits() {
    clean(|context| {
        let stream = context.new_stream()?;
        let mut device = context.alloc_zeros::<u8>(3)?;
        let mut transfers = Vec::new();
        for _ in 0..40 {
            with(|fake| fake.failing_copies = 1);
            transfers.push(stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut device)?);
            assert!(stream.synchronize().is_err());
        }
        stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut device)?.wait()?;
        for transfer in transfers {
            assert_eq!(transfer.wait().expect_err("the copy failed").code(), ACL_ERROR_RT_SYS_DMA);
        }
        Ok(())
    });
}

#[test]
fn no_failure_is_lost_between_threads() {
    const ROUNDS: usize = if cfg!(miri) { 5 } else { 60 };
    clean(|context| {
        let stream = context.new_stream()?;
        for _ in 0..ROUNDS {
            std::thread::scope(|threads| {
                let (stream, context) = (&stream, &context);
                threads.spawn(|| {
                    let mut device = context.alloc_zeros::<u8>(3).expect("memory");
                    with(|fake| fake.failing_copies = 1);
                    let transfers = [(); 2].map(|()| {
                        let host = context.alloc_pinned::<u8>(3).expect("memory");
                        stream.upload(host, &mut device).expect("the copy is accepted")
                    });
                    let failed = transfers.into_iter().filter_map(|transfer| transfer.wait().err()).count();
                    assert!(failed > 0, "one of the two copies failed");
                });
                threads.spawn(|| {
                    // Concurrent waits may consume the failure.
                    let _ = stream.synchronize();
                    let _ = stream.synchronize();
                });
            });
        }
        Ok(())
    });
}

#[test]
fn failure_reported_before_the_ticket_is_issued_is_returned() {
    clean(|context| {
        let stream = context.new_stream()?;
        let mut device = context.alloc_zeros::<u8>(3)?;
        let other = stream.clone();
        with(|fake| {
            fake.failing_copies = 1;
            // Simulates another thread that waits, and consumes the failure, before the copy has its ticket.
            fake.during_copy = Some(Box::new(move || assert!(other.synchronize().is_err())));
        });
        let transfer = stream.upload(context.alloc_pinned(3)?, &mut device)?;
        assert_eq!(transfer.wait().expect_err("the copy failed").code(), ACL_ERROR_RT_SYS_DMA);
        stream.upload(context.alloc_pinned(3)?, &mut device)?.wait()?;
        Ok(())
    });
}
