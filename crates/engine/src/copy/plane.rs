//! Two-dimensional copies: rows of equal width.

use crate::caller::Caller;
use crate::copy::direction::{Direction, blocks, direction};
use crate::copy::{kind_in, kinds, not_null};
use crate::observer::AccessKind;
use crate::task::moves::{Move, Plane};
use softacl_errors::{Error, Result, fail};
use softacl_memory::MemoryKind;

/// Limits of specification 1.4.
const MAX_HEIGHT: usize = 5_242_880;
const MAX_WIDTH: usize = 5_000_000;
const KINDS: [i32; 4] = [kinds::HOST_TO_DEVICE, kinds::DEVICE_TO_HOST, kinds::DEVICE_TO_DEVICE, kinds::DEFAULT];

/// A 2D copy, as the program passes it.
#[derive(Debug, Clone, Copy)]
pub struct PlaneRequest {
    pub target: usize,
    pub target_pitch: usize,
    pub source: usize,
    pub source_pitch: usize,
    pub width: usize,
    pub height: usize,
    pub kind: i32,
}

impl PlaneRequest {
    fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0
    }

    fn check_arguments(&self) -> Result<()> {
        not_null(self.target, "dst")?;
        not_null(self.source, "src")?;
        for (name, pitch) in [("source", self.source_pitch), ("destination", self.target_pitch)] {
            if self.width > pitch {
                return fail(Error::Argument(format!(
                    "rows of {} bytes do not fit the {name} pitch of {pitch}",
                    self.width
                )));
            }
        }
        kind_in(self.kind, &KINDS)
    }

    fn check_size(&self) -> Result<()> {
        if self.is_empty() || self.height > MAX_HEIGHT || self.width > MAX_WIDTH {
            return fail(Error::Parameter(format!(
                "a plane of {} rows of {} bytes is outside 1 to {MAX_HEIGHT} rows and 1 to {MAX_WIDTH} bytes",
                self.height, self.width
            )));
        }
        Ok(())
    }

    /// Bytes from the first to the last byte that is accessed. Fails on overflow.
    fn extent(&self, side: &'static str, pitch: usize) -> Result<usize> {
        pitch.checked_mul(self.height - 1).and_then(|rows| rows.checked_add(self.width)).ok_or_else(|| {
            Box::new(Error::Parameter(format!("{} rows with a {side} pitch of {pitch} wrap around", self.height)))
        })
    }
}

impl Caller<'_> {
    /// Copies rows immediately. Ordered with no stream.
    pub fn copy_plane(&self, request: PlaneRequest) -> Result<()> {
        if request.is_empty() && self.zero_count_is_success() {
            return Ok(());
        }
        request.check_arguments()?;
        request.check_size()?;
        if request.kind == kinds::DEVICE_TO_DEVICE {
            return fail(Error::Feature(
                "the synchronous 2D copy does not copy within devices; use aclrtMemcpy2dAsync".to_owned(),
            ));
        }
        let (plane, ..) = self.check_plane(request, &[Direction::HostToDevice, Direction::DeviceToHost])?;
        self.blocking_context()?;
        self.copy_rows_now(&plane)
    }

    /// Queues a 2D copy on a stream. If host memory is pageable, drains the stream and copies.
    pub fn copy_plane_async(&self, request: PlaneRequest, stream: usize) -> Result<()> {
        if request.is_empty() && self.zero_count_is_success() {
            return Ok(());
        }
        request.check_arguments()?;
        let explicit = self.explicit_stream(stream)?;
        request.check_size()?;
        let all = [Direction::HostToDevice, Direction::DeviceToHost, Direction::DeviceToDevice];
        let (plane, places, blocking) = self.check_plane(request, &all)?;
        let at = match self.submission(explicit) {
            Err(error) if *error == Error::NoContext && explicit.is_none() => {
                return fail(Error::Parameter("no default stream: this thread has no current context".to_owned()));
            }
            other => other?,
        };
        if blocking {
            self.check_may_drain(at.stream)?;
            self.drain_for(at, places[0], places[1])?;
            return self.copy_rows_now(&plane);
        }
        self.queue_between(at, places, Move::Plane(Box::new(plane)))
    }

    /// Validates a 2D copy. Returns the rows, the memory kinds of source and destination, and whether pageable memory
    /// makes the copy blocking.
    fn check_plane(&self, request: PlaneRequest, allowed: &[Direction]) -> Result<(Plane, [MemoryKind; 2], bool)> {
        if self.machine.is_on_chip() {
            return fail(self.machine.unsupported("a 2D copy on the chip (RC or CPU form)"));
        }
        let finder = self.machine.memory.finder();
        let target = finder.find("destination", request.target)?;
        let source = finder.find("source", request.source)?;
        let direction = direction(source.place, target.place, request.kind)?;
        if !allowed.contains(&direction) {
            return fail(Error::Parameter(format!(
                "a 2D copy from {} to {} is not supported here",
                source.describe(),
                target.describe()
            )));
        }
        self.check_not_remote([target, source])?;
        target.covers("destination", request.extent("destination", request.target_pitch)?)?;
        source.covers("source", request.extent("source", request.source_pitch)?)?;
        let span = self.span(target, source, request.width)?;
        let plane = Plane {
            target: span.target,
            target_pitch: request.target_pitch,
            source: span.source,
            source_pitch: request.source_pitch,
            width: request.width,
            height: request.height,
        };
        self.advise_kind(request.kind, direction, source, target);
        Ok((plane, [source.place, target.place], blocks(direction, source.place, target.place)))
    }

    /// Copies rows on the calling thread, immediately.
    fn copy_rows_now(&self, plane: &Plane) -> Result<()> {
        let _guard = softacl_memory::segv::enter();
        let rows = || (0..plane.height).flat_map(|row| self.machine.memory.touches_of(&plane.row(row))).collect();
        self.machine.with_access(AccessKind::PlaneCopy, rows, || self.machine.copy_plane(*plane, 0))
    }
}
