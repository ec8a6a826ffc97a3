//! Copies, fills and reductions, on the machine and on the model.

use super::*;

impl World<'_> {
    /// Which copies the chip has.
    fn copies(&self) -> &softacl_profiles::CopyTraits {
        &self.caller.machine().config().profile.chip.copy
    }

    pub(super) fn copy(&mut self, target: u32, source: u32, at: u32, len: u32) -> Result<(), Failure> {
        let all = [Where::Device, Where::Pinned, Where::Pageable];
        let Some((to, from)) = self.pair(self.buffer(target, &all), self.buffer(source, &all), at, len, 1) else {
            return Ok(());
        };
        self.order_host(&to, true)?;
        self.order_host(&from, false)?;
        ok(self.caller.copy(self.request(&to, &from, kinds::DEFAULT)))?;
        self.model_copy(&to, &from);
        Ok(())
    }

    pub(super) fn copy_async(
        &mut self,
        target: u32,
        source: u32,
        at: u32,
        len: u32,
        stream: u32,
    ) -> Result<(), Failure> {
        let all = [Where::Device, Where::Pinned, Where::Pageable];
        let to = self.buffer(target, &all);
        // One side at least is on the device: host to host is refused.
        let partner: &[Where] =
            if to.is_some_and(|to| self.buffers[to].place == Where::Device) { &all } else { &all[..1] };
        let Some((to, from)) = self.pair(to, self.buffer(source, partner), at, len, 1) else { return Ok(()) };
        let Some(stream) = self.stream(stream) else { return Ok(()) };
        self.order_stream(stream, &to, true)?;
        self.order_stream(stream, &from, false)?;
        let request = self.request(&to, &from, kinds::DEFAULT);
        ok(self.caller.copy_async(request, self.streams[stream].handle))?;
        self.task(stream, &[(&to, true), (&from, false)]);
        if [&to, &from].iter().any(|part| self.buffers[part.buffer].place == Where::Pageable) {
            // The call drained the stream and is done.
            let clock = self.streams[stream].clock.clone();
            self.finished(&clock);
        }
        self.model_copy(&to, &from);
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
            self.buffer(target, &[Where::Device]),
            self.buffer(source, &[Where::Pinned, Where::Pageable]),
            at,
            len,
            1,
        );
        let (Some((to, from)), Some(stream)) = (pair, self.stream(stream)) else { return Ok(()) };
        self.order_stream(stream, &to, true)?;
        self.order_host(&from, true)?;
        let request = self.request(&to, &from, kinds::HOST_TO_BUFFER_TO_DEVICE);
        ok(self.caller.copy_async(request, self.streams[stream].handle))?;
        self.task(stream, &[(&to, true)]);
        self.model_copy(&to, &from);
        // The source is the program's again.
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
            self.buffer(target, &[Where::Device]),
            self.buffer(source, &[Where::Device, Where::Pinned]),
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
        ok(self.caller.copy_plane_async(request, self.streams[stream].handle))?;
        self.task(stream, &[(&to, true), (&from, false)]);
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
        let host = [Where::Pinned, Where::Pageable];
        let (to, from) = if at.is_multiple_of(2) {
            (self.buffer(target, &[Where::Device]), self.buffer(source, &host))
        } else {
            (self.buffer(target, &host), self.buffer(source, &[Where::Device]))
        };
        let (Some((to, from)), Some(stream)) = (self.pair(to, from, at, u32::MAX, 1), self.stream(stream)) else {
            return Ok(());
        };
        let entries = entries.min(to.range.len() / len);
        if entries == 0 {
            return Ok(());
        }
        // Destinations lie side by side, sources in reverse order: no two entries overlap.
        let targets: Vec<usize> = (0..entries).map(|entry| self.address(&to) + entry * len).collect();
        let sources: Vec<usize> = (0..entries).map(|entry| self.address(&from) + (entries - 1 - entry) * len).collect();
        let sizes = vec![len; entries];
        let location = |part: &Part| match self.buffers[part.buffer].place {
            Where::Device => Location { kind: 1, device: self.device },
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
        let failed = |failure: BatchFailure| format!("{} at {:?}", failure.error, failure.index);
        if blocking {
            self.caller.copy_batch(&request).map_err(failed)?;
        } else {
            self.caller.copy_batch_async(&request, self.streams[stream].handle).map_err(failed)?;
            self.task(stream, &[(&to, true), (&from, false)]);
            if [&to, &from].iter().any(|part| self.buffers[part.buffer].place == Where::Pageable) {
                let clock = self.streams[stream].clock.clone();
                self.finished(&clock);
            }
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
        let pair = self.pair(self.buffer(target, &[Where::Device]), self.buffer(source, &[Where::Device]), at, len, 1);
        let (Some((to, from)), Some(stream)) = (pair, self.stream(stream)) else { return Ok(()) };
        let Ok(size) = self.caller.descriptor_size(kinds::INNER_DEVICE_TO_DEVICE) else { return Ok(()) };
        let descriptor = ok(self.caller.allocate(size))?;
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
        ok(self.caller.copy_described(descriptor, kinds::INNER_DEVICE_TO_DEVICE, self.streams[stream].handle))?;
        self.task(stream, &[(&to, true), (&from, false)]);
        self.model_copy(&to, &from);
        // The descriptor must live until the task has run, and both buffers with it.
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
        let pair = self.pair(self.buffer(target, &[Where::Device]), self.buffer(source, &[Where::Device]), at, len, 1);
        let (Some((to, from)), Some(stream)) = (pair, self.stream(stream)) else { return Ok(()) };
        let cells = ok(self.caller.allocate(16))?;
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
        match self.caller.copy_with_offset(request, self.streams[stream].handle) {
            Err(error) if error.code() == 207000 => return ok(self.caller.free(cells)),
            other => ok(other)?,
        }
        self.task(stream, &[(&to, true), (&from, false)]);
        self.model_copy(&to, &from);
        self.synchronize(stream)?;
        ok(self.caller.free(cells))
    }

    pub(super) fn fill(&mut self, target: u32, at: u32, len: u32, byte: u8) -> Result<(), Failure> {
        let Some(part) = self
            .buffer(target, &[Where::Device, Where::Pinned, Where::Pageable])
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
        let part = self.buffer(target, &[Where::Device]).and_then(|buffer| self.part(buffer, at, len, 1));
        let (Some(part), Some(stream)) = (part, self.stream(stream)) else { return Ok(()) };
        self.order_stream(stream, &part, true)?;
        let request =
            FillRequest { target: self.address(&part), capacity: part.range.len(), byte, count: part.range.len() };
        ok(self.caller.fill_async(request, self.streams[stream].handle))?;
        self.task(stream, &[(&part, true)]);
        memory::fill(&mut self.buffers[part.buffer].model, part.range.clone(), byte);
        Ok(())
    }

    pub(super) fn fill_words(&mut self, target: u32, at: u32, len: u32, word: u32, stream: u32) -> Result<(), Failure> {
        if !self.copies().memset_d32 {
            return Ok(());
        }
        if !self.caller.machine().config().profile.chip.copy.memset_d32 {
            return Ok(());
        }
        let part = self.buffer(target, &[Where::Device]).and_then(|buffer| self.part(buffer, at, len, 4));
        let (Some(part), Some(stream)) = (part, self.stream(stream)) else { return Ok(()) };
        self.order_stream(stream, &part, true)?;
        let request = WordFillRequest {
            target: self.address(&part),
            capacity: part.range.len(),
            word,
            count: part.range.len() / 4,
        };
        ok(self.caller.fill_words_async(request, self.streams[stream].handle))?;
        self.task(stream, &[(&part, true)]);
        memory::fill_words(&mut self.buffers[part.buffer].model, part.range.clone(), word);
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
        let pair = self.pair(self.buffer(target, &[Where::Device]), self.buffer(source, &[Where::Device]), at, len, 4);
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
        ok(self.caller.reduce_async(request, self.streams[stream].handle))?;
        self.task(stream, &[(&to, true), (&from, false)]);
        let bytes = self.buffers[from.buffer].model[from.range.clone()].to_vec();
        memory::reduce(&mut self.buffers[to.buffer].model, to.range.start, &bytes, kind);
        Ok(())
    }
}
