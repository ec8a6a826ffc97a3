//! Transfer cases: equal pieces from pinned memory to the device, as a loop, a batch or a 2D copy, compared with a
//! memcpy loop over the same pieces, and with PoCL if it is installed.

use super::c_api;
use super::fixture::Fixture;
use super::interleave::{ALL_CORES, MEMCPY, OURS, POCL, Runner, Series, run_interleaved, time, timed};
use super::memory;
use super::outcome::CaseOutcome;
use super::pocl::{Buffer, Pocl, Queue};
use super::session::Session;
use crate::permutation::scattered;
use anyhow::{Result, ensure};
use ascendcl::Stream;
use std::cell::RefCell;
use std::time::Instant;

/// Time until the submitting call returns.
pub const SUBMIT: &str = "submit";
/// Minimum size for measuring memcpy on all cores as well. Below it, starting the threads would dominate.
const MIN_ALL_CORES: usize = 16 << 20;
/// Size to which `--quick` shortens transfers of many pieces.
const QUICK_BYTES: usize = 32 << 20;

#[derive(Clone, Copy)]
pub struct Transfer {
    pub count: usize,
    pub len: usize,
    pub order: Order,
    pub method: Method,
    pub streams: usize,
    pub submit: Submit,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Order {
    /// One after the other.
    Sequential,
    /// In an order in which neighbors are far apart, over memory that the pieces fill.
    Scattered,
    /// Scattered over this many bytes, with other pieces in each round and cold caches.
    Cold(usize),
}

#[derive(Clone, Copy, PartialEq)]
pub enum Method {
    Loop,
    Batch,
    /// A 2D copy with this pitch.
    Plane(usize),
}

/// Whether the time of the submitting call is measured separately.
#[derive(Clone, Copy, PartialEq)]
pub enum Submit {
    Unmeasured,
    /// In the measured run.
    InPlace,
    /// In a separate run on a blocked stream, so that nothing but the submit happens.
    Blocked,
}

impl Transfer {
    pub const fn loop_of(count: usize, len: usize, order: Order) -> Transfer {
        Transfer { count, len, order, method: Method::Loop, streams: 1, submit: Submit::Unmeasured }
    }

    pub const fn batch_of(count: usize, len: usize, order: Order, submit: Submit) -> Transfer {
        Transfer { count, len, order, method: Method::Batch, streams: 1, submit }
    }

    pub fn run(self, session: &Session) -> Result<CaseOutcome> {
        let work = if session.quick { self.shortened() } else { self };
        Prepared::new(work, session)?.run(session)
    }

    fn shortened(self) -> Transfer {
        let count = self.count.min((QUICK_BYTES / self.len).max(1));
        let order = match self.order {
            Order::Cold(bytes) => Order::Cold(bytes.min(4 * QUICK_BYTES)),
            order => order,
        };
        Transfer { count, order, ..self }
    }

    /// Distance between the positions of pieces.
    fn stride(&self) -> usize {
        match self.method {
            Method::Plane(pitch) => pitch,
            _ => self.len,
        }
    }

    fn region(&self) -> usize {
        match self.order {
            Order::Cold(bytes) => bytes.max(self.count * self.stride()),
            _ => self.count * self.stride(),
        }
    }
}

struct Prepared {
    work: Transfer,
    fixture: Fixture,
    streams: Vec<Stream>,
    sizes: Vec<usize>,
    /// Offsets of the pieces in source and target, in the order of use.
    from: Vec<usize>,
    to: Vec<usize>,
}

impl Prepared {
    fn new(work: Transfer, session: &Session) -> Result<Prepared> {
        let positions = work.region() / work.stride();
        let pieces = match work.order {
            Order::Cold(_) => positions.min(work.count * session.max_rounds()),
            _ => work.count,
        };
        let offsets = |skip: usize| -> Vec<usize> {
            let order = match work.order {
                Order::Sequential => (0..positions).collect(),
                // The rotation gives the targets another order than the sources.
                _ => scattered(positions).into_iter().map(|at| (at + skip) % positions).collect::<Vec<_>>(),
            };
            order.into_iter().take(pieces).map(|position| position * work.stride()).collect()
        };
        let (from, mut to) = (offsets(0), offsets(positions / 3));
        if work.order == Order::Scattered {
            to.reverse();
        }
        Ok(Prepared {
            fixture: Fixture::new(session.context(), work.region())?,
            streams: (0..work.streams).map(|_| session.context().new_stream()).collect::<ascendcl::Result<_>>()?,
            sizes: vec![work.len; work.count],
            from,
            to,
            work,
        })
    }

