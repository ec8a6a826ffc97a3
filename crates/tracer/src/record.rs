//! Records: trace events as 32 bytes of memory, in a form that another process can read.
//!
//! The first word holds the kind of the event in its lowest byte, 24 bits of detail, and a number of 32 bits. It is
//! written last, so a record whose first word is zero is incomplete. The other words are the time and two payloads, or
//! bytes of a text.
//!
//! Fresh memory is the largest cost of recording, so the end of a call or task completes the record of its start, and the
//! common copy is one record.

use crate::allocations::{Endpoint, Route, TransferSize};
use crate::trace_event::{TextId, TimedEvent, TraceEvent};
use softacl_engine::observer::StreamPosition;
use std::sync::atomic::{AtomicU64, Ordering};

/// Room for one record. Zeroed memory is an empty slot.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Slot([AtomicU64; 4]);

/// Bytes of text that fit into a slot.
pub(crate) const TEXT_BYTES: usize = 24;
/// Longest text that can be stored, in bytes.
pub(crate) const MAX_TEXT: usize = (1 << 24) - 1;

/// Contents of a slot.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Record {
    Event(TimedEvent),
    /// A call or task with its end, or a task with its transfer.
    Pair(TimedEvent, TimedEvent),
    /// The next bytes of a text. Its parts follow each other in the log of a thread.
    Text(TextId, Vec<u8>),
}

type Words = [u64; 4];

impl Slot {
    pub(crate) fn write(&self, event: TimedEvent) {
        let [first, rest @ ..] = encode(event);
        for (slot, word) in self.0[1..].iter().zip(rest) {
            slot.store(word, Ordering::Relaxed);
        }
        self.0[0].store(first, Ordering::Release);
    }

    /// Writes a submitted task and its transfer. Returns `false`, having written nothing, if they need two slots.
    pub(crate) fn write_copy(&self, ns: u64, submitted: TraceEvent, transfer: TransferSize) -> bool {
        let words = encode_copy(submitted, transfer);
        if let Some([first, one, other]) = words {
            for (slot, word) in self.0[1..].iter().zip([ns, one, other]) {
                slot.store(word, Ordering::Relaxed);
            }
            self.0[0].store(first, Ordering::Release);
        }
        words.is_some()
    }

    /// Completes the record of an entered call.
    pub(crate) fn complete_call(&self, ns: u64, code: i32) {
        self.0[2].store(ns, Ordering::Relaxed);
        self.0[3].store(pair(code.cast_unsigned(), 1), Ordering::Release);
    }

    /// Completes the record of a started task.
    pub(crate) fn complete_task(&self, ns: u64) {
        self.0[3].store(ns, Ordering::Release);
    }

    /// Writes a part of a text: its first bytes, of which the slot stores at most `TEXT_BYTES`.
    pub(crate) fn write_text(&self, TextId(number): TextId, rest: &[u8]) {
        let mut bytes = [0; TEXT_BYTES];
        let len = rest.len().min(TEXT_BYTES);
        bytes[..len].copy_from_slice(&rest[..len]);
        for (slot, word) in self.0[1..].iter().zip(bytes.as_chunks().0) {
            slot.store(u64::from_le_bytes(*word), Ordering::Relaxed);
        }
        self.0[0].store(pair(u32::from(kind::TEXT) | (rest.len() as u32) << 8, number), Ordering::Release);
    }

    /// Returns the record. `None` if it is incomplete, or not one of this version.
    pub(crate) fn read(&self) -> Option<Record> {
        let first = self.0[0].load(Ordering::Acquire);
        let [_, rest @ ..] = &self.0;
        // The last word is read first: it completes a record.
        let other = rest[2].load(Ordering::Acquire);
        let [ns, one] = [&rest[0], &rest[1]].map(|word| word.load(Ordering::Relaxed));
        if first as u8 != kind::TEXT {
            return decode([first, ns, one, other]);
        }
        let (head, number) = halves(first);
        let mut bytes: Vec<u8> = [ns, one, other].into_iter().flat_map(u64::to_le_bytes).collect();
        bytes.truncate((head >> 8) as usize);
        Some(Record::Text(TextId(number), bytes))
    }
}

