//! Random collectives, and what they must produce. All ranks draw the same ones.

use crate::api::*;
use crate::data::{MOVED, REDUCED, Random, operand, reduce, size_of};
use crate::job::Rank;

/// Elements per rank. The last ones exceed what fits into a channel.
const COUNTS: [usize; 9] = [0, 1, 3, 17, 1000, 8192, 8193, 60_000, 300_001];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    AllReduce,
    Broadcast,
    Reduce,
    AllGather,
    AllGatherV,
    ReduceScatter,
    ReduceScatterV,
    Scatter,
    AllToAll,
    AllToAllV,
    AllToAllVC,
    Barrier,
    Ring,
}

const KINDS: [Kind; 13] = [
    Kind::AllReduce,
    Kind::Broadcast,
    Kind::Reduce,
    Kind::AllGather,
    Kind::AllGatherV,
    Kind::ReduceScatter,
    Kind::ReduceScatterV,
    Kind::Scatter,
    Kind::AllToAll,
    Kind::AllToAllV,
    Kind::AllToAllVC,
    Kind::Barrier,
    Kind::Ring,
];

pub const KIND_COUNT: u64 = KINDS.len() as u64;

/// One collective, the same for all ranks.
#[derive(Debug, Clone, Copy)]
pub struct Collective {
    kind: Kind,
    element: i32,
    op: i32,
    count: usize,
    root: u32,
    is_in_place: bool,
    salt: u64,
}

impl Collective {
    /// The collective with a number: every kind, type and count has its turn.
    pub fn draw(number: u64, ranks: u32, random: &mut Random) -> Collective {
        let kind = KINDS[(number % KINDS.len() as u64) as usize];
        let is_reduction = matches!(kind, Kind::AllReduce | Kind::Reduce | Kind::ReduceScatter | Kind::ReduceScatterV);
        let element = match is_reduction {
            true => REDUCED[random.below(REDUCED.len() as u64) as usize],
            false => MOVED[random.below(MOVED.len() as u64) as usize],
        };
        Collective {
            kind,
            element,
            op: random.below(4) as i32,
            count: COUNTS[random.below(COUNTS.len() as u64) as usize],
            root: random.below(ranks.into()) as u32,
            is_in_place: random.below(2) == 0,
            salt: random.next(),
        }
    }

    /// Collectives whose longest buffer has `bytes` bytes.
    pub fn large(bytes: usize, ranks: u32, is_in_place: bool) -> [Collective; 3] {
        let share = bytes / ranks as usize;
        [(Kind::AllReduce, bytes), (Kind::AllGather, share), (Kind::ReduceScatter, share)].map(|(kind, bytes)| {
            Collective { kind, element: 4, op: 0, count: bytes / 4, root: 0, is_in_place, salt: 99 }
        })
    }

    /// A collective of a kind whose messages do not fit into a channel, and which no rank can finish without the others.
    pub fn of_kind(kind: u64) -> Collective {
        let kind = KINDS[(kind % KIND_COUNT) as usize];
        Collective { kind, element: 4, op: 0, count: 300_000, root: 0, is_in_place: false, salt: 98 }
    }

    /// Elements that `from` sends to `to`, where that differs from pair to pair.
    fn varied(&self, from: u32, to: u32) -> usize {
        self.count / 4 * ((from * 3 + to) as usize % 4)
    }

    /// Elements of the operand of a rank.
    fn operand_count(&self, rank: u32, ranks: u32) -> usize {
        let all = ranks as usize;
        match self.kind {
            Kind::AllReduce | Kind::Broadcast | Kind::Reduce | Kind::AllGather | Kind::Ring => self.count,
            Kind::AllGatherV => self.varied(rank, 0),
            Kind::ReduceScatter | Kind::Scatter | Kind::AllToAll => self.count * all,
            Kind::ReduceScatterV => (0..ranks).map(|to| self.varied(to, 0)).sum(),
            Kind::AllToAllV | Kind::AllToAllVC => (0..ranks).map(|to| self.varied(rank, to)).sum(),
            Kind::Barrier => 0,
        }
    }

