//! Runs: one execution of a plan, in steps that never wait.
//!
//! A step moves as many bytes as channels have room for or contain, and ends when nothing moves anymore. Only the thread
//! that executes the task steps; others may ask at any time whether a step would move something.

use crate::communicator::{Communicator, Side};
use crate::message::{HEADER, Header, Kind, MessageId};
use crate::plan::{Exchange, Plan, Reduce, Source, Target};
use ascendcl_sys::{ACL_ERROR_RT_FFTS_PLUS_TIMEOUT, ACL_ERROR_RT_SUSPECT_REMOTE_ERROR};
use softacl_carrier::group::Loss;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Bytes that are written or read before the other direction has its turn. Chosen: both sides of a channel then work on
/// bytes that are still in the cache.
const TURN: usize = 128 << 10;
/// Bytes that are reduced at once. They stay in the first cache while the operands of several ranks are added.
const REDUCED_AT_ONCE: usize = 64 << 10;
/// How often a run that waits looks whether the ranks that it waits for still live, and at the clock.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// Why a run failed.
#[derive(Debug, Clone)]
pub struct RunFailure {
    /// The code with which the task fails.
    pub code: i32,
    pub why: String,
}

/// One execution of a plan.
#[derive(Debug)]
pub struct Run {
    communicator: Arc<Communicator>,
    plan: Arc<Plan>,
    id: u64,
    /// Number of this run among those of the task.
    number: u64,
    began: Instant,
    /// Time of the last look at the other ranks, in microseconds since the beginning.
    looked: AtomicU64,
    /// Set when a look found that the run cannot finish. The next step then looks again.
    is_hopeless: AtomicBool,
    progress: Mutex<Progress>,
    failure: OnceLock<RunFailure>,
}

#[derive(Debug, Default)]
struct Progress {
    has_begun: bool,
    is_finished: bool,
    /// Per exchange of the plan.
    sent: Vec<Sent>,
    received: Vec<Received>,
    reduced: usize,
    scratch: Vec<u8>,
}

/// How far a message has been sent.
#[derive(Debug, Default)]
struct Sent {
    header: usize,
    /// Position in the channel behind the header.
    header_end: u64,
    part: usize,
    offset: usize,
    padding: usize,
    /// True when all bytes are in the channel.
    is_written: bool,
    is_done: bool,
}

/// How far a message has been received.
#[derive(Debug, Default)]
struct Received {
    has_header: bool,
    part: usize,
    offset: usize,
    padding: usize,
    is_done: bool,
}

impl Run {
    pub fn new(communicator: Arc<Communicator>, plan: Arc<Plan>, number: u64) -> Run {
        communicator.runs.fetch_add(1, Ordering::AcqRel);
        let progress = Progress {
            sent: plan.messages.iter().map(|one| Sent { is_done: one.send.is_none(), ..Sent::default() }).collect(),
            received: plan
                .messages
                .iter()
                .map(|one| Received { is_done: one.receive.is_none(), ..Received::default() })
                .collect(),
            ..Progress::default()
        };
        Run {
            id: communicator.next_run(),
            communicator,
            plan,
            number,
            began: Instant::now(),
            looked: AtomicU64::new(0),
            is_hopeless: AtomicBool::new(false),
            progress: Mutex::new(progress),
            failure: OnceLock::new(),
        }
    }

    /// Continues. Returns `false` if the run is not finished.
    pub fn step(&self) -> Result<bool, RunFailure> {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let result = self.advance(&mut progress);
        match &result {
            Ok(true) => progress.is_finished = true,
            Ok(false) => {}
            Err(failure) => {
                self.communicator.fail(&failure.why);
                let _ = self.failure.set(failure.clone());
            }
        }
        result
    }

    fn advance(&self, progress: &mut Progress) -> Result<bool, RunFailure> {
        if let Some(why) = self.communicator.failure() {
            return Err(remote(why.to_owned()));
        }
        if !progress.has_begun {
            progress.has_begun = true;
            for local in &self.plan.local {
                // SAFETY: both ranges are in buffers of the operator, whose views the runtime keeps valid. They may overlap.
                unsafe { ptr::copy(local.source as *const u8, local.target as *mut u8, local.len) };
            }
        }
        loop {
            let mut moved = self.move_bytes(progress)?;
            if progress.sent.iter().all(|one| one.is_done) && progress.received.iter().all(|one| one.is_done) {
                return Ok(true);
            }
            if !moved && self.is_hopeless.swap(false, Ordering::AcqRel) {
                let lost = self.lost(progress);
                // What a rank sent before it was lost may have arrived since the last round.
                moved = self.move_bytes(progress)?;
                if let (Some(failure), false) = (lost, moved) {
                    return Err(failure);
                }
                self.check_time(progress)?;
            }
            if !moved {
                return Ok(false);
            }
        }
    }

