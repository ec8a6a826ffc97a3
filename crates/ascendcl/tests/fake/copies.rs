//! Copies between streams and devices, batches and 2D copies.

use crate::library::clean;
use ascendcl::{Batch, Device, Plane};

#[test]
fn use_on_another_stream_inserts_a_wait() {
    clean(|context| {
        let (one, other) = (context.new_stream()?, context.new_stream()?);
        let (mut first, mut second) = (context.alloc_zeros::<u8>(3)?, context.alloc_zeros::<u8>(3)?);
        let upload = one.upload(context.alloc_pinned_from_slice(&[1, 2, 3])?, &mut first)?;
        other.copy(&first, &mut second)?;
        one.fill(&mut first, 9)?;
        assert_eq!(second.to_vec()?, [1, 2, 3]);
        assert_eq!(first.to_vec()?, [9, 9, 9]);
        upload.wait()?;
        Ok(())
    });
}

#[test]
fn batch_falls_back_to_single_copies() {
    clean(|context| {
        let stream = context.new_stream()?;
        let mut cache = context.alloc_zeros::<u8>(8)?;
        let mut batch = Batch::new_upload(context.alloc_pinned_from_slice(&[1, 2, 3, 4])?, [&mut cache]);
        batch.push(0..2, 6..8)?;
        batch.push(2..2, 0..0)?;
        batch.push(2..4, 0..2)?;
        stream.submit(batch)?.wait()?;
        assert_eq!(cache.to_vec()?, [3, 4, 0, 0, 0, 0, 1, 2]);
        Ok(())
    });
}

#[test]
fn rows_outside_a_buffer_are_rejected() {
    clean(|context| {
        let stream = context.new_stream()?;
        let mut device = context.alloc_zeros::<u16>(12)?;
        let plane = Plane { width: 2, height: 3, source_pitch: 2, target_pitch: 4 };
        stream.upload_2d(context.alloc_pinned_from_slice(&[1, 2, 3, 4, 5, 6])?, &mut device, plane)?.wait()?;
        assert_eq!(device.to_vec()?, [1, 2, 0, 0, 3, 4, 0, 0, 5, 6, 0, 0]);
        // The last row needs only `width` elements, not a full pitch.
        let back = Plane { source_pitch: 4, target_pitch: 2, ..plane };
        let rows = stream.download_2d(device.slice(..10), context.alloc_pinned(6)?, back)?.wait()?;
        assert_eq!(*rows, [1, 2, 3, 4, 5, 6]);
        let rejected = [
            Plane { height: 4, ..plane },
            Plane { width: 5, ..plane },
            Plane { width: 3, ..plane },
            Plane { target_pitch: 6, ..plane },
            Plane { height: usize::MAX, ..plane },
            Plane { target_pitch: usize::MAX, ..plane },
            Plane { width: 1, height: 1, source_pitch: usize::MAX, target_pitch: 1 },
        ];
        for plane in rejected {
            let error = stream
                .upload_2d(context.alloc_pinned(6)?, &mut device, plane)
                .expect_err("a row is outside its buffer");
            assert!(error.submitted_at().is_some(), "{error}");
        }
        for empty in [Plane { width: 0, ..plane }, Plane { height: 0, ..plane }] {
            stream.upload_2d(context.alloc_pinned(6)?, &mut device, empty)?.wait()?;
        }
        assert_eq!(device.to_vec()?, [1, 2, 0, 0, 3, 4, 0, 0, 5, 6, 0, 0]);
        Ok(())
    });
}

#[test]
fn peer_copy_keeps_both_buffers_alive() {
    clean(|here| {
        let there = Device::new(1)?.new_context()?;
        let (stream, other) = (here.new_stream()?, there.new_stream()?);
        let source = here.alloc_from_slice(&[1u8, 2, 3])?;
        let mut target = there.alloc_zeros::<u8>(3)?;
        stream.copy_peer(&source, &mut target)?;
        let back = other.download(&target, there.alloc_pinned(3)?)?;
        drop((stream, source, target));
        assert_eq!(*back.wait()?, [1, 2, 3]);
        Ok(())
    });
}
