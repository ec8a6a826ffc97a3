//! Plans: what one rank sends and receives in an operator. A plan has no state; `run` executes it.
//!
//! Every rank of a collective exchanges a message with every other, even if it has no bytes for it: the header alone shows
//! that both do the same. Bytes are reduced in the order of the ranks, ((x0 + x1) + x2) + ..., for every element, whatever
//! its position and however many there are; so a result does not depend on the size of a buffer, nor on timing.

use crate::message::{Kind, Terms};
use crate::reduction::Reduction;

/// Bytes up to which an all-reduce takes one round, in which everyone reduces everything. Measured with 2 ranks: above
/// this, reducing a share each and collecting the results is faster.
pub const ONE_ROUND: usize = 32 << 10;

/// What a rank sends and receives.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Copies inside the rank, made before anything else.
    pub local: Vec<Local>,
    pub messages: Vec<Exchange>,
    pub reduce: Option<Reduce>,
}

/// A copy inside a rank, between addresses of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Local {
    pub source: usize,
    pub target: usize,
    pub len: usize,
}

/// What a rank exchanges with another one.
#[derive(Debug, Clone)]
pub struct Exchange {
    pub peer: u32,
    pub send: Option<Message<Source>>,
    pub receive: Option<Message<Target>>,
}

/// One message: the operator that it belongs to, and its bytes, part by part.
#[derive(Debug, Clone)]
pub struct Message<P> {
    pub kind: Kind,
    pub call: u64,
    pub terms: Terms,
    pub parts: Vec<P>,
    /// True if the sender waits until the receiver has begun to receive.
    pub is_synchronous: bool,
}

/// Bytes to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    pub address: usize,
    pub len: usize,
    /// True if the bytes are results: only those that this rank has reduced can be sent.
    pub is_result: bool,
}

/// Where received bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Copy {
        address: usize,
        len: usize,
    },
    /// An operand of the reduction.
    Operand {
        len: usize,
    },
}

impl Target {
    pub fn len(&self) -> usize {
        match self {
            Target::Copy { len, .. } | Target::Operand { len } => *len,
        }
    }
}

/// The reduction of one operand of every rank. The first part of every received message is the operand of its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reduce {
    pub reduction: Reduction,
    /// The operand of this rank.
    pub own: usize,
    pub target: usize,
    pub len: usize,
    /// True if results overwrite what this rank has to send.
    pub waits_for_sends: bool,
}

/// The place of a rank.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    pub rank: u32,
    pub ranks: u32,
}

impl Place {
    fn peers(self) -> impl Iterator<Item = u32> {
        // Starting behind the own rank, so that not all ranks send to rank 0 first.
        (1..self.ranks).map(move |distance| (self.rank + distance) % self.ranks)
    }
}

/// Addresses and length of one share of a buffer.
#[derive(Debug, Clone, Copy)]
pub struct Share {
    pub offset: usize,
    pub len: usize,
}

/// A collective in which the rank sends some bytes to every other, and receives some.
pub fn collective(
    kind: Kind,
    call: u64,
    terms: Terms,
    place: Place,
    send: impl Fn(u32) -> Vec<Source>,
    receive: impl Fn(u32) -> Vec<Target>,
) -> Plan {
    let message = |peer| Exchange {
        peer,
        send: Some(Message { kind, call, terms, parts: send(peer), is_synchronous: false }),
        receive: Some(Message { kind, call, terms, parts: receive(peer), is_synchronous: false }),
    };
    Plan { messages: place.peers().map(message).collect(), ..Plan::default() }
}

/// Plan of an all-reduce.
pub fn all_reduce(
    call: u64,
    terms: Terms,
    place: Place,
    reduction: Reduction,
    (source, target, len): (usize, usize, usize),
) -> Plan {
    let Place { rank, ranks } = place;
    if ranks == 1 {
        return Plan { local: vec![Local { source, target, len }], ..Plan::default() };
    }
    let share = |rank: u32| share_of(rank, ranks, len, reduction.element.size());
    let operand = |share: Share| Source { address: source + share.offset, len: share.len, is_result: false };
    if len <= ONE_ROUND {
        let whole = Share { offset: 0, len };
        let mut plan = collective(
            Kind::AllReduce,
            call,
            terms,
            place,
            |_| vec![operand(whole)],
            |_| vec![Target::Operand { len }],
        );
        plan.reduce = Some(Reduce { reduction, own: source, target, len, waits_for_sends: true });
        return plan;
    }
    let own = share(rank);
    let mut plan = collective(
        Kind::AllReduce,
        call,
        terms,
        place,
        |peer| vec![operand(share(peer)), Source { address: target + own.offset, len: own.len, is_result: true }],
        |peer| {
            let Share { offset, len } = share(peer);
            vec![Target::Operand { len: own.len }, Target::Copy { address: target + offset, len }]
        },
    );
    plan.reduce = Some(Reduce {
        reduction,
        own: source + own.offset,
        target: target + own.offset,
        len: own.len,
        waits_for_sends: false,
    });
    plan
}

/// Plan of a reduction whose result, or a share of it, is for some ranks: `share` is what a rank gets.
pub fn reduce_to(
    kind: Kind,
    call: u64,
    terms: Terms,
    place: Place,
    reduction: Reduction,
    (source, target): (usize, usize),
    share: impl Fn(u32) -> Share,
) -> Plan {
    let own = share(place.rank);
    if place.ranks == 1 {
        let local = Local { source: source + own.offset, target, len: own.len };
        return Plan { local: vec![local], ..Plan::default() };
    }
    let operand = |share: Share| Source { address: source + share.offset, len: share.len, is_result: false };
    let operands = |len| vec![Target::Operand { len }];
    let mut plan = collective(kind, call, terms, place, |peer| vec![operand(share(peer))], |_| operands(own.len));
    plan.reduce = Some(Reduce {
        reduction,
        own: source + own.offset,
        target,
        len: own.len,
        // The result may lie where operands for other ranks are.
        waits_for_sends: target != source + own.offset && overlaps(place, source, target, own.len, &share),
    });
    plan
}

fn overlaps(place: Place, source: usize, target: usize, len: usize, share: &impl Fn(u32) -> Share) -> bool {
    place.peers().map(share).any(|other| {
        let start = source + other.offset;
        start < target + len && target < start + other.len
    })
}

/// The share of a rank in a buffer that is divided evenly, in whole elements.
fn share_of(rank: u32, ranks: u32, len: usize, size: usize) -> Share {
    let count = len / size;
    let at = |rank: u32| count * rank as usize / ranks as usize * size;
    Share { offset: at(rank), len: at(rank + 1) - at(rank) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cover_a_buffer() {
        for (ranks, len, size) in [(3, 100, 4), (8, 24, 8), (5, 0, 2), (7, 6, 2)] {
            let mut end = 0;
            for rank in 0..ranks {
                let share = share_of(rank, ranks, len, size);
                assert_eq!((share.offset, share.len % size), (end, 0));
                end += share.len;
            }
            assert_eq!(end, len);
        }
    }
}