/// Kinds of records. Zero is an empty slot.
mod kind {
    pub const ENTERED: u8 = 1;
    pub const EXITED: u8 = 2;
    pub const SUBMITTED: u8 = 3;
    pub const TRANSFER: u8 = 4;
    pub const WAITS: u8 = 5;
    pub const AFTER: u8 = 6;
    pub const STARTED: u8 = 7;
    pub const FINISHED: u8 = 8;
    pub const FAILED: u8 = 9;
    pub const DROPPED: u8 = 10;
    pub const ACCESS_STARTED: u8 = 11;
    pub const ACCESS_FINISHED: u8 = 12;
    pub const BLOCKED: u8 = 13;
    pub const MEMORY: u8 = 14;
    pub const MARKED: u8 = 15;
    pub const RANGE_OPENED: u8 = 16;
    pub const RANGE_CLOSED: u8 = 17;
    pub const LABELED: u8 = 18;
    pub const TEXT: u8 = 19;
    pub const COPY: u8 = 20;
}

fn encode(TimedEvent { ns, event }: TimedEvent) -> Words {
    // Kind, detail, number, and the two payloads.
    let (kind, detail, number, one, other) = match event {
        TraceEvent::Entered(TextId(text)) => (kind::ENTERED, 0, text, 0, 0),
        TraceEvent::Exited(code) => (kind::EXITED, 0, code.cast_unsigned(), 0, 0),
        TraceEvent::Submitted { at, name: TextId(name), device, is_graph_step } => {
            (kind::SUBMITTED, u32::from(is_graph_step), at.stream, at.sequence, pair(name, device))
        }
        TraceEvent::Transfer(TransferSize { bytes, entries, route }) => {
            (kind::TRANSFER, 0, entries, bytes, pair(endpoint_number(route.source), endpoint_number(route.target)))
        }
        TraceEvent::Waits(at) => (kind::WAITS, 0, at.stream, at.sequence, 0),
        // Handles have 20 bits for the index of a stream.
        TraceEvent::After(at, after) => (kind::AFTER, after.stream, at.stream, at.sequence, after.sequence),
        TraceEvent::Started(at) => (kind::STARTED, 0, at.stream, at.sequence, 0),
        TraceEvent::Finished(at) => (kind::FINISHED, 0, at.stream, at.sequence, 0),
        TraceEvent::Failed(at, code) => (kind::FAILED, 0, at.stream, at.sequence, u64::from(code.cast_unsigned())),
        TraceEvent::Dropped(at) => (kind::DROPPED, 0, at.stream, at.sequence, 0),
        TraceEvent::AccessStarted(TextId(name)) => (kind::ACCESS_STARTED, 0, name, 0, 0),
        TraceEvent::AccessFinished(is_done) => (kind::ACCESS_FINISHED, u32::from(is_done), 0, 0, 0),
        TraceEvent::Blocked(time) => (kind::BLOCKED, 0, 0, time, 0),
        TraceEvent::Memory(device, bytes) => (kind::MEMORY, 0, device, bytes, 0),
        TraceEvent::Marked(TextId(text)) => (kind::MARKED, 0, text, 0, 0),
        TraceEvent::RangeOpened { range, text: TextId(text), is_nested } => {
            (kind::RANGE_OPENED, u32::from(is_nested), text, range, 0)
        }
        TraceEvent::RangeClosed(range) => (kind::RANGE_CLOSED, 0, 0, range, 0),
        TraceEvent::Labeled(at, TextId(text)) => (kind::LABELED, 0, at.stream, at.sequence, u64::from(text)),
    };
    [pair(u32::from(kind) | detail << 8, number), ns, one, other]
}

/// Encodes a task outside of graphs that moves one range, if its numbers are not too large: the first word and both
/// payloads.
fn encode_copy(submitted: TraceEvent, transfer: TransferSize) -> Option<[u64; 3]> {
    let TraceEvent::Submitted { at, name, device, is_graph_step: false } = submitted else { return None };
    let TransferSize { bytes, entries: 1, route } = transfer else { return None };
    let byte = |number: u32| u8::try_from(number).ok();
    let [source, target] = [route.source, route.target].map(endpoint_number);
    let head = u32::from_le_bytes([kind::COPY, byte(source)?, byte(target)?, byte(device)?]);
    let name = u64::from(u16::try_from(name.0).ok()?);
    (bytes < 1 << 48).then(|| [pair(head, at.stream), at.sequence, bytes | name << 48])
}