    /// Moves bytes once in every direction. Returns `false` if none could be moved.
    fn move_bytes(&self, progress: &mut Progress) -> Result<bool, RunFailure> {
        let mut moved = false;
        for (at, exchange) in self.plan.messages.iter().enumerate() {
            moved |= self.send(exchange, &mut progress.sent[at], progress.reduced);
            moved |= self.receive(exchange, &mut progress.received[at])?;
        }
        if let Some(reduce) = &self.plan.reduce {
            moved |= self.reduce(reduce, progress);
        }
        Ok(moved)
    }

    fn header(&self, exchange: &Exchange) -> Option<Header> {
        let message = exchange.send.as_ref()?;
        let len = message.parts.iter().map(|part| part.len as u64).sum();
        let id = MessageId { kind: message.kind, call: message.call, run: self.number };
        Some(Header { id, terms: message.terms, len })
    }

    /// The header that a message from a peer must have.
    fn expected(&self, exchange: &Exchange) -> Option<Header> {
        let message = exchange.receive.as_ref()?;
        let len = message.parts.iter().map(|part| part.len() as u64).sum();
        let id = MessageId { kind: message.kind, call: message.call, run: self.number };
        Some(Header { id, terms: message.terms, len })
    }

    fn send(&self, exchange: &Exchange, sent: &mut Sent, reduced: usize) -> bool {
        let (Some(message), false) = (&exchange.send, sent.is_done) else { return false };
        let channel = self.communicator.group.outgoing(exchange.peer);
        if sent.is_written {
            sent.is_done = channel.read_by_peer() >= sent.header_end;
            return sent.is_done;
        }
        if !self.communicator.try_own(exchange.peer, Side::Writer, self.id) {
            return false;
        }
        let mut moved = 0;
        if sent.header < HEADER {
            let Some(header) = self.header(exchange) else { return false };
            let bytes = header.to_bytes();
            // SAFETY: the rest of an array that lives during the call.
            let count = unsafe { channel.write(bytes[sent.header..].as_ptr(), HEADER - sent.header) };
            sent.header += count;
            moved += count;
            if sent.header < HEADER {
                return moved > 0;
            }
            sent.header_end = channel.written();
            sent.padding = (header.len as usize).next_multiple_of(HEADER) - header.len as usize;
        }
        while let Some(part) = message.parts.get(sent.part) {
            let count = self.sendable(part, sent.offset, reduced).min(TURN);
            // SAFETY: a part of a buffer of the operator, whose view the runtime keeps valid.
            let count = unsafe { channel.write((part.address + sent.offset) as *const u8, count) };
            sent.offset += count;
            moved += count;
            if sent.offset < part.len {
                return moved > 0;
            }
            (sent.part, sent.offset) = (sent.part + 1, 0);
        }
        if sent.padding > 0 {
            // SAFETY: an array that lives during the call, and has more bytes than the padding.
            let count = unsafe { channel.write([0_u8; HEADER].as_ptr(), sent.padding) };
            sent.padding -= count;
            moved += count;
        }
        if sent.padding == 0 {
            sent.is_written = true;
            sent.is_done = !message.is_synchronous || channel.read_by_peer() >= sent.header_end;
            self.communicator.disown(exchange.peer, Side::Writer);
            return true;
        }
        moved > 0
    }

    /// Bytes of a part that can be sent now.
    fn sendable(&self, part: &Source, offset: usize, reduced: usize) -> usize {
        (if part.is_result { reduced.min(part.len) } else { part.len }) - offset
    }

