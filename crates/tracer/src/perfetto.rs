//! Writes tracks as Perfetto's own format: a sequence of protobuf packets, several times smaller than JSON.
//!
//! The few messages that are needed are encoded by hand; field numbers are those of the public schema
//! (`perfetto/trace/trace_packet.proto`, `track_descriptor.proto`, `track_event.proto`, `interned_data.proto`).

use crate::columns::{split, write_varint};
use crate::tracks::{Arrow, ArrowEnd, Slice, SliceKind, Track, TrackKind, Tracks};
use std::collections::{BTreeMap, HashMap};
use std::io;

/// All packets are one sequence, whose texts are numbered.
const SEQUENCE: u64 = 1;
/// The state of the sequence starts here, or is needed.
const STATE_CLEARED: u64 = 1;
const STATE_NEEDED: u64 = 2;
const UNIT_BYTES: u64 = 3;

/// Kinds of track events.
const BEGIN: u64 = 1;
const END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;

/// A message under construction.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn number(mut self, field: u64, value: u64) -> Message {
        write_varint(&mut self.0, field << 3);
        write_varint(&mut self.0, value);
        self
    }

    fn fixed(mut self, field: u64, value: u64) -> Message {
        write_varint(&mut self.0, field << 3 | 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    fn bytes(mut self, field: u64, value: &[u8]) -> Message {
        write_varint(&mut self.0, field << 3 | 2);
        write_varint(&mut self.0, value.len() as u64);
        self.0.extend(value);
        self
    }

    fn text(self, field: u64, value: &str) -> Message {
        self.bytes(field, value.as_bytes())
    }

    fn message(self, field: u64, value: &Message) -> Message {
        self.bytes(field, &value.0)
    }
}

/// Writes a trace.
pub fn write(tracks: &Tracks, to: &mut impl io::Write) -> io::Result<()> {
    let mut writer = PacketWriter { tracks, to, flows: flows(tracks) };
    writer.texts()?;
    writer.descriptors()?;
    for index in 0..tracks.tracks.len() {
        writer.track(index)?;
    }
    writer.points()
}

/// Ids of tracks: processes first, then rows, then counters.
fn process_id(process: u32) -> u64 {
    1 << 40 | u64::from(process)
}

fn device_id(process: u32, device: u32) -> u64 {
    2 << 40 | u64::from(device) << 32 | u64::from(process)
}

fn counter_id(process: u32, device: u32) -> u64 {
    3 << 40 | u64::from(device) << 32 | u64::from(process)
}

fn row_id(track: usize, row: usize) -> u64 {
    4 << 40 | (track as u64) << 20 | row as u64
}

/// Arrows by the slice at either end: the track, the index of the slice, and the numbers of arrows that leave it and
/// that arrive.
type Flows = HashMap<(usize, usize), (Vec<u64>, Vec<u64>)>;

/// Returns the arrows from calls to the tasks that they submitted, and those between tasks.
fn flows(tracks: &Tracks) -> Flows {
    let (mut flows, mut next) = (Flows::new(), 1);
    let mut connect = |from: Option<(usize, usize)>, to: Option<(usize, usize)>| {
        let (Some(from), Some(to)) = (from, to) else { return };
        flows.entry(from).or_default().0.push(next);
        flows.entry(to).or_default().1.push(next);
        next += 1;
    };
    for Arrow { from, to } in &tracks.arrows {
        connect(find(tracks, *from), find(tracks, *to));
    }
    let thread = |(index, track): (usize, &Track)| ((track.process, track.id), index);
    let threads = tracks.tracks.iter().enumerate().filter(|(_, track)| track.kind == TrackKind::Thread);
    let threads: HashMap<(u32, u32), usize> = threads.map(thread).collect();
    for (index, track) in tracks.tracks.iter().enumerate() {
        for (number, slice) in track.slices.iter().enumerate().filter(|(_, slice)| slice.submitted > 0) {
            let Some(submitter) = threads.get(&(track.process, slice.submitter)) else { continue };
            let from = find(tracks, ArrowEnd { track: *submitter, ns: slice.submitted });
            connect(from, Some((index, number)));
        }
    }
    flows
}

/// Returns the innermost slice at a time.
fn find(tracks: &Tracks, at: ArrowEnd) -> Option<(usize, usize)> {
    let slices = &tracks.tracks[at.track].slices;
    let before = slices.partition_point(|slice| slice.start <= at.ns);
    let is_around = |index: &usize| slices[*index].start + slices[*index].ns.max(1) > at.ns;
    // Calls nest a few levels deep.
    (before.saturating_sub(16)..before).rev().find(is_around).map(|index| (at.track, index))
}

struct PacketWriter<'a, W> {
    tracks: &'a Tracks,
    to: &'a mut W,
    flows: Flows,
}

