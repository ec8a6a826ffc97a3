//! What the body of a case returns. `case` describes cases, `report` shows outcomes.

use super::interleave::Series;

/// Result of a case.
pub struct CaseOutcome {
    pub series: Vec<Series>,
    /// Bytes that one unit of work copies; 0 if it copies none.
    pub unit_bytes: usize,
    /// Bytes that were verified afterwards.
    pub verified_bytes: usize,
    /// Remarks, for example why a reference was not measured.
    pub notes: Vec<String>,
}