    fn run(&self, session: &Session) -> Result<CaseOutcome> {
        let submits = RefCell::new(Vec::new());
        let mut notes = Vec::new();
        let pocl = match session.pocl() {
            Ok(pocl) => Some(PoclTransfer::new(pocl, &self.work, &self.fixture)?),
            Err(reason) => {
                notes.push(format!("PoCL not measured: {reason}"));
                None
            }
        };
        let mut runners = vec![self.softacl(session, &submits), self.memcpy(session, MEMCPY, 1)];
        if self.work.count * self.work.len >= MIN_ALL_CORES {
            let threads = std::thread::available_parallelism().map_or(1, usize::from);
            runners.push(self.memcpy(session, ALL_CORES, threads));
        }
        if self.work.submit == Submit::Blocked {
            runners.push(self.blocked_submit(session));
        }
        if let Some(pocl) = &pocl {
            let run = move |round| {
                let (from, to) = self.set(round);
                self.evict_caches(session)?;
                timed(|| pocl.run(&self.work, self.fixture.reference_source.at(0), from, to))
            };
            runners.push(Runner::new(POCL, self.work.count, run).few());
        }
        let (mut series, rounds) = run_interleaved(session, runners)?;
        if self.work.submit == Submit::InPlace {
            series.push(Series { name: SUBMIT, samples: submits.take().split_off(1) });
        }
        let verified_bytes = self.verify(rounds)?;
        if let Some(pocl) = &pocl {
            // The pieces of the first round: later rounds of PoCL rewrote them or left them unchanged.
            let (from, to) = self.set(0);
            pocl.verify(&self.work, self.fixture.reference_source.at(0), from, to)?;
        }
        Ok(CaseOutcome { series, unit_bytes: self.work.len, verified_bytes, notes })
    }

