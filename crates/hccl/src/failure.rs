//! Why calls fail: one variant per code, with its sentence.

use softacl_carrier::meeting::MeetingError;
use std::fmt;

/// `HcclResult`.
pub type HcclResult = i32;

pub const SUCCESS: HcclResult = 0;
/// A communicator that waits for a peer that does not answer.
pub const REMOTE: HcclResult = 21;

/// Why a call failed.
#[derive(Debug, Clone)]
pub enum Failure {
    /// A required pointer is NULL, or does not lead to readable memory.
    Pointer(String),
    Parameter(String),
    Internal(String),
    Unsupported(String),
    NotFound(String),
    Timeout(String),
    File(String),
    /// An operator of the communicator runs.
    Again(String),
    /// A function of the runtime failed.
    Runtime(String),
    /// Another rank is gone, or disagrees.
    Remote(String),
}

impl Failure {
    pub fn null(name: &str) -> Failure {
        Failure::Pointer(format!("{name} is NULL"))
    }

    pub fn code(&self) -> HcclResult {
        match self {
            Failure::Parameter(_) => 1,
            Failure::Pointer(_) => 2,
            Failure::Internal(_) => 4,
            Failure::Unsupported(_) => 5,
            Failure::NotFound(_) => 6,
            Failure::Timeout(_) => 9,
            Failure::File(_) => 10,
            Failure::Runtime(_) => 15,
            Failure::Again(_) => 20,
            Failure::Remote(_) => REMOTE,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Failure::Pointer(text)
        | Failure::Parameter(text)
        | Failure::Internal(text)
        | Failure::Unsupported(text)
        | Failure::NotFound(text)
        | Failure::Timeout(text)
        | Failure::File(text)
        | Failure::Again(text)
        | Failure::Runtime(text)
        | Failure::Remote(text)) = self;
        f.write_str(text)
    }
}

impl From<MeetingError> for Failure {
    fn from(error: MeetingError) -> Failure {
        let text = error.to_string();
        match error {
            MeetingError::Gone(_) => Failure::NotFound(text),
            MeetingError::System(_) => Failure::Internal(text),
            MeetingError::RankCount { .. } | MeetingError::RankTaken { .. } | MeetingError::Rank { .. } => {
                Failure::Parameter(text)
            }
            MeetingError::Timeout { .. } | MeetingError::NotConvened { .. } => Failure::Timeout(text),
            MeetingError::Lost { .. } => Failure::Remote(text),
        }
    }
}
