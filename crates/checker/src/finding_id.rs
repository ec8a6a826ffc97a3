//! Ids of the kinds of findings. `report::finding_kind` describes them.

use std::fmt;

/// Id of a kind of finding. `report::finding_kind` says what each one means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FindingId {
    H1,
    H2,
    H3,
    S1,
    S2,
    S3,
    L1,
    L2,
    L3,
    L4,
    C1,
    C2,
    C3,
    K1,
    P1,
    B1,
    B2,
    B3,
    B4,
    B5,
    A1,
    A2,
    M1,
    M2,
    U1,
    O1,
    D1,
    R1,
    W1,
    W2,
    I1,
}

impl fmt::Display for FindingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