impl<W: io::Write> PacketWriter<'_, W> {
    fn packet(&mut self, packet: Message) -> io::Result<()> {
        self.to.write_all(&Message::default().message(1, &packet.number(10, SEQUENCE)).0)
    }

    /// Writes the texts, which events name by number. Numbers start at 1.
    fn texts(&mut self) -> io::Result<()> {
        let mut interned = Message::default();
        for (number, text) in self.tracks.texts().iter().enumerate() {
            let entry = Message::default().number(1, number as u64 + 1).text(2, text);
            interned = interned.message(2, &entry);
        }
        self.packet(Message::default().message(12, &interned).number(13, STATE_CLEARED | STATE_NEEDED))
    }

    fn descriptor(
        &mut self,
        id: u64,
        parent: Option<u64>,
        name: &str,
        extra: Option<(u64, Message)>,
    ) -> io::Result<()> {
        let mut descriptor = Message::default().number(1, id).text(2, name);
        if let Some(parent) = parent {
            descriptor = descriptor.number(5, parent);
        }
        if let Some((field, message)) = extra {
            descriptor = descriptor.message(field, &message);
        }
        self.packet(Message::default().message(60, &descriptor))
    }

    fn descriptors(&mut self) -> io::Result<()> {
        let mut groups: BTreeMap<u64, (Option<u64>, String, u32)> = BTreeMap::new();
        for Track { process, kind, .. } in &self.tracks.tracks {
            let name = format!("program, process {process}");
            groups.insert(process_id(*process), (None, name, *process));
            if let Some(device) = kind.device() {
                let (parent, name) = (Some(process_id(*process)), format!("device {device}"));
                groups.insert(device_id(*process, device), (parent, name, *process));
            }
        }
        for (id, (parent, name, process)) in groups {
            let extra = parent.is_none().then(|| (3, Message::default().number(1, process.into()).text(6, &name)));
            self.descriptor(id, parent, &name, extra)?;
        }
        for (index, track) in self.tracks.tracks.iter().enumerate().filter(|(_, track)| !track.slices.is_empty()) {
            let parent = match track.kind.device() {
                Some(device) => device_id(track.process, device),
                None => process_id(track.process),
            };
            let (process, id) = (track.process.into(), track.id.into());
            let thread = || (4, Message::default().number(1, process).number(2, id).text(5, &track.name));
            let rows = if track.kind == TrackKind::Ranges { split(&track.slices).len() } else { 1 };
            for row in 0..rows {
                match track.kind {
                    TrackKind::Thread => self.descriptor(row_id(index, row), None, &track.name, Some(thread()))?,
                    TrackKind::Ranges => {
                        let name = format!("ranges of {}", track.name);
                        self.descriptor(row_id(index, row), Some(parent), &name, None)?;
                    }
                    _ => self.descriptor(row_id(index, row), Some(parent), &track.name, None)?,
                }
            }
        }
        let counters: BTreeMap<u64, u64> = self
            .tracks
            .memory
            .iter()
            .map(|memory| (counter_id(memory.process, memory.device), device_id(memory.process, memory.device)))
            .collect();
        for (id, parent) in counters {
            self.descriptor(id, Some(parent), "memory in use", Some((8, Message::default().number(3, UNIT_BYTES))))?;
        }
        Ok(())
    }

    fn event(&mut self, ns: u64, event: &Message) -> io::Result<()> {
        self.packet(Message::default().number(8, ns).number(13, STATE_NEEDED).message(11, event))
    }

    fn track(&mut self, index: usize) -> io::Result<()> {
        let track = &self.tracks.tracks[index];
        if track.kind == TrackKind::Ranges {
            for (row, slices) in split(&track.slices).into_iter().enumerate() {
                self.slices(row_id(index, row), slices.into_iter().map(|slice| (slice, None)))?;
            }
            return Ok(());
        }
        let slices = track.slices.iter().enumerate().map(|(number, slice)| (*slice, Some((index, number))));
        self.slices(row_id(index, 0), slices)
    }

    /// Writes begins and ends in the order of their times. A slice ends before the next one that is not inside it.
    fn slices(&mut self, id: u64, slices: impl Iterator<Item = (Slice, Option<(usize, usize)>)>) -> io::Result<()> {
        let mut open: Vec<u64> = Vec::new();
        let end = |ns: u64| (ns, Message::default().number(9, END).number(11, id));
        for (slice, key) in slices {
            while let Some(ns) = open.pop_if(|ns| *ns <= slice.start) {
                let (ns, event) = end(ns);
                self.event(ns, &event)?;
            }
            let mut event = Message::default().number(9, BEGIN).number(11, id).number(10, u64::from(slice.name.0) + 1);
            event = self.annotations(event.text(22, category(slice.kind)), &slice);
            if let Some((leaving, arriving)) = key.and_then(|key| self.flows.get(&key)) {
                event = leaving.iter().fold(event, |event, flow| event.fixed(47, *flow));
                event = arriving.iter().fold(event, |event, flow| event.fixed(48, *flow));
            }
            self.event(slice.start, &event)?;
            open.push((slice.start + slice.ns).min(open.last().copied().unwrap_or(u64::MAX)));
        }
        for ns in open.into_iter().rev() {
            let (ns, event) = end(ns);
            self.event(ns, &event)?;
        }
        Ok(())
    }

    /// Adds what the viewer shows when a slice is selected.
    fn annotations(&self, mut event: Message, slice: &Slice) -> Message {
        let mut add = |name: &str, value: Message| {
            let taken = std::mem::take(&mut event);
            event = taken.message(4, &value.text(10, name));
        };
        let number = |value: u64| Message::default().number(3, value);
        if slice.task > 0 {
            add("task", number(slice.task));
        }
        if slice.entries > 0 {
            add("bytes", number(slice.bytes));
            add("entries", number(slice.entries.into()));
            add("route", Message::default().text(6, self.tracks.text(slice.route)));
        }
        if slice.submitted > 0 {
            add("submitted by thread", number(slice.submitter.into()));
            add("run by thread", number(slice.runner.into()));
        }
        if slice.blocked_ns > 0 {
            add("waited for its stream, ns", number(slice.blocked_ns));
        }
        if slice.code != 0 {
            add("code", Message::default().number(4, i64::from(slice.code).cast_unsigned()));
        }
        if slice.is_unfinished {
            add("not finished", Message::default().number(2, 1));
        }
        event
    }

    fn points(&mut self) -> io::Result<()> {
        for mark in &self.tracks.marks {
            let event = Message::default().number(9, INSTANT).number(11, row_id(mark.track, 0));
            self.event(mark.ns, &event.number(10, u64::from(mark.name.0) + 1))?;
        }
        for memory in &self.tracks.memory {
            let id = counter_id(memory.process, memory.device);
            self.event(memory.ns, &Message::default().number(9, COUNTER).number(11, id).number(30, memory.bytes))?;
        }
        Ok(())
    }
}

fn category(kind: SliceKind) -> &'static str {
    match kind {
        SliceKind::Call => "call",
        SliceKind::Access => "copy",
        SliceKind::Task => "task",
        SliceKind::Wait => "wait",
        SliceKind::Range => "range",
    }
}

#[cfg(test)]
mod tests;
