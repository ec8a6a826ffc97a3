//! The log of a program: what its threads submitted and waited for, in the order of the calls.
//!
//! A log contains no times of the model, so it can be replayed with other figures. In a file it is a head with the
//! names, and six words per step.

use crate::simulation::TaskId;
use crate::work::{Call, Place, Work};
use std::io::{self, Read, Write};

/// One thing that a program did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The thread computed for this time since its last call.
    Think {
        thread: u32,
        ns: u64,
    },
    Submit {
        thread: u32,
        id: TaskId,
        work: Work,
    },
    /// The task waits for another one. Logged after the submit of either.
    After {
        id: TaskId,
        other: TaskId,
    },
    /// The task starts when the other one has arrived at the front of its stream, or later: two operations that do
    /// something together. Logged after the submit of either.
    Meet {
        id: TaskId,
        other: TaskId,
    },
    /// A copy that the calling thread does itself, after it has drained a stream if `is_stall`.
    Blocking {
        thread: u32,
        work: Work,
        is_stall: bool,
    },
    /// The thread waited for a task. `is_stall` is true if pageable memory made a copy wait.
    Wait {
        thread: u32,
        id: TaskId,
        is_stall: bool,
    },
    /// The thread asked whether a task has ended.
    Query {
        thread: u32,
    },
    /// The thread made a call about memory.
    Call {
        thread: u32,
        call: Call,
    },
    /// A phase with the name of this number begins.
    Phase {
        thread: u32,
        name: u32,
    },
}

/// The thread of tasks that a graph submits: they take no time of a host thread.
pub const RUNTIME_THREAD: u32 = u32::MAX;

/// The steps of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Log {
    /// The chip that the program ran on.
    pub soc: String,
    /// Names of kernels and phases, by number.
    pub names: Vec<String>,
    pub steps: Vec<Step>,
}

const MAGIC: u64 = u64::from_le_bytes(*b"sacltim1");

impl Log {
    /// The number of a name.
    pub fn name(&mut self, name: &str) -> u32 {
        let known = self.names.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        }) as u32
    }

    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let mut put = |word: u64| to.write_all(&word.to_le_bytes());
        put(MAGIC)?;
        put(1 + self.names.len() as u64)?;
        put(self.steps.len() as u64)?;
        for text in std::iter::once(&self.soc).chain(&self.names) {
            to.write_all(&(text.len() as u64).to_le_bytes())?;
            to.write_all(text.as_bytes())?;
        }
        for step in &self.steps {
            for word in encode(step) {
                to.write_all(&word.to_le_bytes())?;
            }
        }
        Ok(())
    }

    pub fn read(from: &mut impl Read) -> io::Result<Log> {
        let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("not a log of times: {what}"));
        if word(from)? != MAGIC {
            return Err(wrong("the first bytes differ"));
        }
        let (texts, count) = (word(from)?, word(from)?);
        let mut names = Vec::new();
        for _ in 0..texts {
            let mut text = Vec::new();
            let len = word(from)?;
            if from.take(len).read_to_end(&mut text)? as u64 != len {
                return Err(wrong("a name is cut off"));
            }
            names.push(String::from_utf8(text).map_err(|_| wrong("a name is not UTF-8"))?);
        }
        if names.is_empty() {
            return Err(wrong("it names no chip"));
        }
        let mut log = Log { soc: names.remove(0), names, steps: Vec::new() };
        for _ in 0..count {
            let mut words = [0; 6];
            for word_of in &mut words {
                *word_of = word(from)?;
            }
            log.steps.push(decode(words).ok_or_else(|| wrong("an unknown step"))?);
        }
        Ok(log)
    }
}