    fn receive(&self, exchange: &Exchange, received: &mut Received) -> Result<bool, RunFailure> {
        let (Some(message), false) = (&exchange.receive, received.is_done) else { return Ok(false) };
        if !self.communicator.try_own(exchange.peer, Side::Reader, self.id) {
            return Ok(false);
        }
        let channel = self.communicator.group.incoming(exchange.peer);
        let mut moved = 0;
        if !received.has_header {
            match self.arrived(exchange) {
                Arrival::Ours(header) => self.compare(exchange, &header)?,
                Arrival::Nothing | Arrival::Others => {
                    self.communicator.disown(exchange.peer, Side::Reader);
                    return Ok(false);
                }
                Arrival::Garbage => {
                    let why = format!("rank {} sent something that is not a message", exchange.peer);
                    return Err(remote(self.in_words(&why)));
                }
            }
            channel.consume(HEADER);
            received.has_header = true;
            let len: usize = message.parts.iter().map(Target::len).sum();
            received.padding = len.next_multiple_of(HEADER) - len;
            moved += HEADER;
        }
        while let Some(part) = message.parts.get(received.part) {
            if let Target::Copy { address, len } = part {
                let count = (len - received.offset).min(TURN);
                // SAFETY: a part of a buffer of the operator, whose view the runtime keeps valid.
                let count = unsafe { channel.read((address + received.offset) as *mut u8, count) };
                received.offset += count;
                moved += count;
            }
            if received.offset < part.len() {
                return Ok(moved > 0);
            }
            (received.part, received.offset) = (received.part + 1, 0);
        }
        let count = received.padding.min(channel.available());
        channel.consume(count);
        received.padding -= count;
        if received.padding == 0 {
            received.is_done = true;
            self.communicator.disown(exchange.peer, Side::Reader);
            return Ok(true);
        }
        Ok(moved + count > 0)
    }

    /// What is at the front of the channel from a peer.
    fn arrived(&self, exchange: &Exchange) -> Arrival {
        let mut bytes = [0; HEADER];
        if !self.communicator.group.incoming(exchange.peer).peek(&mut bytes) {
            return Arrival::Nothing;
        }
        match (Header::from_bytes(&bytes), self.expected(exchange)) {
            (Some(header), Some(expected)) if header.is_same_operator(&expected) => Arrival::Ours(header),
            (Some(_), _) => Arrival::Others,
            (None, _) => Arrival::Garbage,
        }
    }

    /// Refuses a message of a rank that does something else in this operator.
    fn compare(&self, exchange: &Exchange, theirs: &Header) -> Result<(), RunFailure> {
        let Some(ours) = self.expected(exchange) else { return Ok(()) };
        if *theirs == ours {
            return Ok(());
        }
        let (rank, peer) = (self.communicator.group.rank(), exchange.peer);
        let what = if ours.id.kind == Kind::Send { "transfer" } else { "collective" };
        let verb = if ours.id.kind == Kind::Send { ("receives", "sends") } else { ("calls", "calls") };
        let text = |header: &Header| match header.id.kind {
            Kind::Send => header.describe().replace("HcclSend of ", ""),
            _ => header.describe(),
        };
        let sizes = if text(&ours) == text(theirs) {
            format!(": {} bytes are sent, {} are expected", theirs.len, ours.len)
        } else {
            String::new()
        };
        Err(remote(self.in_words(&format!(
            "ranks {rank} and {peer} disagree about {what} {}: rank {rank} {} {}, rank {peer} {} {}{sizes}",
            ours.id.call,
            verb.0,
            text(&ours),
            verb.1,
            text(theirs)
        ))))
    }

    /// Reduces what has arrived from all ranks.
    fn reduce(&self, reduce: &Reduce, progress: &mut Progress) -> bool {
        let Some(count) = self.reducible(reduce, progress) else { return false };
        let Reduce { reduction, own, target, .. } = *reduce;
        let (own, target) = ((own + progress.reduced) as *const u8, (target + progress.reduced) as *mut u8);
        let rank = self.communicator.group.rank();
        let operand = |at: u32| match at == rank {
            true => own,
            false => self.communicator.group.incoming(at).contiguous().0,
        };
        // With the first two operands in place, the operand of a higher rank would be overwritten before its turn.
        let needs_scratch = rank >= 2;
        progress.scratch.resize(if needs_scratch { REDUCED_AT_ONCE } else { 0 }, 0);
        let sum = if needs_scratch { progress.scratch.as_mut_ptr() } else { target };
        let ranks = self.communicator.group.ranks();
        // SAFETY: the operands of the others are in channels that this run owns, `count` bytes each; the own operand and
        // the target are in buffers of the operator, and the scratch has at least as many bytes.
        unsafe {
            reduction.combine(sum, operand(0), operand(1), count);
            for at in 2..ranks {
                reduction.combine(sum, sum.cast_const(), operand(at), count);
            }
            if needs_scratch {
                ptr::copy_nonoverlapping(sum, target, count);
            }
        }
        for exchange in &self.plan.messages {
            self.communicator.group.incoming(exchange.peer).consume(count);
        }
        progress.reduced += count;
        for received in &mut progress.received {
            received.offset = progress.reduced;
        }
        true
    }

