//! The compact form of tracks that the timeline page contains: a layout as JSON, and columns of numbers.
//!
//! Every column holds one number for each slice, row after row, as a little-endian base-128 number (LEB128). Neighbors
//! are alike, so times are differences, and the columns compress well. The page unpacks a million tasks in a fraction
//! of a second. `page.js` of the command reads this form; both change together.

use crate::tracks::{Slice, SliceKind, TrackKind, Tracks};
use serde::Serialize;

/// What the columns contain.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub struct Layout<'a> {
    /// The first time and the time from it to the last one, in ns.
    origin: u64,
    ns: u64,
    texts: &'a [String],
    tracks: Vec<TrackLayout<'a>>,
    /// Each row has slices that do not overlap. A track has one for each depth of nesting.
    rows: Vec<RowLayout>,
    arrows: usize,
    marks: usize,
    memory: usize,
}

#[derive(Debug, Serialize, PartialEq, Eq)]
struct TrackLayout<'a> {
    process: u32,
    kind: &'static str,
    device: Option<u32>,
    id: u32,
    name: &'a str,
}

#[derive(Debug, Serialize, PartialEq, Eq)]
struct RowLayout {
    track: usize,
    slices: usize,
}

/// Returns the compact form.
pub fn columns(tracks: &Tracks) -> (Layout<'_>, Vec<u8>) {
    let (origin, end) = tracks.bounds();
    let mut rows: Vec<(usize, Vec<Slice>)> = Vec::new();
    for (index, track) in tracks.tracks.iter().enumerate() {
        rows.extend(split(&track.slices).into_iter().map(|slices| (index, slices)));
    }
    let mut writer = ColumnWriter { origin, rows: &rows, bytes: Vec::new() };
    writer.slices();
    writer.points(tracks);
    let kind = |kind| match kind {
        TrackKind::Thread => "thread",
        TrackKind::Ranges => "ranges",
        TrackKind::Stream { .. } => "stream",
        TrackKind::GraphStream { .. } => "graph stream",
    };
    let track = |track: &'_ crate::tracks::Track| (track.process, kind(track.kind), track.kind.device(), track.id);
    let tracks_layout = tracks.tracks.iter().map(|each| {
        let (process, kind, device, id) = track(each);
        TrackLayout { process, kind, device, id, name: &each.name }
    });
    let layout = Layout {
        origin,
        ns: end - origin,
        texts: tracks.texts(),
        tracks: tracks_layout.collect(),
        arrows: tracks.arrows.len(),
        marks: tracks.marks.len(),
        memory: tracks.memory.len(),
        rows: rows.iter().map(|(track, slices)| RowLayout { track: *track, slices: slices.len() }).collect(),
    };
    let bytes = writer.bytes;
    (layout, bytes)
}

/// Splits the slices of a track into rows without overlap: each slice goes to the first row that is free, so a nested
/// slice is below the one around it.
pub(crate) fn split(slices: &[Slice]) -> Vec<Vec<Slice>> {
    let mut rows: Vec<Vec<Slice>> = Vec::new();
    for slice in slices {
        let is_free = |row: &&mut Vec<Slice>| row.last().is_none_or(|last| last.start + last.ns <= slice.start);
        match rows.iter_mut().find(is_free) {
            Some(row) => row.push(*slice),
            None => rows.push(vec![*slice]),
        }
    }
    rows
}

struct ColumnWriter<'a> {
    origin: u64,
    rows: &'a [(usize, Vec<Slice>)],
    bytes: Vec<u8>,
}

impl ColumnWriter<'_> {
    fn slices(&mut self) {
        let origin = self.origin;
        self.column(|before, slice| slice.start - before.map_or(origin, |before| before.start));
        self.column(|_, slice| slice.ns);
        self.column(|_, slice| slice.name.0.into());
        self.column(|_, slice| match slice.kind {
            SliceKind::Call => 0,
            SliceKind::Access => 1,
            SliceKind::Task => 2,
            SliceKind::Wait => 3,
            SliceKind::Range => 4,
        });
        self.column(|_, slice| slice.bytes);
        self.column(|_, slice| slice.entries.into());
        self.column(|_, slice| slice.route.0.into());
        self.column(|before, slice| zigzag(difference(slice.task, before.map_or(0, |before| before.task))));
        // How long before its start a task was submitted, and 0 for what was not submitted.
        self.column(|_, slice| match slice.submitted {
            0 => 0,
            submitted => 1 + zigzag(difference(slice.start, submitted)),
        });
        self.column(|_, slice| slice.submitter.into());
        self.column(|_, slice| slice.runner.into());
        self.column(|_, slice| slice.blocked_ns);
        self.column(|_, slice| zigzag(slice.code.into()));
        self.column(|_, slice| slice.is_unfinished.into());
    }

    fn points(&mut self, tracks: &Tracks) {
        let origin = self.origin;
        for arrow in &tracks.arrows {
            self.number(arrow.from.track as u64);
            self.number(arrow.from.ns.saturating_sub(origin));
            self.number(arrow.to.track as u64);
            self.number(arrow.to.ns.saturating_sub(arrow.from.ns));
        }
        for mark in &tracks.marks {
            self.number(mark.track as u64);
            self.number(mark.ns - origin);
            self.number(mark.name.0.into());
        }
        for memory in &tracks.memory {
            self.number(memory.process.into());
            self.number(memory.device.into());
            self.number(memory.ns - origin);
            self.number(memory.bytes);
        }
    }

    /// Writes one number per slice, from the slice and the one before it in its row.
    fn column(&mut self, value: impl Fn(Option<&Slice>, &Slice) -> u64) {
        for (_, slices) in self.rows {
            let mut before = None;
            for slice in slices {
                self.number(value(before, slice));
                before = Some(slice);
            }
        }
    }

    fn number(&mut self, value: u64) {
        write_varint(&mut self.bytes, value);
    }
}

/// Appends a number, seven bits per byte, the lowest first.
pub(crate) fn write_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn difference(one: u64, other: u64) -> i64 {
    one.wrapping_sub(other).cast_signed()
}

/// Maps small numbers of both signs to small numbers.
fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracks::Track;

    fn slice(start: u64, ns: u64) -> Slice {
        Slice { start, ns, ..Slice::default() }
    }

    #[test]
    fn rows_have_no_overlap_and_nested_slices_are_below() {
        let slices = [slice(0, 10), slice(1, 2), slice(2, 1), slice(5, 5), slice(10, 1), slice(10, 0)];
        let starts = |row: &Vec<Slice>| row.iter().map(|slice| slice.start).collect::<Vec<_>>();
        assert_eq!(split(&slices).iter().map(starts).collect::<Vec<_>>(), [vec![0, 10], vec![1, 5, 10], vec![2]]);
        assert!(split(&[]).is_empty());
    }

    #[test]
    fn columns_contain_one_number_per_slice() {
        let mut tracks = Tracks::default();
        let slices = vec![slice(1000, 300), Slice { code: -1, ..slice(1500, 1) }];
        tracks.tracks.push(Track { process: 7, kind: TrackKind::Thread, id: 7, name: "main thread".into(), slices });
        let (layout, bytes) = columns(&tracks);
        assert_eq!((layout.origin, layout.ns, layout.rows.len()), (1000, 501, 1));
        // Two numbers in each of 14 columns; 500 and 300 take two bytes each.
        assert_eq!(bytes.len(), 2 * 14 + 2);
        assert_eq!(bytes[..6], [0, 0xf4, 3, 0xac, 2, 1]);
        assert_eq!([zigzag(0), zigzag(-1), zigzag(1), zigzag(-2)], [0, 1, 2, 3]);
    }
}
