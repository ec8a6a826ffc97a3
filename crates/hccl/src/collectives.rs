//! The collectives: arguments become a plan.

use crate::buffer::Buffer;
use crate::communicator::{Communicator, Handle, find};
use crate::failure::{Failure, HcclResult};
use crate::group_calls;
use crate::message::{Kind, Terms};
use crate::plan::{self, Local, Place, Plan, Share, Source, Target};
use crate::program;
use crate::reduction::Reduction;
use crate::runtime::{READ, Range, WRITE};
use crate::status::enter;
use crate::types::{Element, ReduceOp};
use std::ffi::c_void;
use std::sync::Arc;

/// A collective that was called.
struct Call {
    communicator: Arc<Communicator>,
    place: Place,
    kind: Kind,
    terms: Terms,
    element: Element,
}

impl Call {
    fn new(kind: Kind, comm: Handle, count: u64, data_type: i32) -> Result<Call, Failure> {
        let communicator = find(comm)?;
        let element = Element::from_c(data_type)?;
        let place = Place { rank: communicator.group.rank(), ranks: communicator.group.ranks() };
        let terms = Terms { count, element: element.to_c(), reduction: 0, root: 0 };
        Ok(Call { communicator, place, kind, terms, element })
    }

    fn reducing(&mut self, op: i32) -> Result<Reduction, Failure> {
        self.terms.reduction = op as u32 + 1;
        Reduction::new(self.element, ReduceOp::from_c(op)?)
    }

    fn rooted(&mut self, root: u32) -> Result<(), Failure> {
        if root >= self.place.ranks {
            return Err(Failure::Parameter(format!("root {root} is not a rank: there are {}", self.place.ranks)));
        }
        self.terms.root = root + 1;
        Ok(())
    }

    /// Bytes of `count` elements for every rank together.
    fn all_bytes(&self, bytes: usize) -> Result<usize, Failure> {
        let too_many = || Failure::Parameter(format!("{bytes} bytes for each rank do not fit into memory"));
        bytes.checked_mul(self.place.ranks as usize).filter(|all| *all <= isize::MAX as usize).ok_or_else(too_many)
    }

    /// Queues the collective. `make` gets its number.
    fn launch(
        self,
        stream: *mut c_void,
        ranges: &[Range],
        make: impl FnOnce(&Call, u64) -> Plan,
    ) -> Result<(), Failure> {
        let plan = make(&self, self.communicator.next_collective());
        let ranges: Vec<Range> = ranges.iter().filter(|range| range.size > 0).copied().collect();
        group_calls::launch(&self.communicator, plan, &ranges, self.kind.name(), stream)
    }