    /// Bytes that can be reduced now.
    fn reducible(&self, reduce: &Reduce, progress: &Progress) -> Option<usize> {
        let left = reduce.len - progress.reduced;
        let is_sent = |sent: &Sent| sent.is_written;
        if left == 0 || (reduce.waits_for_sends && !progress.sent.iter().all(is_sent)) {
            return None;
        }
        let mut count = left.min(REDUCED_AT_ONCE);
        for (exchange, received) in self.plan.messages.iter().zip(&progress.received) {
            if !received.has_header {
                return None;
            }
            count = count.min(self.communicator.group.incoming(exchange.peer).contiguous().1);
        }
        count -= count % reduce.reduction.element.size();
        (count > 0).then_some(count)
    }

    /// True if a step would move bytes, or would find that the run has failed.
    pub fn is_ready(&self) -> bool {
        // While a step runs, it finds out for itself.
        let Ok(progress) = self.progress.try_lock() else { return false };
        !progress.has_begun
            || self.communicator.failure().is_some()
            || self.can_move(&progress)
            // What a look found holds until a step has seen it: the polling thread looks, too, and cannot step.
            || self.is_hopeless.load(Ordering::Acquire)
            || (self.is_time_to_look() && self.look(&progress))
    }

    /// Looks at the other ranks and at the clock. Returns `true` if the run cannot finish.
    fn look(&self, progress: &Progress) -> bool {
        let is_hopeless = self.lost(progress).is_some() || self.check_time(progress).is_err();
        self.is_hopeless.store(is_hopeless, Ordering::Release);
        is_hopeless
    }

    fn can_move(&self, progress: &Progress) -> bool {
        let exchanges = || self.plan.messages.iter().enumerate();
        exchanges().any(|(at, exchange)| self.can_send(exchange, &progress.sent[at], progress.reduced))
            || exchanges().any(|(at, exchange)| self.can_receive(exchange, &progress.received[at]))
            || self.plan.reduce.is_some_and(|reduce| self.reducible(&reduce, progress).is_some())
    }

    fn can_send(&self, exchange: &Exchange, sent: &Sent, reduced: usize) -> bool {
        let (Some(message), false) = (&exchange.send, sent.is_done) else { return false };
        let channel = self.communicator.group.outgoing(exchange.peer);
        if sent.is_written {
            return channel.read_by_peer() >= sent.header_end;
        }
        let has_bytes = sent.header < HEADER
            || message.parts.get(sent.part).is_none_or(|part| self.sendable(part, sent.offset, reduced) > 0);
        if !has_bytes || channel.room() == 0 {
            return false;
        }
        let owns = self.communicator.try_own(exchange.peer, Side::Writer, self.id);
        if owns && sent.header == 0 {
            self.communicator.disown(exchange.peer, Side::Writer);
        }
        owns
    }

    fn can_receive(&self, exchange: &Exchange, received: &Received) -> bool {
        let (Some(message), false) = (&exchange.receive, received.is_done) else { return false };
        if received.has_header {
            let is_operand =
                matches!(message.parts.get(received.part), Some(Target::Operand { len }) if received.offset < *len);
            return !is_operand && self.communicator.group.incoming(exchange.peer).available() > 0;
        }
        if !self.communicator.try_own(exchange.peer, Side::Reader, self.id) {
            return false;
        }
        let arrival = self.arrived(exchange);
        self.communicator.disown(exchange.peer, Side::Reader);
        matches!(arrival, Arrival::Ours(_) | Arrival::Garbage)
    }

