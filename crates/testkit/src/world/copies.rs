//! Copies, memsets and reductions, on the machine and on the model.

use super::outcome::{Failure, expect, ok};
use super::state::{BufferKind, BufferRange, PendingTask, Source, World};
use crate::faults::TaskKind;
use crate::memory;
use softacl_engine::{
    BatchAttribute, BatchRequest, Caller, CopyRequest, DescriptorRequest, FillRequest, Location, OffsetRequest,
    PlaneRequest, ReduceRequest, WordFillRequest, kinds,
};

/// Code of a blocking copy between devices of memory that is mapped at reserved addresses.
const MAPPED: i32 = 507_899;

impl World<'_> {
    /// Returns the copies that the chip supports.
    fn copies(&self) -> &softacl_profiles::CopyTraits {
        &self.caller.machine().config().profile.chip.copy
    }

    pub(super) fn copy(&mut self, target: u32, source: u32, at: u32, len: u32) -> Result<(), Failure> {
        let all = [BufferKind::Device, BufferKind::Pinned, BufferKind::Pageable];
        let Some((to, from)) = self.pair(self.buffer(target, &all), self.buffer(source, &all), at, len, 1) else {
            return Ok(());
        };
        self.order_host(&to, true)?;
        self.order_host(&from, false)?;
        self.copy_blocking(&to, &from)
    }

    fn copy_blocking(&mut self, to: &BufferRange, from: &BufferRange) -> Result<(), Failure> {
        let size = to.range.len();
        if self.is_refused("aclrtMemcpy", size)? {
            return Ok(());
        }
        let crosses =
            self.buffers[to.buffer].kind == BufferKind::Peer || self.buffers[from.buffer].kind == BufferKind::Peer;
        let is_mapped = |part: &BufferRange| matches!(self.buffers[part.buffer].source, Source::Physical(_));
        let expected = match crosses {
            // Refused before the copy reaches the link.
            true if is_mapped(to) || is_mapped(from) => Some(MAPPED),
            true => self.oracle.crossing(size),
            false => None,
        };
        self.enter(0)?;
        expect(self.caller.copy(self.request(to, from, kinds::DEFAULT)), expected.map(|code| vec![code]))?;
        if expected.is_none() {
            self.model_copy(to, from);
        }
        Ok(())
    }

    /// Copies between the device and its peer.
    pub(super) fn copy_peer(
        &mut self,
        target: u32,
        source: u32,
        at: u32,
        len: u32,
        stream: u32,
        blocking: bool,
    ) -> Result<(), Failure> {
        let ends = if at.is_multiple_of(2) {
            [BufferKind::Peer, BufferKind::Device]
        } else {
            [BufferKind::Device, BufferKind::Peer]
        };
        let pair = self.pair(self.buffer(target, &ends[..1]), self.buffer(source, &ends[1..]), at, len, 1);
        let (Some((to, from)), Some(stream)) = (pair, self.stream(stream)) else { return Ok(()) };
        if blocking {
            self.order_host(&to, true)?;
            self.order_host(&from, false)?;
            return self.copy_blocking(&to, &from);
        }
        self.order_stream(stream, &to, true)?;
        self.order_stream(stream, &from, false)?;
        self.submit_copy(&to, &from, stream)
    }

    /// Submits an asynchronous copy. The stream is already ordered after conflicting accesses.
    fn submit_copy(&mut self, to: &BufferRange, from: &BufferRange, stream: usize) -> Result<(), Failure> {
        let request = self.request(to, from, kinds::DEFAULT);
        let parts = [(to, true), (from, false)];
        let pending = PendingTask {
            function: "aclrtMemcpyAsync",
            kind: TaskKind::Copy,
            size: to.range.len(),
            stream,
            parts: &parts,
        };
        if self.submit(&pending, |caller, stream| caller.copy_async(request, stream))? {
            self.model_copy(to, from);
        }
        Ok(())
    }

    /// Makes a call that pageable memory makes blocking. It drains the stream and, if a task failed there, returns that
    /// failure instead of copying. Returns `true` if it copied.
    fn drain_and(
        &mut self,
        function: &'static str,
        size: usize,
        stream: usize,
        call: impl FnOnce(&Caller<'_>, usize) -> softacl_engine::Result<()>,
    ) -> Result<bool, Failure> {
        if self.is_refused(function, size)? || !self.streams[stream].live {
            return Ok(false);
        }
        let handle = self.enter_stream(stream)?;
        let failure = self.streams[stream].failure.take();
        let copies = failure.is_none();
        expect(call(&self.caller, handle), failure)?;
        let clock = self.streams[stream].clock.clone();
        self.advance_host(&clock);
        Ok(copies)
    }

    pub(super) fn copy_async(
        &mut self,
        target: u32,
        source: u32,
        at: u32,
        len: u32,
        stream: u32,
    ) -> Result<(), Failure> {
        let all = [BufferKind::Device, BufferKind::Pinned, BufferKind::Pageable];
        let to = self.buffer(target, &all);
        // At least one side is device memory: host to host is refused.
        let partner: &[BufferKind] =
            if to.is_some_and(|to| self.buffers[to].kind == BufferKind::Device) { &all } else { &all[..1] };
        let Some((to, from)) = self.pair(to, self.buffer(source, partner), at, len, 1) else { return Ok(()) };
        let Some(stream) = self.stream(stream) else { return Ok(()) };
        self.order_stream(stream, &to, true)?;
        self.order_stream(stream, &from, false)?;
        if ![&to, &from].iter().any(|part| self.buffers[part.buffer].kind == BufferKind::Pageable) {
            return self.submit_copy(&to, &from, stream);
        }
        let request = self.request(&to, &from, kinds::DEFAULT);
        let call = |caller: &Caller<'_>, stream| caller.copy_async(request, stream);
        if self.drain_and("aclrtMemcpyAsync", to.range.len(), stream, call)? {
            self.model_copy(&to, &from);
        }
        Ok(())
    }

    pub(super) fn copy_staged(
        &mut self,
        target: u32,
        source: u32,
        at: u32,
        len: u32,
        stream: u32,
    ) -> Result<(), Failure> {
        let pair = self.pair(
            self.buffer(target, &[BufferKind::Device]),
            self.buffer(source, &[BufferKind::Pinned, BufferKind::Pageable]),
            at,
            len,
            1,
        );
        let (Some((to, from)), Some(stream)) = (pair, self.stream(stream)) else { return Ok(()) };
        self.order_stream(stream, &to, true)?;
        self.order_host(&from, true)?;
        let request = self.request(&to, &from, kinds::HOST_TO_BUFFER_TO_DEVICE);
        let (size, parts) = (to.range.len(), [(&to, true)]);
        let pending = PendingTask { function: "aclrtMemcpyAsync", kind: TaskKind::Copy, size, stream, parts: &parts };
        if self.submit(&pending, |caller, stream| caller.copy_async(request, stream))? {
            self.model_copy(&to, &from);
        }
        // The program may write the source again.
        self.write_host(&from, 0xc3)
    }

    pub(super) fn copy_plane(
        &mut self,
        target: u32,
        source: u32,
        at: u32,
        width: usize,
        height: usize,
        stream: u32,
    ) -> Result<(), Failure> {
        let pair = self.pair(
            self.buffer(target, &[BufferKind::Device]),
            self.buffer(source, &[BufferKind::Device, BufferKind::Pinned]),
            at,
            u32::MAX,
            1,
        );
        let (Some((to, from)), Some(stream)) = (pair, self.stream(stream)) else { return Ok(()) };
        let (target_pitch, source_pitch) = (width + 3, width + 11);
        let room = to.range.len();
        if source_pitch * (height - 1) + width > room {
            return Ok(());
        }
        self.order_stream(stream, &to, true)?;
        self.order_stream(stream, &from, false)?;
        let request = PlaneRequest {
            target: self.address(&to),
            target_pitch,
            source: self.address(&from),
            source_pitch,
            width,
            height,
            kind: kinds::DEFAULT,
        };
        let (size, parts) = (width * height, [(&to, true), (&from, false)]);
        let pending =
            PendingTask { function: "aclrtMemcpy2dAsync", kind: TaskKind::Plane, size, stream, parts: &parts };
        if !self.submit(&pending, |caller, stream| caller.copy_plane_async(request, stream))? {
            return Ok(());
        }
        for row in 0..height {
            let from_start = from.range.start + row * source_pitch;
            let bytes = self.buffers[from.buffer].model[from_start..from_start + width].to_vec();
            memory::copy(&mut self.buffers[to.buffer].model, to.range.start + row * target_pitch, &bytes);
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments, reason = "the numbers of one operation")]
    pub(super) fn copy_batch(
        &mut self,
        target: u32,
        source: u32,
        at: u32,
        entries: usize,
        len: usize,
        stream: u32,
        blocking: bool,
    ) -> Result<(), Failure> {
        if !self.copies().batch {
            return Ok(());
        }
        let host = [BufferKind::Pinned, BufferKind::Pageable];
        let (to, from) = if at.is_multiple_of(2) {
            (self.buffer(target, &[BufferKind::Device]), self.buffer(source, &host))
        } else {
            (self.buffer(target, &host), self.buffer(source, &[BufferKind::Device]))
        };
        let (Some((to, from)), Some(stream)) = (self.pair(to, from, at, u32::MAX, 1), self.stream(stream)) else {
            return Ok(());
        };
        let entries = entries.min(to.range.len() / len);
        if entries == 0 {
            return Ok(());
        }
        // Targets are adjacent, sources in reverse order: no two entries overlap.
        let targets: Vec<usize> = (0..entries).map(|entry| self.address(&to) + entry * len).collect();
        let sources: Vec<usize> = (0..entries).map(|entry| self.address(&from) + (entries - 1 - entry) * len).collect();
        let sizes = vec![len; entries];
        let location = |part: &BufferRange| match self.buffers[part.buffer].kind {
            BufferKind::Device => Location { kind: 1, device: self.device },
            _ => Location { kind: 0, device: 0 },
        };
        let attributes = [BatchAttribute { target: location(&to), source: location(&from), reserved_is_zero: true }];
        if blocking {
            self.order_host(&to, true)?;
            self.order_host(&from, false)?;
        } else {
            self.order_stream(stream, &to, true)?;
            self.order_stream(stream, &from, false)?;
        }
        let request = BatchRequest {
            targets: Some(&targets),
            capacities: Some(&sizes),
            sources: Some(&sources),
            sizes: Some(&sizes),
            attributes: Some(&attributes),
            starts: Some(&[0]),
        };
        let is_pageable = [&to, &from].iter().any(|part| self.buffers[part.buffer].kind == BufferKind::Pageable);
        let call = |caller: &Caller<'_>, stream| caller.copy_batch_async(&request, stream).map_err(|f| f.error);
        let (function, size) = ("aclrtMemcpyBatchAsync", entries * len);
        let copies = if blocking {
            self.enter(0)?;
            ok(self.caller.copy_batch(&request).map_err(|failure| failure.error)).map(|()| true)?
        } else if is_pageable {
            self.drain_and(function, size, stream, call)?
        } else {
            let parts = [(&to, true), (&from, false)];
            self.submit(&PendingTask { function, kind: TaskKind::Batch, size, stream, parts: &parts }, call)?
        };
        if !copies {
            return Ok(());
        }
        for entry in 0..entries {
            let start = from.range.start + (entries - 1 - entry) * len;
            let bytes = self.buffers[from.buffer].model[start..start + len].to_vec();
            memory::copy(&mut self.buffers[to.buffer].model, to.range.start + entry * len, &bytes);
        }
        Ok(())
    }

    pub(super) fn copy_described(
        &mut self,
        target: u32,
        source: u32,
        at: u32,
        len: u32,
        stream: u32,
    ) -> Result<(), Failure> {
        if self.copies().descriptor_bytes == 0 {
            return Ok(());
        }
        let pair = self.pair(
            self.buffer(target, &[BufferKind::Device]),
            self.buffer(source, &[BufferKind::Device]),
            at,
            len,
            1,
        );
        let (Some((to, from)), Some(stream)) = (pair, self.stream(stream)) else { return Ok(()) };
        let Ok(size) = self.caller.descriptor_size(kinds::INNER_DEVICE_TO_DEVICE) else { return Ok(()) };
        let Some(descriptor) = self.device_memory(size)? else { return Ok(()) };
        ok(self.caller.set_descriptor(DescriptorRequest {
            descriptor,
            kind: kinds::INNER_DEVICE_TO_DEVICE,
            source: self.address(&from),
            target: self.address(&to),
            count: to.range.len(),
            config: 0,
        }))?;
        self.order_stream(stream, &to, true)?;
        self.order_stream(stream, &from, false)?;
        // The contents of the descriptor are unknown at submit, so the rules get no size.
        self.extra_input = descriptor..descriptor + size;
        let parts = [(&to, true), (&from, false)];
        let pending =
            PendingTask { function: "aclrtMemcpyAsyncWithDesc", kind: TaskKind::Copy, size: 0, stream, parts: &parts };
        let kind = kinds::INNER_DEVICE_TO_DEVICE;
        if self.submit(&pending, |caller, stream| caller.copy_described(descriptor, kind, stream))? {
            self.model_copy(&to, &from);
        }
        // Wait: the descriptor and both buffers must exist until the task has run.
        self.synchronize(stream)?;
        ok(self.caller.free(descriptor))
    }

    pub(super) fn copy_with_offset(
        &mut self,
        target: u32,
        source: u32,
        at: u32,
        len: u32,
        stream: u32,
    ) -> Result<(), Failure> {
        if !self.copies().offset {
            return Ok(());
        }
        let pair = self.pair(
            self.buffer(target, &[BufferKind::Device]),
            self.buffer(source, &[BufferKind::Device]),
            at,
            len,
            1,
        );
        let (Some((to, from)), Some(stream)) = (pair, self.stream(stream)) else { return Ok(()) };
        let Some(cells) = self.device_memory(16)? else { return Ok(()) };
        let addresses = [self.buffers[to.buffer].address, self.buffers[from.buffer].address];
        let cell_copy = CopyRequest {
            target: cells,
            capacity: 16,
            source: addresses.as_ptr() as usize,
            count: 16,
            kind: kinds::DEFAULT,
        };
        ok(self.caller.copy(cell_copy))?;
        self.order_stream(stream, &to, true)?;
        self.order_stream(stream, &from, false)?;
        let request = OffsetRequest {
            target_cell: cells,
            capacity: to.range.end,
            target_offset: to.range.start,
            source_cell: cells + 8,
            count: to.range.len(),
            source_offset: from.range.start,
            kind: kinds::INNER_DEVICE_TO_DEVICE,
        };
        self.extra_input = cells..cells + 16;
        let (size, parts) = (to.range.len(), [(&to, true), (&from, false)]);
        let pending =
            PendingTask { function: "aclrtMemcpyAsyncWithOffset", kind: TaskKind::Copy, size, stream, parts: &parts };
        if self.submit(&pending, |caller, stream| caller.copy_with_offset(request, stream))? {
            self.model_copy(&to, &from);
        }
        self.synchronize(stream)?;
        ok(self.caller.free(cells))
    }

    pub(super) fn fill(&mut self, target: u32, at: u32, len: u32, byte: u8) -> Result<(), Failure> {
        let Some(part) = self
            .buffer(target, &[BufferKind::Device, BufferKind::Pinned, BufferKind::Pageable])
            .and_then(|buffer| self.part(buffer, at, len, 1))
        else {
            return Ok(());
        };
        self.order_host(&part, true)?;
        ok(self.caller.fill(FillRequest {
            target: self.address(&part),
            capacity: part.range.len(),
            byte,
            count: part.range.len(),
        }))?;
        memory::fill(&mut self.buffers[part.buffer].model, part.range.clone(), byte);
        Ok(())
    }

    pub(super) fn fill_async(&mut self, target: u32, at: u32, len: u32, byte: u8, stream: u32) -> Result<(), Failure> {
        let part = self.buffer(target, &[BufferKind::Device]).and_then(|buffer| self.part(buffer, at, len, 1));
        let (Some(part), Some(stream)) = (part, self.stream(stream)) else { return Ok(()) };
        self.order_stream(stream, &part, true)?;
        let request =
            FillRequest { target: self.address(&part), capacity: part.range.len(), byte, count: part.range.len() };
        let (size, parts) = (part.range.len(), [(&part, true)]);
        let pending = PendingTask { function: "aclrtMemsetAsync", kind: TaskKind::Fill, size, stream, parts: &parts };
        if self.submit(&pending, |caller, stream| caller.fill_async(request, stream))? {
            memory::fill(&mut self.buffers[part.buffer].model, part.range.clone(), byte);
        }
        Ok(())
    }

    pub(super) fn fill_words(&mut self, target: u32, at: u32, len: u32, word: u32, stream: u32) -> Result<(), Failure> {
        if !self.copies().memset_d32 {
            return Ok(());
        }
        let part = self.buffer(target, &[BufferKind::Device]).and_then(|buffer| self.part(buffer, at, len, 4));
        let (Some(part), Some(stream)) = (part, self.stream(stream)) else { return Ok(()) };
        self.order_stream(stream, &part, true)?;
        let request = WordFillRequest {
            target: self.address(&part),
            capacity: part.range.len(),
            word,
            count: part.range.len() / 4,
        };
        let (size, parts) = (part.range.len(), [(&part, true)]);
        let pending =
            PendingTask { function: "aclrtMemsetD32Async", kind: TaskKind::Fill, size, stream, parts: &parts };
        if self.submit(&pending, |caller, stream| caller.fill_words_async(request, stream))? {
            memory::fill_words(&mut self.buffers[part.buffer].model, part.range.clone(), word);
        }
        Ok(())
    }

    pub(super) fn reduce(
        &mut self,
        target: u32,
        source: u32,
        at: u32,
        len: u32,
        kind: i32,
        stream: u32,
    ) -> Result<(), Failure> {
        let pair = self.pair(
            self.buffer(target, &[BufferKind::Device]),
            self.buffer(source, &[BufferKind::Device]),
            at,
            len,
            4,
        );
        let (Some((to, from)), Some(stream)) = (pair, self.stream(stream)) else { return Ok(()) };
        self.order_stream(stream, &to, true)?;
        self.order_stream(stream, &from, false)?;
        let request = ReduceRequest {
            target: self.address(&to),
            source: self.address(&from),
            count: to.range.len(),
            kind,
            element: 3,
            reserved: 0,
        };
        let (size, parts) = (to.range.len(), [(&to, true), (&from, false)]);
        let pending = PendingTask { function: "aclrtReduceAsync", kind: TaskKind::Reduce, size, stream, parts: &parts };
        if !self.submit(&pending, |caller, stream| caller.reduce_async(request, stream))? {
            return Ok(());
        }
        let bytes = self.buffers[from.buffer].model[from.range.clone()].to_vec();
        memory::reduce(&mut self.buffers[to.buffer].model, to.range.start, &bytes, kind);
        Ok(())
    }
}