fn decode([first, ns, one, other]: Words) -> Option<Record> {
    let (head, number) = halves(first);
    let detail = head >> 8;
    let at = StreamPosition { stream: number, sequence: one };
    let timed = |event| TimedEvent { ns, event };
    let event = match head as u8 {
        kind::ENTERED if other != 0 => {
            let exited = TraceEvent::Exited(halves(other).0.cast_signed());
            return Some(Record::Pair(
                timed(TraceEvent::Entered(TextId(number))),
                TimedEvent { ns: one, event: exited },
            ));
        }
        kind::STARTED if other != 0 => {
            let finished = TimedEvent { ns: other, event: TraceEvent::Finished(at) };
            return Some(Record::Pair(timed(TraceEvent::Started(at)), finished));
        }
        kind::COPY => {
            let [_, source, target, device] = head.to_le_bytes().map(u32::from);
            let name = TextId((other >> 48) as u32);
            let submitted = TraceEvent::Submitted { at, name, device, is_graph_step: false };
            let route = Route { source: endpoint(source), target: endpoint(target) };
            let transfer = TransferSize { bytes: other & ((1 << 48) - 1), entries: 1, route };
            return Some(Record::Pair(timed(submitted), timed(TraceEvent::Transfer(transfer))));
        }
        kind::ENTERED => TraceEvent::Entered(TextId(number)),
        kind::EXITED => TraceEvent::Exited(number.cast_signed()),
        kind::SUBMITTED => {
            let (name, device) = halves(other);
            TraceEvent::Submitted { at, name: TextId(name), device, is_graph_step: detail != 0 }
        }
        kind::TRANSFER => {
            let (source, target) = halves(other);
            let route = Route { source: endpoint(source), target: endpoint(target) };
            TraceEvent::Transfer(TransferSize { bytes: one, entries: number, route })
        }
        kind::WAITS => TraceEvent::Waits(at),
        kind::AFTER => TraceEvent::After(at, StreamPosition { stream: detail, sequence: other }),
        kind::STARTED => TraceEvent::Started(at),
        kind::FINISHED => TraceEvent::Finished(at),
        kind::FAILED => TraceEvent::Failed(at, halves(other).0.cast_signed()),
        kind::DROPPED => TraceEvent::Dropped(at),
        kind::ACCESS_STARTED => TraceEvent::AccessStarted(TextId(number)),
        kind::ACCESS_FINISHED => TraceEvent::AccessFinished(detail != 0),
        kind::BLOCKED => TraceEvent::Blocked(one),
        kind::MEMORY => TraceEvent::Memory(number, one),
        kind::MARKED => TraceEvent::Marked(TextId(number)),
        kind::RANGE_OPENED => TraceEvent::RangeOpened { range: one, text: TextId(number), is_nested: detail != 0 },
        kind::RANGE_CLOSED => TraceEvent::RangeClosed(one),
        kind::LABELED => TraceEvent::Labeled(at, TextId(halves(other).0)),
        _ => return None,
    };
    Some(Record::Event(timed(event)))
}

fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