fn word(from: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

fn halves(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

/// A kind, a thread, and four words.
fn encode(step: &Step) -> [u64; 6] {
    match *step {
        Step::Think { thread, ns } => [pair(1, thread), ns, 0, 0, 0, 0],
        Step::Submit { thread, id, work } => {
            let [kind, one, other] = encode_work(work);
            [pair(2, thread), u64::from(id.stream), id.sequence, kind, one, other]
        }
        Step::After { id, other } => [pair(3, 0), pair(id.stream, other.stream), id.sequence, other.sequence, 0, 0],
        Step::Meet { id, other } => [pair(8, 0), pair(id.stream, other.stream), id.sequence, other.sequence, 0, 0],
        Step::Blocking { thread, work, is_stall } => {
            let [kind, one, other] = encode_work(work);
            [pair(4, thread), u64::from(is_stall), 0, kind, one, other]
        }
        Step::Wait { thread, id, is_stall } => {
            [pair(5, thread), u64::from(id.stream), id.sequence, u64::from(is_stall), 0, 0]
        }
        Step::Query { thread } => [pair(6, thread), 0, 0, 0, 0, 0],
        Step::Call { thread, call } => {
            let (number, pages) = call_number(call);
            [pair(9, thread), number, u64::from(pages), 0, 0, 0]
        }
        Step::Phase { thread, name } => [pair(7, thread), u64::from(name), 0, 0, 0, 0],
    }
}

fn decode(words: [u64; 6]) -> Option<Step> {
    let [first, one, two, three, four, five] = words;
    let (kind, thread) = halves(first);
    let id = TaskId { stream: one as u32, sequence: two };
    Some(match kind {
        1 => Step::Think { thread, ns: one },
        2 => Step::Submit { thread, id, work: decode_work([three, four, five])? },
        3 | 8 => {
            let (stream, other) = halves(one);
            let (id, other) = (TaskId { stream, sequence: two }, TaskId { stream: other, sequence: three });
            if kind == 3 { Step::After { id, other } } else { Step::Meet { id, other } }
        }
        4 => Step::Blocking { thread, work: decode_work([three, four, five])?, is_stall: one != 0 },
        5 => Step::Wait { thread, id, is_stall: three != 0 },
        6 => Step::Query { thread },
        7 => Step::Phase { thread, name: one as u32 },
        9 => Step::Call { thread, call: call_of(one, two as u32)? },
        _ => return None,
    })
}

fn encode_work(work: Work) -> [u64; 3] {
    match work {
        Work::Copy { source, target, bytes, entries, is_batch } => {
            [pair(1 + u32::from(is_batch), entries), pair(place_number(source), place_number(target)), bytes]
        }
        Work::Kernel { device, name, ns } => [pair(3, name), u64::from(device), ns.map_or(0, |ns| ns + 1)],
        Work::Event => [pair(4, 0), 0, 0],
        Work::HostFunction { ns } => [pair(5, 0), ns, 0],
        Work::Nothing => [pair(6, 0), 0, 0],
    }
}

fn decode_work([first, one, other]: [u64; 3]) -> Option<Work> {
    let (kind, number) = halves(first);
    Some(match kind {
        1 | 2 => {
            let (source, target) = halves(one);
            Work::Copy {
                source: place(source),
                target: place(target),
                bytes: other,
                entries: number,
                is_batch: kind == 2,
            }
        }
        3 => Work::Kernel { device: one as u32, name: number, ns: other.checked_sub(1) },
        4 => Work::Event,
        5 => Work::HostFunction { ns: one },
        6 => Work::Nothing,
        _ => return None,
    })
}

/// The number of a call, and its pages.
fn call_number(call: Call) -> (u64, u32) {
    match call {
        Call::Malloc => (1, 0),
        Call::Free => (2, 0),
        Call::MallocHost => (3, 0),
        Call::FreeHost => (4, 0),
        Call::Register { pages } => (5, pages),
    }
}

fn call_of(number: u64, pages: u32) -> Option<Call> {
    Some(match number {
        1 => Call::Malloc,
        2 => Call::Free,
        3 => Call::MallocHost,
        4 => Call::FreeHost,
        5 => Call::Register { pages },
        _ => return None,
    })
}

fn place_number(place: Place) -> u32 {
    match place {
        Place::Pinned => 0,
        Place::Pageable => 1,
        Place::Device(device) => device.saturating_add(2),
    }
}

fn place(number: u32) -> Place {
    match number {
        0 => Place::Pinned,
        1 => Place::Pageable,
        device => Place::Device(device - 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_survive_their_file() {
        let id = TaskId { stream: 3, sequence: 1 << 40 };
        let (thread, other) = (7, TaskId { stream: 4, sequence: 2 });
        let mut log = Log { soc: "Ascend910_9392".to_owned(), ..Log::default() };
        let name = log.name("decode");
        assert_eq!((log.name("prefill"), log.name("decode")), (1, name));
        let works = [
            Work::copy(Place::Pageable, Place::Device(5), 1 << 35),
            Work::Copy { source: Place::Device(0), target: Place::Pinned, bytes: 9, entries: 3, is_batch: true },
            Work::Kernel { device: 1, name, ns: Some(0) },
            Work::Kernel { device: 1, name, ns: None },
            Work::Event,
            Work::HostFunction { ns: 12 },
            Work::Nothing,
        ];
        log.steps = works.map(|work| Step::Submit { thread, id, work }).to_vec();
        log.steps.extend([
            Step::Think { thread, ns: 55 },
            Step::After { id, other },
            Step::Meet { id, other },
            Step::Blocking { thread, work: works[0], is_stall: true },
            Step::Wait { thread, id, is_stall: false },
            Step::Query { thread },
            Step::Phase { thread, name },
        ]);
        let calls = [Call::Malloc, Call::Free, Call::MallocHost, Call::FreeHost, Call::Register { pages: 7 }];
        log.steps.extend(calls.map(|call| Step::Call { thread, call }));
        let mut bytes = Vec::new();
        log.write(&mut bytes).unwrap();
        assert_eq!(Log::read(&mut &bytes[..]).unwrap(), log);
        for len in 0..bytes.len() {
            assert!(Log::read(&mut &bytes[..len]).is_err(), "{len} of {} bytes", bytes.len());
        }
    }
}
