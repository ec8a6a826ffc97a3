//! The safe level on softacl, on many schedules and under the checker.

use ascendcl::test::on_schedules;
use ascendcl::{Batch, Descriptor, Device, Error, Plane, raw, sys};
use std::env;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;

const SEEDS: u64 = 4;

/// Runs a fallible body on all schedules.
macro_rules! on_all {
    ($name:ident, |$context:ident| $body:block) => {
        #[test]
        fn $name() {
            on_schedules(SEEDS, || {
                let run = || -> Result<(), Error> {
                    let $context = Device::new(0)?.new_context()?;
                    $body
                };
                run().expect("no call fails");
            });
        }
    };
}

on_all!(transfers_may_be_waited_for_dropped_and_forgotten, |context| {
    let stream = context.new_stream()?;
    let mut device = context.alloc_zeros::<u32>(1024)?;
    for round in 0..4 {
        let host = context.alloc_pinned_from_slice(&[round; 1024])?;
        let transfer = stream.upload(host, &mut device)?;
        match round {
            0 => drop(transfer.wait()?),
            1 => drop(transfer),
            2 => mem::forget(transfer),
            _ => drop(pollster::block_on(transfer)?),
        }
        assert_eq!(device.to_vec()?, [round; 1024]);
    }
    Ok(())
});

on_all!(a_scope_ends_with_its_copies_also_in_a_panic, |context| {
    let stream = context.new_stream()?;
    let mut device = context.alloc_zeros::<u8>(4096)?;
    for panics in [false, true] {
        let mut host = context.alloc_pinned_from_slice(&[u8::from(panics) + 1; 4096])?;
        let result = catch_unwind(AssertUnwindSafe(|| {
            stream.scope(|scope| {
                scope.upload(&host, &mut device)?;
                assert!(!panics, "on purpose");
                Ok(())
            })
        }));
        assert_eq!(result.is_err(), panics);
        // A copy under way would take these, and the checker would see it.
        host.fill(99);
        assert_eq!(device.to_vec()?, [u8::from(panics) + 1; 4096]);
    }
    Ok(())
});

on_all!(things_end_in_any_order, |context| {
    for order in 0..6 {
        let (stream, other) = (context.new_stream()?, context.new_stream()?);
        let mut device = context.alloc_zeros::<u8>(1 << 16)?;
        let transfer = stream.upload(context.alloc_pinned(1 << 16)?, &mut device)?;
        other.fill(&mut device, 3)?;
        let mut things: Vec<Box<dyn std::any::Any>> =
            vec![Box::new((stream, other)), Box::new(device), Box::new(transfer)];
        drop(things.remove(order % 3));
        drop(things.remove(order / 3));
        drop(things);
    }
    Ok(())
});

on_all!(buffers_keep_the_order_of_three_streams, |context| {
    let streams = [context.new_stream()?, context.new_stream()?, context.new_stream()?];
    let mut buffers = [context.alloc_zeros::<u32>(512)?, context.alloc_zeros::<u32>(512)?];
    let mut uploads = Vec::new();
    let mut downloads = Vec::new();
    for round in 0..12usize {
        let [one, two] = &mut buffers;
        uploads.push(streams[round % 3].upload(context.alloc_pinned_from_slice(&[round as u32; 512])?, &mut *one)?);
        streams[(round + 1) % 3].copy(&*one, &mut *two)?;
        downloads.push(streams[(round + 2) % 3].download(&*two, context.alloc_pinned::<u32>(512)?)?);
        downloads.push(streams[round % 3].download(&*two, context.alloc_pinned::<u32>(512)?)?);
    }
    for (index, download) in downloads.into_iter().enumerate() {
        assert_eq!(*download.wait()?, [index as u32 / 2; 512]);
    }
    uploads.into_iter().try_for_each(|upload| upload.wait().map(drop))
});