fn halves(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

/// Zero for no endpoint, one for the host, then the devices.
fn endpoint_number(endpoint: Option<Endpoint>) -> u32 {
    match endpoint {
        None => 0,
        Some(Endpoint::Host) => 1,
        Some(Endpoint::Device(device)) => device.saturating_add(2),
    }
}

fn endpoint(number: u32) -> Option<Endpoint> {
    match number {
        0 => None,
        1 => Some(Endpoint::Host),
        device => Some(Endpoint::Device(device - 2)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_survives_its_record() {
        let (at, after) = (StreamPosition { stream: 7, sequence: 1 << 40 }, StreamPosition { stream: 9, sequence: 3 });
        let route = Route { source: Some(Endpoint::Host), target: Some(Endpoint::Device(3)) };
        let text = TextId(5);
        let events = [
            TraceEvent::Entered(text),
            TraceEvent::Exited(-2),
            TraceEvent::Submitted { at, name: text, device: 1, is_graph_step: true },
            TraceEvent::Transfer(TransferSize { bytes: 1 << 35, entries: 4, route }),
            TraceEvent::Transfer(TransferSize { bytes: 1, entries: 1, route: Route { source: None, ..route } }),
            TraceEvent::Waits(at),
            TraceEvent::After(at, after),
            TraceEvent::Started(at),
            TraceEvent::Finished(at),
            TraceEvent::Failed(at, -7),
            TraceEvent::Dropped(at),
            TraceEvent::AccessStarted(text),
            TraceEvent::AccessFinished(true),
            TraceEvent::AccessFinished(false),
            TraceEvent::Blocked(u64::MAX),
            TraceEvent::Memory(2, 1 << 36),
            TraceEvent::Marked(text),
            TraceEvent::RangeOpened { range: 8, text, is_nested: true },
            TraceEvent::RangeClosed(8),
            TraceEvent::Labeled(at, text),
        ];
        for event in events {
            let (slot, event) = (Slot::default(), TimedEvent { ns: 123, event });
            assert_eq!(slot.read(), None);
            slot.write(event);
            assert_eq!(slot.read(), Some(Record::Event(event)));
        }
        assert_eq!(size_of::<Slot>(), 32);
    }

    #[test]
    fn ends_complete_the_records_of_starts() {
        let at = StreamPosition { stream: 7, sequence: 1 << 40 };
        let entered = TimedEvent { ns: 5, event: TraceEvent::Entered(TextId(2)) };
        let call = Slot::default();
        call.write(entered);
        call.complete_call(9, 0);
        assert_eq!(call.read(), Some(Record::Pair(entered, TimedEvent { ns: 9, event: TraceEvent::Exited(0) })));
        let started = TimedEvent { ns: 6, event: TraceEvent::Started(at) };
        let task = Slot::default();
        task.write(started);
        task.complete_task(8);
        assert_eq!(task.read(), Some(Record::Pair(started, TimedEvent { ns: 8, event: TraceEvent::Finished(at) })));
    }

    #[test]
    fn common_copy_is_one_record() {
        let at = StreamPosition { stream: 7, sequence: 1 << 40 };
        let submitted = |device, name| TraceEvent::Submitted { at, name: TextId(name), device, is_graph_step: false };
        let route = Route { source: Some(Endpoint::Host), target: Some(Endpoint::Device(3)) };
        let transfer = TransferSize { bytes: (1 << 48) - 1, entries: 1, route };
        let slot = Slot::default();
        assert!(slot.write_copy(4, submitted(255, 65535), transfer));
        let timed = |event| TimedEvent { ns: 4, event };
        let pair = Record::Pair(timed(submitted(255, 65535)), timed(TraceEvent::Transfer(transfer)));
        assert_eq!(slot.read(), Some(pair));
        let far = Route { target: Some(Endpoint::Device(254)), ..route };
        let others = [
            (submitted(256, 1), transfer),
            (submitted(0, 65536), transfer),
            (submitted(0, 1), TransferSize { bytes: 1 << 48, ..transfer }),
            (submitted(0, 1), TransferSize { entries: 2, ..transfer }),
            (submitted(0, 1), TransferSize { route: far, ..transfer }),
        ];
        for (submitted, transfer) in others {
            let slot = Slot::default();
            assert!(!slot.write_copy(4, submitted, transfer) && slot.read().is_none(), "{submitted:?} {transfer:?}");
        }
    }

    #[test]
    fn text_is_stored_in_parts() {
        let text = b"a name of more than 24 bytes";
        let slots = [Slot::default(), Slot::default()];
        slots[0].write_text(TextId(3), text);
        slots[1].write_text(TextId(3), &text[TEXT_BYTES..]);
        assert_eq!(slots[0].read(), Some(Record::Text(TextId(3), text[..TEXT_BYTES].to_vec())));
        assert_eq!(slots[1].read(), Some(Record::Text(TextId(3), text[TEXT_BYTES..].to_vec())));
    }

    #[test]
    fn unknown_kinds_are_skipped() {
        assert_eq!(decode([255, 1, 2, 3]), None);
    }
}