    fn input(&self, rank: u32, ranks: u32) -> Vec<u8> {
        operand(self.element, self.operand_count(rank, ranks), rank, self.salt)
    }

    /// What a rank has received. `None` where the API leaves it open.
    fn output(&self, rank: u32, ranks: u32) -> Option<Vec<u8>> {
        let inputs: Vec<Vec<u8>> = (0..ranks).map(|rank| self.input(rank, ranks)).collect();
        let size = size_of(self.element);
        let len = self.count * size;
        let part = |bytes: &[u8], start: usize, count: usize| bytes[start * size..(start + count) * size].to_vec();
        let reduced = || reduce(self.element, self.op, &inputs);
        let before = |rank: u32, count: &dyn Fn(u32) -> usize| (0..rank).map(count).sum::<usize>();
        Some(match self.kind {
            Kind::AllReduce => reduced(),
            Kind::Reduce if rank == self.root => reduced(),
            Kind::Reduce | Kind::Barrier => return None,
            Kind::Broadcast => inputs[self.root as usize].clone(),
            Kind::AllGather | Kind::AllGatherV => inputs.concat(),
            Kind::ReduceScatter => part(&reduced(), rank as usize * self.count, self.count),
            Kind::ReduceScatterV => part(&reduced(), before(rank, &|to| self.varied(to, 0)), self.varied(rank, 0)),
            Kind::Scatter => part(&inputs[self.root as usize], rank as usize * self.count, self.count),
            Kind::AllToAll => inputs.iter().flat_map(|input| input[rank as usize * len..][..len].to_vec()).collect(),
            Kind::AllToAllV | Kind::AllToAllVC => (0..ranks)
                .flat_map(|from| {
                    let start = before(rank, &|to| self.varied(from, to));
                    part(&inputs[from as usize], start, self.varied(from, rank))
                })
                .collect(),
            Kind::Ring => inputs[((rank + ranks - 1) % ranks) as usize].clone(),
        })
    }