on_all!(batches_are_split_and_name_what_was_refused, |context| {
    const ENTRIES: usize = 5000;
    let stream = context.new_stream()?;
    let mut cache = context.alloc_zeros::<u32>(ENTRIES)?;
    let host: Vec<u32> = (0..ENTRIES as u32).collect();
    let mut batch = Batch::upload(context.alloc_pinned_from_slice(&host)?, [&mut cache]);
    for entry in 0..ENTRIES {
        batch.push(entry..entry + 1, ENTRIES - 1 - entry..ENTRIES - entry)?;
    }
    let refused = batch.push(0..1, ENTRIES..ENTRIES + 1).expect_err("beyond the cache");
    assert_eq!(refused.entry(), Some(ENTRIES));
    stream.submit(batch)?.wait()?;
    let expected: Vec<u32> = host.into_iter().rev().collect();
    assert_eq!(cache.to_vec()?, expected);
    Ok(())
});

on_all!(descriptors_follow_their_buffers, |context| {
    let (stream, other) = (context.new_stream()?, context.new_stream()?);
    let mut descriptor = Descriptor::new(&stream, context.alloc_zeros::<u8>(256)?, context.alloc_zeros(256)?)?;
    for round in 1..5 {
        other.fill(descriptor.source_mut(), round)?;
        descriptor.launch()?;
        let host = other.download(descriptor.target(), context.alloc_pinned(256)?)?;
        assert_eq!(*host.wait()?, [round; 256]);
    }
    Ok(())
});

on_all!(other_devices_are_refused, |context| {
    let elsewhere = Device::new(1)?.new_context()?;
    let stream = elsewhere.new_stream()?;
    let mut buffer = context.alloc_zeros::<u8>(8)?;
    let error = stream.upload(elsewhere.alloc_pinned(8)?, &mut buffer).expect_err("two devices");
    assert!(error.message().contains("on device 0") && error.submitted().is_some(), "{error}");
    let error =
        Descriptor::new(&stream, context.alloc_zeros::<u8>(8)?, elsewhere.alloc_zeros(8)?).expect_err("two devices");
    assert!(error.message().contains("on device 0"), "{error}");
    Ok(())
});

on_all!(other_code_may_change_the_context_of_the_thread, |context| {
    let stream = context.new_stream()?;
    let mut device = context.alloc_zeros::<u8>(8)?;
    // SAFETY: setting a device has no conditions.
    unsafe { raw::aclrtSetDevice(1) }?;
    stream.upload(context.alloc_pinned_from_slice(&[7; 8])?, &mut device)?.wait()?;
    // SAFETY: as above.
    unsafe { raw::aclrtSetDevice(1) }?;
    assert_eq!(device.to_vec()?, [7; 8]);
    // SAFETY: as above, once for each set.
    unsafe { raw::aclrtResetDevice(1).and(raw::aclrtResetDevice(1)) }
});

on_all!(a_stream_waits_for_work_of_c_calls_too, |context| {
    let stream = context.new_stream()?;
    let (source, target) = (context.alloc_from_slice(&[5u8; 4096])?, context.alloc_zeros::<u8>(4096)?);
    let (from, to) = (source.as_raw(), target.as_raw());
    // SAFETY: both buffers live until the stream was waited for.
    unsafe { raw::aclrtMemcpyAsync(to, 4096, from, 4096, sys::ACL_MEMCPY_DEVICE_TO_DEVICE, stream.as_raw()) }?;
    stream.synchronize()?;
    assert_eq!(target.to_vec()?, [5; 4096]);
    Ok(())
});

