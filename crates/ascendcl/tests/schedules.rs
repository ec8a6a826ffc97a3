//! The safe level on softacl, on many schedules and under the checker.

use ascendcl::test::on_schedules;
use ascendcl::{Batch, Descriptor, Device, Error, raw, sys};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

const SEEDS: u64 = 4;

/// Runs a fallible body on all schedules.
macro_rules! on_all {
    ($name:ident, |$context:ident| $body:block) => {
        #[test]
        fn $name() {
            on_schedules(SEEDS, || {
                let run = || -> Result<(), Error> {
                    let $context = Device::new(0)?.context()?;
                    $body
                };
                run().expect("no call fails");
            });
        }
    };
}

on_all!(transfers_may_be_waited_for_dropped_and_forgotten, |context| {
    let stream = context.stream()?;
    let mut device = context.zeros::<u32>(1024)?;
    for round in 0..4 {
        let host = context.pinned_from(&[round; 1024])?;
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
    let stream = context.stream()?;
    let mut device = context.zeros::<u8>(4096)?;
    for panics in [false, true] {
        let mut host = context.pinned_from(&[u8::from(panics) + 1; 4096])?;
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
        let (stream, other) = (context.stream()?, context.stream()?);
        let mut device = context.zeros::<u8>(1 << 16)?;
        let transfer = stream.upload(context.pinned(1 << 16)?, &mut device)?;
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
    let streams = [context.stream()?, context.stream()?, context.stream()?];
    let mut buffers = [context.zeros::<u32>(512)?, context.zeros::<u32>(512)?];
    let mut uploads = Vec::new();
    let mut downloads = Vec::new();
    for round in 0..12usize {
        let [one, two] = &mut buffers;
        uploads.push(streams[round % 3].upload(context.pinned_from(&[round as u32; 512])?, &mut *one)?);
        streams[(round + 1) % 3].copy(&*one, &mut *two)?;
        downloads.push(streams[(round + 2) % 3].download(&*two, context.pinned::<u32>(512)?)?);
        downloads.push(streams[round % 3].download(&*two, context.pinned::<u32>(512)?)?);
    }
    for (index, download) in downloads.into_iter().enumerate() {
        assert_eq!(*download.wait()?, [index as u32 / 2; 512]);
    }
    uploads.into_iter().try_for_each(|upload| upload.wait().map(drop))
});

on_all!(batches_are_split_and_name_what_was_refused, |context| {
    const ENTRIES: usize = 5000;
    let stream = context.stream()?;
    let mut cache = context.zeros::<u32>(ENTRIES)?;
    let host: Vec<u32> = (0..ENTRIES as u32).collect();
    let mut batch = Batch::upload(context.pinned_from(&host)?, [&mut cache]);
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
    let (stream, other) = (context.stream()?, context.stream()?);
    let mut descriptor = Descriptor::new(&stream, context.zeros::<u8>(256)?, context.zeros(256)?)?;
    for round in 1..5 {
        other.fill(descriptor.source_mut(), round)?;
        descriptor.launch()?;
        let host = other.download(descriptor.target(), context.pinned(256)?)?;
        assert_eq!(*host.wait()?, [round; 256]);
    }
    Ok(())
});

on_all!(other_devices_are_refused, |context| {
    let elsewhere = Device::new(1)?.context()?;
    let stream = elsewhere.stream()?;
    let mut buffer = context.zeros::<u8>(8)?;
    let error = stream.upload(elsewhere.pinned(8)?, &mut buffer).expect_err("two devices");
    assert!(error.sentence().contains("on device 0") && error.submitted().is_some(), "{error}");
    let error = Descriptor::new(&stream, context.zeros::<u8>(8)?, elsewhere.zeros(8)?).err().expect("two devices");
    assert!(error.sentence().contains("on device 0"), "{error}");
    Ok(())
});

on_all!(other_code_may_change_the_context_of_the_thread, |context| {
    let stream = context.stream()?;
    let mut device = context.zeros::<u8>(8)?;
    // SAFETY: setting a device has no conditions.
    unsafe { raw::aclrtSetDevice(1) }?;
    stream.upload(context.pinned_from(&[7; 8])?, &mut device)?.wait()?;
    // SAFETY: as above.
    unsafe { raw::aclrtSetDevice(1) }?;
    assert_eq!(device.to_vec()?, [7; 8]);
    // SAFETY: as above, once for each set.
    unsafe { raw::aclrtResetDevice(1).and(raw::aclrtResetDevice(1)) }
});

/// The helper must fail for a program that is wrong.
#[test]
fn a_race_is_found_and_told() {
    let failed = catch_unwind(|| {
        on_schedules(0, || {
            let context = Device::new(0).and_then(Device::context).expect("a device");
            let stream = context.stream().expect("a stream");
            let device = context.zeros::<u8>(4096).expect("memory");
            let mut host = context.pinned::<u8>(4096).expect("memory");
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