    /// The measured transfer. Adds the time of each submit per piece to `submits`.
    fn softacl<'a>(&'a self, session: &'a Session, submits: &'a RefCell<Vec<f64>>) -> Runner<'a> {
        let count = self.work.count;
        Runner::new(OURS, count, move |round| {
            let (targets, sources) = self.addresses(session, round)?;
            timed(|| {
                let start = Instant::now();
                self.submit(&targets, &sources)?;
                submits.borrow_mut().push(start.elapsed().as_nanos() as f64 / count as f64);
                self.streams.iter().try_for_each(c_api::synchronize)
            })
        })
    }

    /// The submit alone, on a blocked stream.
    fn blocked_submit<'a>(&'a self, session: &'a Session) -> Runner<'a> {
        Runner::new(SUBMIT, self.work.count, move |round| {
            let (targets, sources) = self.addresses(session, round)?;
            let gate = c_api::block(&self.streams[0])?;
            let duration = timed(|| self.submit(&targets, &sources));
            drop(gate);
            c_api::synchronize(&self.streams[0])?;
            duration
        })
    }

    /// A memcpy loop over the same pieces, on one thread or on several.
    fn memcpy<'a>(&'a self, session: &'a Session, name: &'static str, threads: usize) -> Runner<'a> {
        Runner::new(name, self.work.count, move |round| {
            let (from, to) = self.set(round);
            self.evict_caches(session)?;
            let targets = offset_by(to, self.fixture.reference_target.at(0));
            let sources = offset_by(from, self.fixture.reference_source.at(0));
            Ok(time(|| match threads {
                1 => memory::copy_each(&targets, &sources, self.work.len),
                _ => memory::copy_each_on(threads, &targets, &sources, self.work.len),
            }))
        })
    }

    /// Verifies the pieces of all rounds on the device. Returns the number of bytes verified.
    fn verify(&self, rounds: usize) -> Result<usize> {
        let sets = if self.from.len() > self.work.count { rounds } else { 1 };
        let pieces = (0..sets).flat_map(|round| {
            let (from, to) = self.set(round);
            to.iter().copied().zip(from.iter().copied())
        });
        self.fixture.verify(pieces, self.work.len)
    }

    /// Returns the source and target offsets of the pieces of a round.
    fn set(&self, round: usize) -> (&[usize], &[usize]) {
        let sets = self.from.len() / self.work.count;
        let start = round % sets * self.work.count;
        let range = start..start + self.work.count;
        (&self.from[range.clone()], &self.to[range])
    }

    /// Returns the target and source addresses of a round.
    fn addresses(&self, session: &Session, round: usize) -> Result<(Vec<usize>, Vec<usize>)> {
        let (from, to) = self.set(round);
        self.evict_caches(session)?;
        Ok((offset_by(to, self.fixture.target.at(0)), offset_by(from, self.fixture.source.at(0))))
    }

    fn evict_caches(&self, session: &Session) -> Result<()> {
        if matches!(self.work.order, Order::Cold(_)) {
            session.flush_caches()?;
        }
        Ok(())
    }

    fn submit(&self, targets: &[usize], sources: &[usize]) -> Result<()> {
        let Transfer { count, len, method, streams, .. } = self.work;
        match method {
            Method::Batch => c_api::upload_batch(targets, sources, &self.sizes, &self.streams[0]),
            Method::Plane(pitch) => c_api::upload_2d(targets[0], sources[0], pitch, len, count, &self.streams[0]),
            Method::Loop if streams == 1 => c_api::upload_each(targets, sources, len, &self.streams[0]),
            Method::Loop => (0..count).try_for_each(|piece| {
                c_api::upload(targets[piece], sources[piece], len, &self.streams[piece % streams])
            }),
        }
    }
}

fn offset_by(offsets: &[usize], base: usize) -> Vec<usize> {
    offsets.iter().map(|offset| base + offset).collect()
}

/// The transfer with PoCL, which has no batches and runs a loop instead.
struct PoclTransfer<'a> {
    buffer: Buffer<'a>,
    queues: Vec<Queue<'a>>,
}

impl<'a> PoclTransfer<'a> {
    fn new(pocl: &'a Pocl, work: &Transfer, fixture: &Fixture) -> Result<PoclTransfer<'a>> {
        let transfer = PoclTransfer {
            buffer: pocl.buffer(work.region())?,
            queues: (0..work.streams).map(|_| pocl.queue()).collect::<Result<_>>()?,
        };
        // Touch every page before the measurement, as for the other runners.
        transfer.queues[0].write(&transfer.buffer, 0, fixture.reference_source.at(0), work.region())?;
        transfer.queues[0].finish()?;
        Ok(transfer)
    }

    /// Fails if PoCL did not copy the bytes: a reference must do the same work.
    fn verify(&self, work: &Transfer, source: usize, from: &[usize], to: &[usize]) -> Result<()> {
        let found = memory::HostMemory::new(work.region())?;
        self.queues[0].read(&self.buffer, found.at(0), work.region())?;
        self.queues[0].finish()?;
        let is_equal = |(from, to): (&usize, &usize)| memory::equal(found.at(*to), source + from, work.len);
        ensure!(from.iter().zip(to).all(is_equal), "the bytes copied by PoCL differ from the source");
        Ok(())
    }

    fn run(&self, work: &Transfer, source: usize, from: &[usize], to: &[usize]) -> Result<()> {
        if let Method::Plane(pitch) = work.method {
            self.queues[0].write_plane(&self.buffer, source, pitch, work.len, work.count)?;
        } else {
            for (piece, (from, to)) in from.iter().zip(to).enumerate() {
                self.queues[piece % work.streams].write(&self.buffer, *to, source + from, work.len)?;
            }
        }
        self.queues.iter().try_for_each(Queue::finish)
    }
}
