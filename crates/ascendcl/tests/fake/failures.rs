//! Copies that fail or are refused, and a device that is lost: who is told, and what happens to the memory.

use crate::library::{Fake, clean, finish, keep, leaves, with};

#[test]
fn memory_is_leaked_if_the_stream_cannot_be_waited_for() {
    // The pinned memory, the device memory, and the stream.
    leaves(2, |context| {
        let stream = context.new_stream()?;
        let mut device = context.alloc_zeros::<u8>(3)?;
        let transfer = stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut device)?;
        keep(context.clone());
        with(|fake| fake.refusals.extend([507_899; 8]));
        let error = transfer.wait().expect_err("the device is lost");
        assert_eq!(error.code(), 507_899);
        assert!(error.submitted().is_some_and(|place| place.file().ends_with("failures.rs")));
        drop(device);
        drop(stream);
        Ok(())
    });
    with(|fake| *fake = Fake { last_handle: fake.last_handle, ..Fake::default() });
}

#[test]
fn a_failure_is_told_by_every_transfer_that_it_may_concern() {
    clean(|context| {
        let stream = context.new_stream()?;
        let (mut one, mut two) = (context.alloc_zeros::<u8>(3)?, context.alloc_zeros::<u8>(3)?);
        let first = stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut one)?;
        let second = stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut two)?;
        with(|fake| fake.failures.push_back(507_013));
        assert_eq!(first.wait().expect_err("it failed").code(), 507_013);
        assert_eq!(second.wait().expect_err("or it did").code(), 507_013);
        stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut one)?.wait()?;
        Ok(())
    });
}

#[test]
fn memory_of_a_refused_copy_stays_until_the_stream_is_done() {
    clean(|context| {
        let stream = context.new_stream()?;
        let mut device = context.alloc_zeros::<u8>(3)?;
        with(|fake| fake.refused_copies = 1);
        let error = stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut device).expect_err("refused");
        assert_eq!(error.code(), 207_008);
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
        // An event.
        with(|fake| fake.bad_copies = 1);
        let transfer = stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut device)?;
        stream.record()?.synchronize()?;
        assert!(transfer.is_done()?);
        assert_eq!(transfer.wait().expect_err("it failed").code(), 507_013);
        // A query.
        with(|fake| fake.bad_copies = 1);
        let transfer = stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut device)?;
        with(|fake| fake.streams.keys().copied().collect::<Vec<_>>()).into_iter().for_each(finish);
        assert!(transfer.is_done()? && stream.is_idle()?);
        assert_eq!(transfer.wait().expect_err("it failed").code(), 507_013);
        // The end of a buffer, which tells nobody.
        with(|fake| fake.bad_copies = 1);
        let mut short = context.alloc_zeros::<u8>(3)?;
        let transfer = stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut short)?;
        drop(short);
        assert_eq!(transfer.wait().expect_err("it failed").code(), 507_013);
        Ok(())
    });
}

#[test]
fn a_failure_that_nobody_has_told_is_told_by_the_stream() {
    clean(|context| {
        let stream = context.new_stream()?;
        let mut device = context.alloc_zeros::<u8>(3)?;
        with(|fake| fake.bad_copies = 1);
        let transfer = stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut device)?;
        let transfer = transfer.try_reclaim().expect_err("nothing shows that it is over");
        let event = stream.record()?;
        event.synchronize()?;
        let mut host = transfer.try_reclaim().expect("now it does");
        host[0] = 9;
        drop(device);
        assert_eq!(stream.synchronize().expect_err("it was not told").code(), 507_013);
        stream.synchronize()?;
        Ok(())
    });
}

#[test]
fn a_scope_tells_what_failed_in_it() {
    clean(|context| {
        let stream = context.new_stream()?;
        let mut device = context.alloc_zeros::<u8>(3)?;
        let host = context.alloc_pinned::<u8>(3)?;
        let result = stream.scope(|scope| {
            with(|fake| fake.bad_copies = 1);
            scope.upload(&host, &mut device)?;
            // The end of another buffer waits for the stream, and is told of the failure.
            let mut short = context.alloc_zeros::<u8>(3)?;
            scope.stream().fill(&mut short, 1)?;
            drop(short);
            scope.upload(&host, &mut device)
        });
        assert_eq!(result.expect_err("the first copy failed").code(), 507_013);
        Ok(())
    });
}

#[test]
fn many_failures_are_remembered_for_who_asks_late() {
    clean(|context| {
        let stream = context.new_stream()?;
        let mut device = context.alloc_zeros::<u8>(3)?;
        let mut transfers = Vec::new();
        for _ in 0..40 {
            with(|fake| fake.bad_copies = 1);
            transfers.push(stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut device)?);
            assert!(stream.synchronize().is_err());
        }
        stream.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut device)?.wait()?;
        for transfer in transfers {
            assert_eq!(transfer.wait().expect_err("it failed").code(), 507_013);
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
                    with(|fake| fake.bad_copies = 1);
                    let transfers = [(); 2].map(|()| {
                        let host = context.alloc_pinned::<u8>(3).expect("memory");
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
    });
}

#[test]
fn a_copy_that_fails_before_its_call_returns_is_not_missed() {
    clean(|context| {
        let stream = context.new_stream()?;
        let mut device = context.alloc_zeros::<u8>(3)?;
        let other = stream.clone();
        with(|fake| {
            fake.bad_copies = 1;
            // As another thread would: it is told of the failure before the copy has its ticket.
            fake.meanwhile = Some(Box::new(move || assert!(other.synchronize().is_err())));
        });
        let transfer = stream.upload(context.alloc_pinned(3)?, &mut device)?;
        assert_eq!(transfer.wait().expect_err("it failed").code(), 507_013);
        stream.upload(context.alloc_pinned(3)?, &mut device)?.wait()?;
        Ok(())
    });
}