on_all!(rows_come_and_go, |context| {
    let (stream, other) = (context.new_stream()?, context.new_stream()?);
    let mut matrix = context.alloc_zeros::<u32>(64 * 64)?;
    let into = Plane { width: 16, height: 32, source_pitch: 16, target_pitch: 64 };
    let contents: Vec<u32> = (0..16 * 32).collect();
    let upload = stream.upload_2d(context.alloc_pinned_from_slice(&contents)?, matrix.slice_mut(64 * 8 + 4..), into)?;
    let mut moved = context.alloc_zeros::<u32>(64 * 64)?;
    let within = Plane { source_pitch: 64, target_pitch: 64, ..into };
    other.copy_2d(matrix.slice(64 * 8 + 4..), &mut moved, within)?;
    stream.fill(&mut matrix, 0xff)?;
    let out = Plane { source_pitch: 64, target_pitch: 16, ..into };
    let back = other.download_2d(&moved, context.alloc_pinned(16 * 32)?, out)?;
    let (mut again, small) = (context.alloc_pinned::<u32>(64 * 32)?, context.alloc_pinned::<u32>(16 * 32)?);
    stream.scope(|scope| {
        scope.download_2d(&moved, &mut again, within)?;
        scope.upload_2d(&small, &mut matrix, into)
    })?;
    upload.wait()?;
    assert_eq!(*back.wait()?, *contents);
    assert!((0..32).all(|row| again[row * 64..row * 64 + 16] == contents[row * 16..row * 16 + 16]));
    Ok(())
});

on_all!(devices_exchange_memory, |here| {
    let there = Device::new(1)?.new_context()?;
    let (stream, other) = (here.new_stream()?, there.new_stream()?);
    let mut target = there.alloc_zeros::<u32>(1024)?;
    let mut source = here.alloc_zeros::<u32>(1024)?;
    let mut uploads = Vec::new();
    let mut downloads = Vec::new();
    for round in 0..6u32 {
        uploads.push(stream.upload(here.alloc_pinned_from_slice(&[round; 1024])?, &mut source)?);
        // The stream is of the one device, then of the other; the buffers keep the order all the same.
        let copying = if round % 2 == 0 { &stream } else { &other };
        copying.copy_peer(&source, &mut target)?;
        downloads.push(other.download(&target, there.alloc_pinned(1024)?)?);
    }
    for (round, download) in (0u32..).zip(downloads) {
        assert_eq!(*download.wait()?, [round; 1024]);
    }
    let refused = stream.copy_peer(&target, &mut there.alloc_zeros(1024)?).expect_err("the stream is of neither");
    assert!(refused.submitted().is_some(), "{refused}");
    uploads.into_iter().try_for_each(|upload| upload.wait().map(drop))
});

on_all!(many_futures_share_a_stream, |context| {
    let streams = [context.new_stream()?, context.new_stream()?];
    let mut buffers = [context.alloc_zeros::<u8>(4096)?, context.alloc_zeros::<u8>(4096)?];
    let transfers = (0..40usize).map(|index| {
        let host = context.alloc_pinned_from_slice(&[index as u8; 4096])?;
        streams[index % 2].upload(host, &mut buffers[index % 2])
    });
    let transfers = transfers.collect::<Result<Vec<_>, _>>()?;
    // Asked for from the last to the first, on two threads.
    std::thread::scope(|threads| {
        let mut halves = [Vec::new(), Vec::new()];
        transfers
            .into_iter()
            .enumerate()
            .rev()
            .for_each(|(index, transfer)| halves[index / 20].push((index, transfer)));
        for half in halves {
            threads.spawn(|| {
                for (index, transfer) in half {
                    assert_eq!(*pollster::block_on(transfer).expect("it succeeds"), [index as u8; 4096]);
                }
            });
        }
    });
    assert_eq!(buffers[1].to_vec()?, [39; 4096]);
    Ok(())
});

/// Runs one of the tests below in a process with fault rules.
fn with_faults(test: &str, rules: &str) {
    let mut command = Command::new(env::current_exe().expect("a program has a path"));
    command.args([test, "--exact", "--ignored", "--nocapture"]).env("SOFTACL_FAULTS", rules);
    let output = command.output().expect("the program can be started again");
    let told = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
}

