//! A group: ranks that have met. Each member has a channel to and from every other, and can ask whether it still lives.

use crate::channel::{Incoming, Outgoing};
use crate::life::Life;
use crate::segment::{MAX_REASON, Segment};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What a rank shows of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum RankState {
    Absent = 0,
    Joined = 1,
    /// It has left the group and sends nothing anymore.
    Left = 2,
    /// It has given up the group, and has left a reason.
    Failed = 3,
}

impl RankState {
    pub(crate) fn of(value: u32) -> RankState {
        match value {
            1 => RankState::Joined,
            2 => RankState::Left,
            3 => RankState::Failed,
            _ => RankState::Absent,
        }
    }
}

/// Why a rank will not send anything anymore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loss {
    /// It has left the group.
    Left,
    /// It has given up the group, for this reason.
    Failed(String),
    /// Its process has ended.
    Ended { process: u32 },
}

/// One rank, as a member of its group.
#[derive(Debug)]
pub struct Group {
    segment: Arc<Segment>,
    rank: u32,
    ranks: u32,
    peers: Vec<Peer>,
}

#[derive(Debug)]
struct Peer {
    process: u32,
    life: Life,
    outgoing: Outgoing,
    incoming: Incoming,
}

impl Group {
    pub(crate) fn new(segment: Arc<Segment>, rank: u32, ranks: u32) -> Group {
        let peer = |other: u32| {
            let process = segment.slot(other).process.load(Ordering::Acquire);
            Peer {
                process,
                life: Life::of(process),
                outgoing: Outgoing::new(Arc::clone(&segment), ranks, rank, other),
                incoming: Incoming::new(Arc::clone(&segment), ranks, other, rank),
            }
        };
        let peers = (0..ranks).map(peer).collect();
        Group { segment, rank, ranks, peers }
    }

    pub fn rank(&self) -> u32 {
        self.rank
    }

    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// A number that only this group has.
    pub fn nonce(&self) -> u64 {
        self.segment.key.nonce
    }

    /// The process of a rank.
    pub fn process(&self, rank: u32) -> u32 {
        self.peers[rank as usize].process
    }

    /// The channel to a rank. One thread at a time may use it.
    pub fn outgoing(&self, rank: u32) -> &Outgoing {
        &self.peers[rank as usize].outgoing
    }

    /// The channel from a rank. One thread at a time may use it.
    pub fn incoming(&self, rank: u32) -> &Incoming {
        &self.peers[rank as usize].incoming
    }

    /// Why a rank sends nothing anymore. `None` while it may send. What it has sent before can still be read.
    pub fn loss(&self, rank: u32) -> Option<Loss> {
        let slot = self.segment.slot(rank);
        match RankState::of(slot.state.load(Ordering::Acquire)) {
            RankState::Left | RankState::Absent => return Some(Loss::Left),
            RankState::Failed => {
                let len = (slot.reason_len.load(Ordering::Acquire) as usize).min(MAX_REASON);
                let text: Vec<u8> = slot.reason[..len].iter().map(|byte| byte.load(Ordering::Relaxed)).collect();
                return Some(Loss::Failed(String::from_utf8_lossy(&text).into_owned()));
            }
            RankState::Joined => {}
        }
        let Peer { process, life, .. } = &self.peers[rank as usize];
        life.has_ended().then_some(Loss::Ended { process: *process })
    }

    /// Gives up the group: every other rank that waits for this one sees the reason.
    pub fn fail(&self, reason: &str) {
        let slot = self.segment.slot(self.rank);
        let bytes = &reason.as_bytes()[..reason.len().min(MAX_REASON)];
        for (cell, byte) in slot.reason.iter().zip(bytes) {
            cell.store(*byte, Ordering::Relaxed);
        }
        slot.reason_len.store(bytes.len() as u32, Ordering::Release);
        slot.state.store(RankState::Failed as u32, Ordering::Release);
    }

    /// Leaves the group. What was sent before can still be read.
    pub fn leave(&self) {
        let joined = RankState::Joined as u32;
        let state = &self.segment.slot(self.rank).state;
        // A reason that this rank has left stays.
        let _ = state.compare_exchange(joined, RankState::Left as u32, Ordering::AcqRel, Ordering::Acquire);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meeting::{Meeting, MeetingError};
    use std::time::Duration;

    const SOON: Duration = Duration::from_secs(20);

    /// Two ranks of this process.
    fn pair(name: &str) -> (Group, Group) {
        let meeting = Meeting::convene(name).unwrap();
        let key = meeting.key();
        let first = meeting.attend(0, 2, 0).unwrap();
        let second = Meeting::by_key(key).unwrap().attend(1, 2, 1).unwrap();
        (first.complete(SOON).unwrap(), second.complete(SOON).unwrap())
    }

    #[test]
    fn bytes_arrive_in_order_through_a_ring_that_is_shorter_than_they_are() {
        let (first, second) = pair("unit-order");
        let sent: Vec<u8> = (0..3_000_000_u32).map(|at| ((at * 31) >> 3) as u8).collect();
        let mut received = vec![0; sent.len()];
        let (mut written, mut read) = (0, 0);
        while read < sent.len() {
            let part = (sent.len() - written).min(700_001);
            // SAFETY: both slices have the bytes that the calls say.
            unsafe {
                written += first.outgoing(1).write(sent[written..].as_ptr(), part);
                read += second.incoming(0).read(received[read..].as_mut_ptr(), (sent.len() - read).min(300_007));
            }
        }
        assert_eq!(sent, received);
        assert_eq!((first.outgoing(1).read_by_peer(), second.incoming(0).available()), (sent.len() as u64, 0));
    }

    #[test]
    fn loss_has_its_reason() {
        let (first, second) = pair("unit-loss");
        assert_eq!(first.loss(1), None);
        second.fail("out of paper");
        assert_eq!(first.loss(1), Some(Loss::Failed("out of paper".to_owned())));
        drop(first);
        assert_eq!(second.loss(0), Some(Loss::Left));
    }

    #[test]
    fn ranks_that_disagree_are_refused() {
        let meeting = Meeting::convene("unit-refusals").unwrap();
        let key = meeting.key();
        let first = meeting.attend(0, 2, 0).unwrap();
        let again = |rank, ranks| Meeting::by_key(key).unwrap().attend(rank, ranks, 0).unwrap_err();
        assert!(matches!(again(1, 3), MeetingError::RankCount { ours: 3, theirs: 2 }));
        assert!(matches!(again(0, 2), MeetingError::RankTaken { rank: 0, .. }));
        assert!(matches!(again(2, 2), MeetingError::Rank { rank: 2, ranks: 2 }));
        let error = first.complete(Duration::ZERO).unwrap_err();
        assert!(matches!(&error, MeetingError::Timeout { missing, .. } if *missing == [1]), "{error}");
        let second = Meeting::by_key(key).map(|meeting| meeting.attend(1, 2, 0).unwrap().complete(SOON));
        // The file is gone with its only user, or the rank that gave up is seen.
        assert!(second.is_err() || second.is_ok_and(|group| group.is_err()));
    }
}
