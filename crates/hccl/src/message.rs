//! Messages: everything that a rank sends to another in one operator, after a header that says what it does. A rank that
//! receives a header compares it with what it does itself, so ranks that disagree learn it from the first byte.

use crate::types::Element;

/// Length of a header. A multiple of every size of an element, so that elements stay aligned in a ring.
pub const HEADER: usize = 64;

/// Which operator a message belongs to. Both sides count in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageId {
    pub kind: Kind,
    /// Number of the call among those of its kind: collectives of the communicator, or sends from one rank to another.
    pub call: u64,
    /// Number of the run: a captured operator runs as often as its graph.
    pub run: u64,
}

/// Operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    AllReduce = 1,
    AllGather,
    AllGatherV,
    ReduceScatter,
    ReduceScatterV,
    Broadcast,
    Reduce,
    Scatter,
    AllToAll,
    AllToAllV,
    AllToAllVC,
    Barrier,
    /// A send, alone or in a batch or group.
    Send,
}

impl Kind {
    const ALL: [Kind; 13] = [
        Kind::AllReduce,
        Kind::AllGather,
        Kind::AllGatherV,
        Kind::ReduceScatter,
        Kind::ReduceScatterV,
        Kind::Broadcast,
        Kind::Reduce,
        Kind::Scatter,
        Kind::AllToAll,
        Kind::AllToAllV,
        Kind::AllToAllVC,
        Kind::Barrier,
        Kind::Send,
    ];

    /// Name of the function.
    pub fn name(self) -> &'static str {
        match self {
            Kind::AllReduce => "HcclAllReduce",
            Kind::AllGather => "HcclAllGather",
            Kind::AllGatherV => "HcclAllGatherV",
            Kind::ReduceScatter => "HcclReduceScatter",
            Kind::ReduceScatterV => "HcclReduceScatterV",
            Kind::Broadcast => "HcclBroadcast",
            Kind::Reduce => "HcclReduce",
            Kind::Scatter => "HcclScatter",
            Kind::AllToAll => "HcclAlltoAll",
            Kind::AllToAllV => "HcclAlltoAllV",
            Kind::AllToAllVC => "HcclAlltoAllVC",
            Kind::Barrier => "HcclBarrier",
            Kind::Send => "HcclSend",
        }
    }
}

/// What all ranks must agree on in one operator. What does not apply is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    pub count: u64,
    pub element: u32,
    /// The reduction plus one.
    pub reduction: u32,
    /// The root plus one.
    pub root: u32,
}

/// The header of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub id: MessageId,
    pub terms: Terms,
    /// Bytes after the header.
    pub len: u64,
}

impl Header {
    pub fn to_bytes(self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        let kind = u64::from(self.id.kind as u32);
        let root_and_reduction = u64::from(self.terms.root) << 32 | u64::from(self.terms.reduction);
        let words = [
            kind,
            self.id.call,
            self.id.run,
            self.terms.count,
            u64::from(self.terms.element),
            root_and_reduction,
            self.len,
        ];
        for (cell, word) in bytes.chunks_exact_mut(8).zip(words) {
            cell.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// `None` if these are not the bytes of a header.
    pub fn from_bytes(bytes: &[u8; HEADER]) -> Option<Header> {
        let (words, _) = bytes.as_chunks::<8>();
        let [kind, call, run, count, element, packed, len, _] =
            <[u64; 8]>::try_from(words.iter().map(|word| u64::from_le_bytes(*word)).collect::<Vec<_>>()).ok()?;
        let kind = *Kind::ALL.iter().find(|known| u64::from(**known as u32) == kind)?;
        Some(Header {
            id: MessageId { kind, call, run },
            terms: Terms { count, element: element as u32, reduction: packed as u32, root: (packed >> 32) as u32 },
            len,
        })
    }

    /// True if a message can belong to the same operator as this one: collectives are numbered together, and so are
    /// sends.
    pub fn is_same_operator(&self, other: &Header) -> bool {
        (self.id.kind == Kind::Send) == (other.id.kind == Kind::Send)
            && (self.id.call, self.id.run) == (other.id.call, other.id.run)
    }

    /// The operator in words, for example "HcclAllReduce of 8 fp32 (sum)".
    pub fn describe(&self) -> String {
        let Terms { count, element, reduction, root } = self.terms;
        let mut text = self.id.kind.name().to_owned();
        if let Ok(element) = Element::from_c(element as i32).as_ref()
            && self.id.kind != Kind::Barrier
        {
            text += &match self.id.kind {
                Kind::AllGatherV | Kind::ReduceScatterV | Kind::AllToAllV | Kind::AllToAllVC => {
                    format!(" of {} ({} bytes to the other rank)", element.name(), self.len)
                }
                _ => format!(" of {count} {}", element.name()),
            };
        }
        if let Some(op) = reduction.checked_sub(1) {
            text += &crate::types::ReduceOp::from_c(op as i32).map_or(String::new(), |op| format!(" ({})", op.name()));
        }
        if let Some(root) = root.checked_sub(1) {
            text += &format!(" with root {root}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_survive_the_channel() {
        let header = Header {
            id: MessageId { kind: Kind::Reduce, call: 7, run: 1 << 40 },
            terms: Terms { count: 9, element: 4, reduction: 3, root: 2 },
            len: u64::MAX,
        };
        assert_eq!(Header::from_bytes(&header.to_bytes()), Some(header));
        assert_eq!(header.describe(), "HcclReduce of 9 fp32 (max) with root 1");
        assert_eq!(Header::from_bytes(&[0; HEADER]), None);
        assert!(Kind::ALL.iter().enumerate().all(|(at, kind)| *kind as usize == at + 1));
    }
}