#[test]
#[ignore = "run by the test below, with fault rules"]
fn child_meets_faults() {
    on_schedules(SEEDS, || {
        let run = || -> Result<(), Error> {
            let context = Device::new(0)?.new_context()?;
            let stream = context.new_stream()?;
            let (mut device, mut other) = (context.alloc_zeros::<u8>(4096)?, context.alloc_zeros::<u8>(4096)?);
            stream.upload(context.alloc_pinned(4096)?, &mut device)?.wait()?;

            // The second copy fails, and there is work behind it.
            let failing = stream.upload(context.alloc_pinned(4096)?, &mut device)?;
            stream.fill(&mut other, 1)?;
            let later = stream.download(&other, context.alloc_pinned(4096)?)?;
            let error = pollster::block_on(failing).expect_err("the rule says so");
            assert_eq!((error.code(), error.submitted().is_some()), (507_013, true));
            // The runtime does not say which of the two it was.
            drop(later);
            pollster::block_on(stream.download(&other, context.alloc_pinned(4096)?)?)?;

            // The fifth copy fails. An event shows that it is over, and not how it went.
            let failing = stream.download(&other, context.alloc_pinned(4096)?)?;
            let event = stream.record()?;
            stream.fill(&mut other, 2)?;
            event.synchronize()?;
            assert_eq!(failing.wait().expect_err("the rule says so").code(), 507_013);

            // The sixth fails, and nobody asks: the stream tells it.
            let failing = stream.download(&other, context.alloc_pinned(4096)?)?;
            while !failing.is_done()? {
                std::thread::yield_now();
            }
            drop(failing.try_reclaim().expect("it is over"));
            assert_eq!(stream.synchronize().expect_err("the rule says so").code(), 507_013);
            stream.synchronize()?;
            pollster::block_on(stream.download(&other, context.alloc_pinned(4096)?)?).map(drop)
        };
        run().expect("nothing else fails");
    });
}

#[test]
fn no_fault_is_missed_on_any_schedule() {
    with_faults("child_meets_faults", "copy@2=507013; copy@5=507013; copy@6=507013");
}

/// The helper must fail for a program that is wrong.
#[test]
fn a_race_is_found_and_told() {
    let failed = catch_unwind(|| {
        on_schedules(0, || {
            let context = Device::new(0).and_then(Device::new_context).expect("a device");
            let stream = context.new_stream().expect("a stream");
            let device = context.alloc_zeros::<u8>(4096).expect("memory");
            let mut host = context.alloc_pinned::<u8>(4096).expect("memory");
            let (target, source) = (device.slice(..), host.as_mut_ptr());
            // SAFETY: none: this is the mistake, a copy that nobody waits for.
            unsafe {
                let handle = raw::aclrtCreateStream().expect("a stream");
                let memory = raw::aclrtMalloc(4096, sys::ACL_MEM_MALLOC_HUGE_FIRST).expect("memory");
                raw::aclrtMemcpyAsync(memory, 4096, source.cast(), 4096, sys::ACL_MEMCPY_HOST_TO_DEVICE, handle)
                    .expect("a copy");
                source.write_volatile(1);
                raw::aclrtSynchronizeStream(handle).expect("a wait");
            }
            drop((target, stream));
        });
    });
    let said = *failed.expect_err("the checker proves it").downcast::<String>().expect("a text");
    assert!(said.contains("the checker has proven a mistake") && said.contains("PROVEN"), "{said}");
    assert!(said.contains("schedules.rs"), "the place is told: {said}");
}

#[test]
fn a_body_that_fails_is_told_with_its_schedule() {
    let failed = catch_unwind(|| on_schedules(0, || panic!("as it should")));
    let said = *failed.expect_err("the body panics").downcast::<String>().expect("a text");
    assert!(said.contains("schedule early") && said.contains("as it should"), "{said}");
}
