//! Meetings: how the ranks of a group find each other.
//!
//! A rank convenes the group and the others attend: by a key that the program carries to them, or by a name that they look
//! for in the processes of the user. A meeting has two parts, so that one thread can attend for several ranks: `attend`
//! takes the place of a rank and does not wait, `Attendance::complete` waits for the others.

use crate::group::{Group, RankState};
use crate::life::Life;
pub use crate::segment::SegmentKey;
use crate::segment::{MAX_RANKS, Segment};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use std::{fmt, fs, io, thread};

/// How often a rank looks for those that it waits for.
const LOOK_INTERVAL: Duration = Duration::from_micros(500);

/// Why a group did not come about.
#[derive(Debug)]
pub enum MeetingError {
    /// The group is not there: its convener has ended, or the key is not the key of a group.
    Gone(io::Error),
    System(io::Error),
    RankCount {
        ours: u32,
        theirs: u32,
    },
    RankTaken {
        rank: u32,
        process: u32,
    },
    /// The number of ranks is not possible, or the rank is not below it.
    Rank {
        rank: u32,
        ranks: u32,
    },
    Timeout {
        waited: Duration,
        missing: Vec<u32>,
    },
    NotConvened {
        waited: Duration,
    },
    Lost {
        rank: u32,
        process: u32,
    },
}

impl fmt::Display for MeetingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MeetingError::Gone(error) => write!(f, "no process of this user offers the group (anymore): {error}"),
            MeetingError::System(error) => write!(f, "no shared memory for the group: {error}"),
            MeetingError::RankCount { ours, theirs } => {
                write!(f, "this rank joins a group of {ours} ranks, another one joined it as a group of {theirs}")
            }
            MeetingError::RankTaken { rank, process } => {
                write!(f, "rank {rank} has already joined, in process {process}")
            }
            MeetingError::Rank { rank, ranks } => {
                write!(f, "rank {rank} of {ranks} does not exist; a group has 1 to {MAX_RANKS} ranks")
            }
            MeetingError::Timeout { waited, missing } => {
                let ranks: Vec<String> = missing.iter().map(u32::to_string).collect();
                write!(f, "after {} s, these ranks have not joined: {}", waited.as_secs(), ranks.join(", "))
            }
            MeetingError::NotConvened { waited } => {
                write!(f, "after {} s, rank 0 has not begun the group", waited.as_secs())
            }
            MeetingError::Lost { rank, process } => write!(f, "rank {rank} has ended (process {process})"),
        }
    }
}

/// A group that ranks can join. The process that convened it keeps it until its own ranks have joined.
#[derive(Debug)]
pub struct Meeting(Segment);

impl Meeting {
    /// Begins a new group. `name` lets other ranks find it, if they do not have the key.
    pub fn convene(name: &str) -> Result<Meeting, MeetingError> {
        Segment::create(name).map(Meeting).map_err(MeetingError::System)
    }

    /// Opens a group by its key.
    pub fn by_key(key: SegmentKey) -> Result<Meeting, MeetingError> {
        Segment::open(key).map(Meeting).map_err(MeetingError::Gone)
    }

    /// Looks for a group by its name, in one process or in all processes of the user, until it exists.
    pub fn by_name(name: &str, process: Option<u32>, timeout: Duration) -> Result<Meeting, MeetingError> {
        let begin = Instant::now();
        let life = process.map(Life::of);
        loop {
            // Asked before the look, so that a group that was begun in between is found.
            let has_ended = life.as_ref().is_some_and(Life::has_ended);
            let found = match process {
                Some(process) => Segment::find(process, name),
                None => processes().into_iter().find_map(|process| Segment::find(process, name)),
            };
            if let Some(segment) = found {
                return Ok(Meeting(segment));
            }
            if has_ended {
                return Err(MeetingError::Gone(io::Error::from(io::ErrorKind::NotFound)));
            }
            if begin.elapsed() >= timeout {
                return Err(MeetingError::NotConvened { waited: timeout });
            }
            thread::sleep(LOOK_INTERVAL);
        }
    }

    pub fn key(&self) -> SegmentKey {
        self.0.key
    }

    /// Takes the place of a rank. Does not wait for the others.
    pub fn attend(mut self, rank: u32, ranks: u32, device: u32) -> Result<Attendance, MeetingError> {
        if rank >= ranks || ranks > MAX_RANKS {
            return Err(MeetingError::Rank { rank, ranks });
        }
        let agreed = self.0.head().ranks.compare_exchange(0, ranks, Ordering::AcqRel, Ordering::Acquire);
        if let Err(theirs) = agreed.or_else(|found| if found == ranks { Ok(found) } else { Err(found) }) {
            return Err(MeetingError::RankCount { ours: ranks, theirs });
        }
        self.0.grow(ranks).map_err(MeetingError::System)?;
        let slot = self.0.slot(rank);
        let process = std::process::id();
        let taken = slot.process.compare_exchange(0, process, Ordering::AcqRel, Ordering::Acquire);
        if let Err(process) = taken {
            return Err(MeetingError::RankTaken { rank, process });
        }
        slot.device.store(device, Ordering::Relaxed);
        slot.state.store(RankState::Joined as u32, Ordering::Release);
        Ok(Attendance { segment: Some(Arc::new(self.0)), rank, ranks })
    }
}

/// The place of a rank in a group that is not complete.
#[derive(Debug)]
pub struct Attendance {
    /// `None` only after `complete`.
    segment: Option<Arc<Segment>>,
    rank: u32,
    ranks: u32,
}

impl Attendance {
    /// A number that only this group has.
    pub fn nonce(&self) -> u64 {
        self.segment.as_ref().map_or(0, |segment| segment.key.nonce)
    }

    /// Waits until all ranks have joined.
    pub fn complete(mut self, timeout: Duration) -> Result<Group, MeetingError> {
        let begin = Instant::now();
        let mut lives: Vec<Option<Life>> = (0..self.ranks).map(|_| None).collect();
        let Some(segment) = self.segment.as_ref().map(Arc::clone) else { unreachable!("taken once, below") };
        loop {
            let state = |rank: &u32| RankState::of(segment.slot(*rank).state.load(Ordering::Acquire));
            let missing: Vec<u32> = (0..self.ranks).filter(|rank| state(rank) == RankState::Absent).collect();
            if missing.is_empty() {
                self.segment = None;
                return Ok(Group::new(segment, self.rank, self.ranks));
            }
            // A rank that gave up waiting, or whose process has ended, will not come back.
            let gone = (0..self.ranks).find(|rank| match state(rank) {
                RankState::Absent => false,
                RankState::Joined => {
                    let process = segment.slot(*rank).process.load(Ordering::Relaxed);
                    lives[*rank as usize].get_or_insert_with(|| Life::of(process)).has_ended()
                }
                RankState::Left | RankState::Failed => true,
            });
            if let Some(rank) = gone {
                let process = segment.slot(rank).process.load(Ordering::Relaxed);
                return Err(MeetingError::Lost { rank, process });
            }
            if begin.elapsed() >= timeout {
                return Err(MeetingError::Timeout { waited: timeout, missing });
            }
            thread::sleep(LOOK_INTERVAL);
        }
    }
}

impl Drop for Attendance {
    fn drop(&mut self) {
        if let Some(segment) = &self.segment {
            segment.slot(self.rank).state.store(RankState::Left as u32, Ordering::Release);
        }
    }
}

/// All processes, the newest first: the one that is looked for was started last.
fn processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut all: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    all.sort_unstable_by(|a, b| b.cmp(a));
    all
}
