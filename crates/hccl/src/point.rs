//! A send or a receive, and the plan of several that do not block each other.

use crate::buffer::Buffer;
use crate::communicator::Communicator;
use crate::failure::Failure;
use crate::message::{Kind, Terms};
use crate::plan::{Exchange, Local, Message, Plan, Source, Target};
use crate::runtime::{READ, Range, WRITE};
use crate::types::Element;
use std::ffi::c_void;
use std::sync::Arc;

/// A send or a receive.
#[derive(Debug, Clone, Copy)]
pub struct Point {
    is_send: bool,
    peer: u32,
    element: Element,
    count: u64,
    view: usize,
    len: usize,
    range: Range,
}

impl Point {
    pub fn new(
        communicator: &Communicator,
        is_send: bool,
        (buffer, count, data_type): (*mut c_void, u64, i32),
        peer: u32,
    ) -> Result<Point, Failure> {
        let ranks = communicator.group.ranks();
        if peer >= ranks {
            return Err(Failure::Parameter(format!("rank {peer} does not exist: the communicator has {ranks} ranks")));
        }
        let element = Element::from_c(data_type)?;
        let len = element.bytes(count)?;
        let (access, name) = if is_send { (READ, "sendBuf") } else { (WRITE, "recvBuf") };
        let Buffer { range, view } = Buffer::new(buffer, len, access, name)?;
        Ok(Point { is_send, peer, element, count, view, len, range })
    }
}

/// The plan of sends and receives that do not block each other.
fn plan(communicator: &Communicator, points: &[Point]) -> Result<Plan, Failure> {
    let rank = communicator.group.rank();
    let mut plan = Plan { local: own_copies(rank, points)?, ..Plan::default() };
    for point in points.iter().filter(|point| point.peer != rank) {
        let terms = Terms { count: point.count, element: point.element.to_c(), reduction: 0, root: 0 };
        let Point { peer, view: address, len, .. } = *point;
        let mut exchange = Exchange { peer, send: None, receive: None };
        if point.is_send {
            let (call, parts) = (communicator.next_send(peer), vec![Source { address, len, is_result: false }]);
            exchange.send = Some(Message { kind: Kind::Send, call, terms, parts, is_synchronous: true });
        } else {
            let (call, parts) = (communicator.next_receive(peer), vec![Target::Copy { address, len }]);
            exchange.receive = Some(Message { kind: Kind::Send, call, terms, parts, is_synchronous: false });
        }
        plan.messages.push(exchange);
    }
    Ok(plan)
}

/// Sends of a rank to itself, with the receives that they belong to.
fn own_copies(rank: u32, points: &[Point]) -> Result<Vec<Local>, Failure> {
    let own = |is_send| points.iter().filter(move |point| point.peer == rank && point.is_send == is_send);
    let copies: Vec<Local> = own(true)
        .zip(own(false))
        .map(|(from, to)| Local { source: from.view, target: to.view, len: from.len })
        .collect();
    let is_paired = own(true).count() == own(false).count() && own(true).zip(own(false)).all(|(a, b)| a.len == b.len);
    if is_paired {
        return Ok(copies);
    }
    Err(Failure::Parameter(format!(
        "rank {rank} sends to itself, or receives from itself: that needs both, of equal size, in one batch or group"
    )))
}

/// Queues sends and receives that do not block each other.
pub fn launch(
    communicator: &Arc<Communicator>,
    points: &[Point],
    name: &str,
    stream: *mut c_void,
) -> Result<(), Failure> {
    let plan = plan(communicator, points)?;
    let ranges: Vec<Range> = points.iter().map(|point| point.range).filter(|range| range.size > 0).collect();
    crate::launch::launch(communicator, plan, &ranges, name, stream)
}