    /// Queues the collective for a rank.
    pub fn submit(self, rank: &Rank, stream: &Stream) -> Submitted {
        let Rank { rank: own, ranks, comm, .. } = *rank;
        let input = self.input(own, ranks);
        let expected = self.output(own, ranks);
        let size = size_of(self.element);
        let (count, kind, op, root) = (self.count as u64, self.element, self.op, self.root);
        let len = self.count * size;
        // Where the rank's own slot is, if it sends and receives in one buffer.
        let slot = match self.kind {
            Kind::AllGather => Some(own as usize * len),
            _ => None,
        };
        let in_place = self.is_in_place
            && matches!(self.kind, Kind::AllReduce | Kind::Reduce | Kind::AllGather | Kind::ReduceScatter);
        let output_len = expected.as_ref().map_or(0, Vec::len);
        let (send, recv) = match (in_place, slot) {
            (true, Some(slot)) => {
                let mut bytes = vec![0xa5; output_len];
                bytes[slot..slot + input.len()].copy_from_slice(&input);
                (None, Buffer::new(&bytes))
            }
            (true, None) => (None, Buffer::new(&input)),
            (false, _) if self.kind == Kind::Broadcast && own == root => (None, Buffer::new(&input)),
            (false, _) => (Some(Buffer::new(&input)), Buffer::new(&vec![0xa5; output_len])),
        };
        let from = send.as_ref().map_or(recv.at(slot.unwrap_or(0)), |send| send.pointer);
        // A reduce-scatter in place puts the result at the rank's own slot of the operand.
        let result_at = if in_place && self.kind == Kind::ReduceScatter { own as usize * len } else { 0 };
        let to = recv.at(result_at);
        let counts = |of: &dyn Fn(u32) -> usize| -> (Vec<u64>, Vec<u64>) {
            let counts: Vec<u64> = (0..ranks).map(|rank| of(rank) as u64).collect();
            let starts = counts.iter().scan(0, |sum, count| {
                let start = *sum;
                *sum += count;
                Some(start)
            });
            let starts = starts.collect();
            (counts, starts)
        };
        let s = stream.0;
        // SAFETY: the buffers have the lengths that the counts say and live until the stream was waited for; the arrays
        // live during the calls.
        let code = unsafe {
            match self.kind {
                Kind::AllReduce => HcclAllReduce(from, to, count, kind, op, comm, s),
                Kind::Broadcast => HcclBroadcast(recv.pointer, count, kind, root, comm, s),
                Kind::Reduce => HcclReduce(from, to, count, kind, op, root, comm, s),
                Kind::AllGather => HcclAllGather(from, recv.pointer, count, kind, comm, s),
                Kind::AllGatherV => {
                    let (counts, starts) = counts(&|rank| self.varied(rank, 0));
                    let (counts_at, starts_at) = (counts.as_ptr().cast(), starts.as_ptr().cast());
                    HcclAllGatherV(from, counts[own as usize], to, counts_at, starts_at, kind, comm, s)
                }
                Kind::ReduceScatter => HcclReduceScatter(from, to, count, kind, op, comm, s),
                Kind::ReduceScatterV => {
                    let (counts, starts) = counts(&|rank| self.varied(rank, 0));
                    let (counts_at, starts_at) = (counts.as_ptr().cast(), starts.as_ptr().cast());
                    HcclReduceScatterV(from, counts_at, starts_at, to, counts[own as usize], kind, op, comm, s)
                }
                Kind::Scatter => HcclScatter(from, to, count, kind, root, comm, s),
                Kind::AllToAll => HcclAlltoAll(from, count, kind, to, count, kind, comm, s),
                Kind::AllToAllV => {
                    let (sent, send_at) = counts(&|to| self.varied(own, to));
                    let (received, recv_at) = counts(&|from| self.varied(from, own));
                    HcclAlltoAllV(
                        from,
                        sent.as_ptr().cast(),
                        send_at.as_ptr().cast(),
                        kind,
                        to,
                        received.as_ptr().cast(),
                        recv_at.as_ptr().cast(),
                        kind,
                        comm,
                        s,
                    )
                }
                Kind::AllToAllVC => {
                    let pairs = (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to)));
                    let matrix: Vec<u64> = pairs.map(|(from, to)| self.varied(from, to) as u64).collect();
                    HcclAlltoAllVC(from, matrix.as_ptr().cast(), kind, to, kind, comm, s)
                }
                Kind::Barrier => HcclBarrier(comm, s),
                Kind::Ring => {
                    check(HcclGroupStart());
                    check(HcclSend(from, count, kind, (own + 1) % ranks, comm, s));
                    check(HcclRecv(to, count, kind, (own + ranks - 1) % ranks, comm, s));
                    HcclGroupEnd()
                }
            }
        };
        assert_eq!(code, 0, "rank {own} of {ranks}: {self:?}: {}", last_message());
        Submitted { collective: self, expected, result_at, recv, _send: send }
    }
}

/// A collective in flight.
pub struct Submitted {
    collective: Collective,
    expected: Option<Vec<u8>>,
    result_at: usize,
    recv: Buffer,
    _send: Option<Buffer>,
}

impl Submitted {
    /// Compares the result with the model.
    pub fn verify(&self, rank: &Rank) {
        let Some(expected) = &self.expected else { return };
        let got = self.recv.bytes();
        let got = &got[self.result_at..self.result_at + expected.len()];
        if got != expected {
            let at = got.iter().zip(expected).position(|(a, b)| a != b).unwrap();
            panic!("rank {}: {:?}: byte {at} is {:#x}, not {:#x}", rank.rank, self.collective, got[at], expected[at]);
        }
    }
}
