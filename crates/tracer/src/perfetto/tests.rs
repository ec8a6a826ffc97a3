//! Decodes what was written, with a decoder that knows only the wire format.

use super::*;
use crate::tracks::{MemoryUse, TextNumber};

/// Fields of a message, by number.
#[derive(Debug, Default)]
struct Fields(BTreeMap<u64, Vec<Value>>);

#[derive(Debug, Clone, PartialEq)]
enum Value {
    Number(u64),
    Bytes(Vec<u8>),
}

impl Fields {
    fn decode(mut bytes: &[u8]) -> Fields {
        let mut fields = Fields::default();
        while !bytes.is_empty() {
            let key = number(&mut bytes);
            let value = match key & 7 {
                0 => Value::Number(number(&mut bytes)),
                1 => {
                    let (word, rest) = bytes.split_at(8);
                    bytes = rest;
                    Value::Number(u64::from_le_bytes(word.try_into().unwrap()))
                }
                2 => {
                    let len = number(&mut bytes) as usize;
                    let (data, rest) = bytes.split_at(len);
                    bytes = rest;
                    Value::Bytes(data.to_vec())
                }
                other => panic!("wire type {other}"),
            };
            fields.0.entry(key >> 3).or_default().push(value);
        }
        fields
    }

    fn all(&self, field: u64) -> &[Value] {
        self.0.get(&field).map_or(&[], Vec::as_slice)
    }

    fn number(&self, field: u64) -> Option<u64> {
        match self.all(field) {
            [Value::Number(value)] => Some(*value),
            _ => None,
        }
    }

    fn text(&self, field: u64) -> Option<String> {
        match self.all(field) {
            [Value::Bytes(value)] => String::from_utf8(value.clone()).ok(),
            _ => None,
        }
    }

    fn messages(&self, field: u64) -> Vec<Fields> {
        let decode = |value: &Value| match value {
            Value::Bytes(bytes) => Fields::decode(bytes),
            Value::Number(_) => panic!("field {field} is no message"),
        };
        self.all(field).iter().map(decode).collect()
    }
}

fn number(bytes: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let (byte, rest) = bytes.split_first().expect("a complete number");
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return value;
        }
        shift += 7;
    }
}

fn example() -> Tracks {
    let mut tracks = Tracks::default();
    let (call, copy, wait) =
        (tracks.number("aclrtMemcpyAsync"), tracks.number("copy H2D"), tracks.number("event wait"));
    let route = tracks.number("host to device 0");
    let slice = |start, ns, name: TextNumber, kind| Slice { start, ns, name, kind, ..Slice::default() };
    let track = |kind, id, name: &str, slices| Track { process: 77, kind, id, name: name.to_owned(), slices };
    let outer = slice(100, 50, call, SliceKind::Call);
    let inner = slice(110, 10, call, SliceKind::Call);
    let task = Slice {
        task: 1,
        bytes: 4096,
        entries: 1,
        route,
        submitted: 115,
        submitter: 77,
        runner: 78,
        ..slice(200, 30, copy, SliceKind::Task)
    };
    let stream = TrackKind::Stream { device: 0 };
    tracks.tracks.push(track(TrackKind::Thread, 77, "main thread", vec![outer, inner]));
    tracks.tracks.push(track(stream, 1, "stream 1", vec![task]));
    tracks.tracks.push(track(stream, 2, "stream 2", vec![Slice { code: -3, ..slice(190, 41, wait, SliceKind::Wait) }]));
    let end = |track, ns| ArrowEnd { track, ns };
    tracks.arrows.push(Arrow { from: end(1, 229), to: end(2, 230) });
    tracks.memory.push(MemoryUse { process: 77, device: 0, ns: 90, bytes: 1 << 30 });
    tracks
}

#[test]
fn decoded_trace_has_every_slice_arrow_and_counter() {
    let mut file = Vec::new();
    write(&example(), &mut file).unwrap();
    let packets = Fields::decode(&file).messages(1);
    assert!(packets.iter().all(|packet| packet.number(10) == Some(SEQUENCE)));
    let texts: BTreeMap<u64, String> = packets[0].messages(12)[0]
        .messages(2)
        .iter()
        .map(|text| (text.number(1).unwrap(), text.text(2).unwrap()))
        .collect();
    let tracks: BTreeMap<u64, String> = packets
        .iter()
        .flat_map(|packet| packet.messages(60))
        .map(|track| (track.number(1).unwrap(), track.text(2).unwrap()))
        .collect();
    let names: Vec<&str> = tracks.values().map(String::as_str).collect();
    assert_eq!(names, ["program, process 77", "device 0", "memory in use", "main thread", "stream 1", "stream 2"]);
    let mut seen = Vec::new();
    for packet in &packets {
        let Some(event) = packet.messages(11).pop() else { continue };
        let track = &tracks[&event.number(11).unwrap()];
        let name = event.number(10).map_or("", |name| texts[&name].as_str());
        seen.push(format!("{} {track} {} {name}", packet.number(8).unwrap(), event.number(9).unwrap()));
    }
    assert_eq!(
        seen,
        [
            "100 main thread 1 aclrtMemcpyAsync",
            "110 main thread 1 aclrtMemcpyAsync",
            "120 main thread 2 ",
            "150 main thread 2 ",
            "200 stream 1 1 copy H2D",
            "230 stream 1 2 ",
            "190 stream 2 1 event wait",
            "231 stream 2 2 ",
            "90 memory in use 4 ",
        ]
    );
    let events: Vec<Fields> = packets.iter().flat_map(|packet| packet.messages(11)).collect();
    // The inner call submitted the copy, which the wait follows.
    assert_eq!((events[1].all(47), events[4].all(48)), (&[Value::Number(2)][..], &[Value::Number(2)][..]));
    assert_eq!((events[4].all(47), events[6].all(48)), (&[Value::Number(1)][..], &[Value::Number(1)][..]));
    let notes: Vec<String> = events[4].messages(4).iter().map(|note| note.text(10).unwrap()).collect();
    assert_eq!(notes, ["task", "bytes", "entries", "route", "submitted by thread", "run by thread"]);
    assert_eq!(events[4].messages(4)[1].number(3), Some(4096));
    let code = events[6].messages(4)[0].number(4).map(u64::cast_signed);
    assert_eq!((code, events[8].number(30)), (Some(-3), Some(1 << 30)));
}