    /// A plan in which the rank sends and receives bytes without changing them.
    fn exchange(
        &self,
        call: u64,
        local: Local,
        send: impl Fn(u32) -> Option<(usize, usize)>,
        receive: impl Fn(u32) -> Option<(usize, usize)>,
    ) -> Plan {
        let source = |peer| send(peer).map(|(address, len)| Source { address, len, is_result: false });
        let target = |peer| receive(peer).map(|(address, len)| Target::Copy { address, len });
        let mut plan = plan::collective(
            self.kind,
            call,
            self.terms,
            self.place,
            |peer| source(peer).into_iter().collect(),
            |peer| target(peer).into_iter().collect(),
        );
        plan.local = vec![local];
        plan
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclAllReduce(
    send: *mut c_void,
    recv: *mut c_void,
    count: u64,
    data_type: i32,
    op: i32,
    comm: Handle,
    stream: *mut c_void,
) -> HcclResult {
    enter("HcclAllReduce", || {
        let mut call = Call::new(Kind::AllReduce, comm, count, data_type)?;
        let reduction = call.reducing(op)?;
        let len = call.element.bytes(count)?;
        let (from, to) = (Buffer::new(send, len, READ, "sendBuf")?, Buffer::new(recv, len, WRITE, "recvBuf")?);
        call.launch(stream, &[from.range, to.range], |call, number| {
            plan::all_reduce(number, call.terms, call.place, reduction, (from.view, to.view, len))
        })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclBroadcast(
    buffer: *mut c_void,
    count: u64,
    data_type: i32,
    root: u32,
    comm: Handle,
    stream: *mut c_void,
) -> HcclResult {
    enter("HcclBroadcast", || {
        let mut call = Call::new(Kind::Broadcast, comm, count, data_type)?;
        call.rooted(root)?;
        let len = call.element.bytes(count)?;
        let is_root = call.place.rank == root;
        let buffer = Buffer::new(buffer, len, if is_root { READ } else { WRITE }, "buf")?;
        call.launch(stream, &[buffer.range], |call, number| {
            let nothing = Local { source: 0, target: 0, len: 0 };
            let receive = |peer| (peer == root).then_some((buffer.view, len));
            let mut plan = call.exchange(number, nothing, |_| is_root.then_some((buffer.view, len)), receive);
            plan.local.clear();
            plan
        })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclReduce(
    send: *mut c_void,
    recv: *mut c_void,
    count: u64,
    data_type: i32,
    op: i32,
    root: u32,
    comm: Handle,
    stream: *mut c_void,
) -> HcclResult {
    enter("HcclReduce", || {
        let mut call = Call::new(Kind::Reduce, comm, count, data_type)?;
        let reduction = call.reducing(op)?;
        call.rooted(root)?;
        let len = call.element.bytes(count)?;
        let from = Buffer::new(send, len, READ, "sendBuf")?;
        // Only the root receives: the others may pass anything.
        let received = if call.place.rank == root { len } else { 0 };
        let to = Buffer::new(recv, received, WRITE, "recvBuf")?;
        call.launch(stream, &[from.range, to.range], |call, number| {
            let share = |rank| Share { offset: 0, len: if rank == root { len } else { 0 } };
            plan::reduce_to(call.kind, number, call.terms, call.place, reduction, (from.view, to.view), share)
        })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclAllGather(
    send: *mut c_void,
    recv: *mut c_void,
    count: u64,
    data_type: i32,
    comm: Handle,
    stream: *mut c_void,
) -> HcclResult {
    enter("HcclAllGather", || {
        let call = Call::new(Kind::AllGather, comm, count, data_type)?;
        let len = call.element.bytes(count)?;
        let from = Buffer::new(send, len, READ, "sendBuf")?;
        let to = Buffer::new(recv, call.all_bytes(len)?, WRITE, "recvBuf")?;
        call.launch(stream, &[from.range, to.range], |call, number| {
            let slot = |rank: u32| to.view + rank as usize * len;
            let local = Local { source: from.view, target: slot(call.place.rank), len };
            call.exchange(number, local, |_| Some((from.view, len)), |peer| Some((slot(peer), len)))
        })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclAllGatherV(
    send: *const c_void,
    send_count: u64,
    recv: *const c_void,
    recv_counts: *const c_void,
    displacements: *const c_void,
    data_type: i32,
    comm: Handle,
    stream: *mut c_void,
) -> HcclResult {
    enter("HcclAllGatherV", || {
        let call = Call::new(Kind::AllGatherV, comm, 0, data_type)?;
        let parts = Parts::read(&call, recv_counts, displacements, ["recvCounts", "rdispls"])?;
        let len = call.element.bytes(send_count)?;
        let own = parts.0[call.place.rank as usize];
        if own.len != len {
            let rank = call.place.rank;
            return Err(Failure::Parameter(format!("sendCount is {send_count}, but recvCounts[{rank}] differs")));
        }
        let from = Buffer::new(send, len, READ, "sendBuf")?;
        let to = Buffer::new(recv, parts.extent(), WRITE, "recvBuf")?;
        call.launch(stream, &[from.range, to.range], |call, number| {
            let local = Local { source: from.view, target: to.view + own.offset, len };
            call.exchange(number, local, |_| Some((from.view, len)), |peer| Some(parts.at(to.view, peer)))
        })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclReduceScatter(
    send: *mut c_void,
    recv: *mut c_void,
    count: u64,
    data_type: i32,
    op: i32,
    comm: Handle,
    stream: *mut c_void,
) -> HcclResult {
    enter("HcclReduceScatter", || {
        let mut call = Call::new(Kind::ReduceScatter, comm, count, data_type)?;
        let reduction = call.reducing(op)?;
        let len = call.element.bytes(count)?;
        let from = Buffer::new(send, call.all_bytes(len)?, READ, "sendBuf")?;
        let to = Buffer::new(recv, len, WRITE, "recvBuf")?;
        call.launch(stream, &[from.range, to.range], |call, number| {
            let share = |rank: u32| Share { offset: rank as usize * len, len };
            plan::reduce_to(call.kind, number, call.terms, call.place, reduction, (from.view, to.view), share)
        })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclReduceScatterV(
    send: *const c_void,
    send_counts: *const c_void,
    displacements: *const c_void,
    recv: *const c_void,
    recv_count: u64,
    data_type: i32,
    op: i32,
    comm: Handle,
    stream: *mut c_void,
) -> HcclResult {
    enter("HcclReduceScatterV", || {
        let mut call = Call::new(Kind::ReduceScatterV, comm, 0, data_type)?;
        let reduction = call.reducing(op)?;
        let parts = Parts::read(&call, send_counts, displacements, ["sendCounts", "sdispls"])?;
        let len = call.element.bytes(recv_count)?;
        if parts.0[call.place.rank as usize].len != len {
            let rank = call.place.rank;
            return Err(Failure::Parameter(format!("recvCount is {recv_count}, but sendCounts[{rank}] differs")));
        }
        let from = Buffer::new(send, parts.extent(), READ, "sendBuf")?;
        let to = Buffer::new(recv, len, WRITE, "recvBuf")?;
        call.launch(stream, &[from.range, to.range], |call, number| {
            let share = |rank: u32| parts.0[rank as usize];
            plan::reduce_to(call.kind, number, call.terms, call.place, reduction, (from.view, to.view), share)
        })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclScatter(
    send: *mut c_void,
    recv: *mut c_void,
    count: u64,
    data_type: i32,
    root: u32,
    comm: Handle,
    stream: *mut c_void,
) -> HcclResult {
    enter("HcclScatter", || {
        let mut call = Call::new(Kind::Scatter, comm, count, data_type)?;
        call.rooted(root)?;
        let len = call.element.bytes(count)?;
        let is_root = call.place.rank == root;
        // Only the root sends: the others may pass anything.
        let sent = if is_root { call.all_bytes(len)? } else { 0 };
        let from = Buffer::new(send, sent, READ, "sendBuf")?;
        let to = Buffer::new(recv, len, WRITE, "recvBuf")?;
        call.launch(stream, &[from.range, to.range], |call, number| {
            let slot = |rank: u32| from.view + rank as usize * len;
            let local = Local { source: slot(root), target: to.view, len: if is_root { len } else { 0 } };
            let receive = |peer| (peer == root).then_some((to.view, len));
            call.exchange(number, local, |peer| is_root.then(|| (slot(peer), len)), receive)
        })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclAlltoAll(
    send: *const c_void,
    send_count: u64,
    send_type: i32,
    recv: *const c_void,
    recv_count: u64,
    recv_type: i32,
    comm: Handle,
    stream: *mut c_void,
) -> HcclResult {
    enter("HcclAlltoAll", || {
        let call = Call::new(Kind::AllToAll, comm, send_count, send_type)?;
        check_types(send_type, recv_type)?;
        let len = call.element.bytes(send_count)?;
        if send_count != recv_count {
            return Err(Failure::Parameter(format!("sendCount is {send_count}, but recvCount is {recv_count}")));
        }
        let from = Buffer::new(send, call.all_bytes(len)?, READ, "sendBuf")?;
        let to = Buffer::new(recv, call.all_bytes(len)?, WRITE, "recvBuf")?;
        call.launch(stream, &[from.range, to.range], |call, number| {
            let slot = |base: usize, rank: u32| (base + rank as usize * len, len);
            let (source, target) = (slot(from.view, call.place.rank).0, slot(to.view, call.place.rank).0);
            let local = Local { source, target, len };
            call.exchange(number, local, |peer| Some(slot(from.view, peer)), |peer| Some(slot(to.view, peer)))
        })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclAlltoAllV(
    send: *const c_void,
    send_counts: *const c_void,
    send_displacements: *const c_void,
    send_type: i32,
    recv: *const c_void,
    recv_counts: *const c_void,
    recv_displacements: *const c_void,
    recv_type: i32,
    comm: Handle,
    stream: *mut c_void,
) -> HcclResult {
    enter("HcclAlltoAllV", || {
        let call = Call::new(Kind::AllToAllV, comm, 0, send_type)?;
        check_types(send_type, recv_type)?;
        let sent = Parts::read(&call, send_counts, send_displacements, ["sendCounts", "sdispls"])?;
        let received = Parts::read(&call, recv_counts, recv_displacements, ["recvCounts", "rdispls"])?;
        all_to_all(call, send, recv, sent, received, stream)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclAlltoAllVC(
    send: *const c_void,
    matrix: *const c_void,
    send_type: i32,
    recv: *const c_void,
    recv_type: i32,
    comm: Handle,
    stream: *mut c_void,
) -> HcclResult {
    enter("HcclAlltoAllVC", || {
        let call = Call::new(Kind::AllToAllVC, comm, 0, send_type)?;
        check_types(send_type, recv_type)?;
        let Place { rank, ranks } = call.place;
        let (rank, ranks) = (rank as usize, ranks as usize);
        let counts = program::read::<u64>(matrix.cast(), ranks * ranks, "sendCountMatrix")?;
        let sent = Parts::consecutive(&call, (0..ranks).map(|to| counts[rank * ranks + to]))?;
        let received = Parts::consecutive(&call, (0..ranks).map(|from| counts[from * ranks + rank]))?;
        all_to_all(call, send, recv, sent, received, stream)
    })
}

fn all_to_all(
    call: Call,
    send: *const c_void,
    recv: *const c_void,
    sent: Parts,
    received: Parts,
    stream: *mut c_void,
) -> Result<(), Failure> {
    let own = call.place.rank;
    let (ours, theirs) = (sent.0[own as usize].len, received.0[own as usize].len);
    if ours != theirs {
        return Err(Failure::Parameter(format!("rank {own} sends {ours} bytes to itself, but receives {theirs}")));
    }
    let from = Buffer::new(send, sent.extent(), READ, "sendBuf")?;
    let to = Buffer::new(recv, received.extent(), WRITE, "recvBuf")?;
    call.launch(stream, &[from.range, to.range], |call, number| {
        let local = Local { source: sent.at(from.view, own).0, target: received.at(to.view, own).0, len: ours };
        call.exchange(number, local, |peer| Some(sent.at(from.view, peer)), |peer| Some(received.at(to.view, peer)))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclBarrier(comm: Handle, stream: *mut c_void) -> HcclResult {
    enter("HcclBarrier", || {
        let call = Call::new(Kind::Barrier, comm, 0, 0)?;
        call.launch(stream, &[], |call, number| {
            plan::collective(call.kind, number, call.terms, call.place, |_| Vec::new(), |_| Vec::new())
        })
    })
}

fn check_types(send: i32, recv: i32) -> Result<(), Failure> {
    if send == recv { Ok(()) } else { Err(Failure::Parameter(format!("sendType is {send}, but recvType is {recv}"))) }
}

/// The parts of a buffer that belong to the ranks, from arrays of counts and displacements.
struct Parts(Vec<Share>);

impl Parts {
    fn read(
        call: &Call,
        counts: *const c_void,
        displacements: *const c_void,
        [count_name, displacement_name]: [&str; 2],
    ) -> Result<Parts, Failure> {
        let ranks = call.place.ranks as usize;
        let counts = program::read::<u64>(counts.cast(), ranks, count_name)?;
        let displacements = program::read::<u64>(displacements.cast(), ranks, displacement_name)?;
        let share = |(count, displacement): (u64, u64)| {
            Ok(Share { offset: call.element.bytes(displacement)?, len: call.element.bytes(count)? })
        };
        Ok(Parts(counts.into_iter().zip(displacements).map(share).collect::<Result<_, Failure>>()?))
    }

    /// Parts that follow each other.
    fn consecutive(call: &Call, counts: impl Iterator<Item = u64>) -> Result<Parts, Failure> {
        let mut offset = 0_usize;
        let mut shares = Vec::new();
        for count in counts {
            let len = call.element.bytes(count)?;
            shares.push(Share { offset, len });
            offset = offset.checked_add(len).ok_or_else(|| Failure::Parameter("the counts overflow".to_owned()))?;
        }
        Ok(Parts(shares))
    }

    /// Bytes from the beginning of the buffer to the end of the last part. Empty parts may lie anywhere.
    fn extent(&self) -> usize {
        self.0
            .iter()
            .filter(|share| share.len > 0)
            .map(|share| share.offset.saturating_add(share.len))
            .max()
            .unwrap_or(0)
    }

    /// The address and length of the part of a rank.
    fn at(&self, base: usize, rank: u32) -> (usize, usize) {
        let Share { offset, len } = self.0[rank as usize];
        (base.wrapping_add(offset), len)
    }
}