    /// True if the last look at the other ranks was a while ago.
    fn is_time_to_look(&self) -> bool {
        let now = self.began.elapsed().as_micros() as u64;
        let before = self.looked.load(Ordering::Relaxed);
        let is_time = now >= before + LOOK_INTERVAL.as_micros() as u64;
        if is_time {
            self.looked.store(now, Ordering::Relaxed);
        }
        is_time
    }

    /// The failure because of a rank that this run waits for and that will not send anymore.
    fn lost(&self, progress: &Progress) -> Option<RunFailure> {
        let (peer, loss) = self.awaited(progress).find_map(|peer| Some((peer, self.communicator.group.loss(peer)?)))?;
        let why = match loss {
            Loss::Left => format!("rank {peer} has destroyed the communicator"),
            Loss::Ended { process } => format!("rank {peer} has ended (process {process})"),
            Loss::Failed(why) => return Some(remote(why)),
        };
        Some(remote(self.in_words(&why)))
    }

    /// The ranks that the run waits for.
    fn awaited<'a>(&'a self, progress: &'a Progress) -> impl Iterator<Item = u32> + 'a {
        let is_open = |at: usize| !progress.sent[at].is_done || !progress.received[at].is_done;
        self.plan.messages.iter().enumerate().filter(move |(at, _)| is_open(*at)).map(|(_, exchange)| exchange.peer)
    }

    /// True if all ranks that the run waits for are of this process.
    pub fn waits_inside(&self) -> bool {
        let own = std::process::id();
        let Ok(progress) = self.progress.try_lock() else { return false };
        progress.has_begun && self.awaited(&progress).all(|peer| self.communicator.group.process(peer) == own)
    }

    /// How long the run waits for other ranks before it fails.
    pub fn limit(&self) -> Option<Duration> {
        self.communicator.config.exec_timeout
    }

    fn check_time(&self, progress: &Progress) -> Result<(), RunFailure> {
        match self.communicator.config.exec_timeout {
            Some(limit) if self.began.elapsed() >= limit => Err(RunFailure {
                code: ACL_ERROR_RT_FFTS_PLUS_TIMEOUT,
                why: format!("after {} s, it still waits: {}", limit.as_secs(), self.waits_for(progress)),
            }),
            _ => Ok(()),
        }
    }

    /// What the run waits for.
    fn waits_for(&self, progress: &Progress) -> String {
        let mut missing = Vec::new();
        let mut slow = Vec::new();
        for (at, exchange) in self.plan.messages.iter().enumerate() {
            let (sent, received) = (&progress.sent[at], &progress.received[at]);
            let has_come = match &exchange.receive {
                Some(_) => received.has_header,
                None => sent.is_done,
            };
            match has_come {
                false => missing.push(exchange.peer.to_string()),
                true if !sent.is_done || !received.is_done => slow.push(exchange.peer.to_string()),
                true => {}
            }
        }
        match missing.is_empty() {
            false => self.in_words(&format!("rank {} has not come", missing.join(", "))),
            true => self.in_words(&format!("bytes of rank {} are outstanding", slow.join(", "))),
        }
    }

    /// A sentence with the communicator and the rank.
    fn in_words(&self, what: &str) -> String {
        format!("{what} (rank {} of communicator {})", self.communicator.group.rank(), self.communicator.name)
    }

    /// What the run waits for, or why it failed.
    pub fn describe(&self) -> String {
        match (self.failure.get(), self.progress.try_lock()) {
            (Some(failure), _) => failure.why.clone(),
            (None, Ok(progress)) => self.waits_for(&progress),
            (None, Err(_)) => "it runs".to_owned(),
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let is_finished = self.progress.get_mut().unwrap_or_else(PoisonError::into_inner).is_finished;
        if !is_finished && !self.plan.messages.is_empty() {
            // The other ranks must not wait for the rest.
            self.communicator.fail(&self.in_words("an operator was aborted"));
        }
        self.communicator.runs.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The front of a channel.
enum Arrival {
    Nothing,
    /// A message of this operator.
    Ours(Header),
    /// A message of another operator, which another stream receives.
    Others,
    Garbage,
}

fn remote(why: String) -> RunFailure {
    RunFailure { code: ACL_ERROR_RT_SUSPECT_REMOTE_ERROR, why }
}

#[cfg(test)]
mod tests;
