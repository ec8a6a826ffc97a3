//! Transfers: equal pieces from pinned memory to the device, in a loop, as a batch or as a plane,
//! against a memcpy loop over the same pieces, and against PoCL where it is installed.

use super::case::CaseOutcome;
use super::fixture::Fixture;
use super::interleave::{ALL_CORES, MEMCPY, OURS, POCL, Runner, Series, run_interleaved, time, timed};
use super::memory;
use super::pocl::{Buffer, Pocl, Queue};
use super::session::Session;
use crate::acl::{self, Stream};
use crate::demo;
use anyhow::{Result, ensure};
use std::cell::RefCell;
use std::time::Instant;

/// The time until the call that queues the work returns.
pub const SUBMIT: &str = "submit";
/// From so many bytes on memcpy is measured on all cores too: below, starting the threads would be measured.
const DIVIDED: usize = 16 << 20;
/// `--quick` cuts transfers of many pieces down to this.
const QUICK_BYTES: usize = 32 << 20;

#[derive(Clone, Copy)]
pub struct Transfer {
    pub count: usize,
    pub len: usize,
    pub order: Order,
    pub way: Method,
    pub streams: usize,
    pub submit: Submit,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Order {
    /// One behind the other.
    Sequential,
    /// In an order without neighbours, over memory that the pieces fill.
    Scattered,
    /// Scattered over so many bytes, other pieces in each round, caches emptied before each.
    Cold(usize),
}

#[derive(Clone, Copy, PartialEq)]
pub enum Method {
    Loop,
    Batch,
    /// Rows that are so far apart.
    Plane(usize),
}

/// Whether the time of the submitting call is a quantity of its own.
#[derive(Clone, Copy, PartialEq)]
pub enum Submit {
    Unmeasured,
    /// In the measured run itself.
    InPlace,
    /// In a run of its own on a stream that is held up, so that nothing but the submit happens.
    HeldUp,
}

impl Transfer {
    pub const fn loop_of(count: usize, len: usize, order: Order) -> Transfer {
        Transfer { count, len, order, way: Method::Loop, streams: 1, submit: Submit::Unmeasured }
    }

    pub const fn batch_of(count: usize, len: usize, order: Order, submit: Submit) -> Transfer {
        Transfer { count, len, order, way: Method::Batch, streams: 1, submit }
    }

    pub fn run(self, stage: &Session) -> Result<CaseOutcome> {
        let work = if stage.quick { self.shortened() } else { self };
        Prepared::new(work, stage)?.run(stage)
    }

    fn shortened(self) -> Transfer {
        let count = self.count.min((QUICK_BYTES / self.len).max(1));
        let order = match self.order {
            Order::Cold(bytes) => Order::Cold(bytes.min(4 * QUICK_BYTES)),
            order => order,
        };
        Transfer { count, order, ..self }
    }

    /// Distance of the places where pieces can be.
    fn stride(&self) -> usize {
        match self.way {
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
    ground: Fixture,
    streams: Vec<Stream>,
    sizes: Vec<usize>,
    /// Where pieces come from and go to, in the order of use.
    from: Vec<usize>,
    to: Vec<usize>,
}

impl Prepared {
    fn new(work: Transfer, stage: &Session) -> Result<Prepared> {
        let places = work.region() / work.stride();
        let pieces = match work.order {
            Order::Cold(_) => places.min(work.count * stage.most_rounds()),
            _ => work.count,
        };
        let offsets = |skip: usize| -> Vec<usize> {
            let order = match work.order {
                Order::Sequential => (0..places).collect(),
                // A turn makes the order of the targets another one than that of the sources.
                _ => demo::scattered(places).into_iter().map(|place| (place + skip) % places).collect::<Vec<_>>(),
            };
            order.into_iter().take(pieces).map(|place| place * work.stride()).collect()
        };
        let (from, mut to) = (offsets(0), offsets(places / 3));
        if work.order == Order::Scattered {
            to.reverse();
        }
        Ok(Prepared {
            ground: Fixture::new(work.region())?,
            streams: (0..work.streams).map(|_| Stream::new()).collect::<Result<_>>()?,
            sizes: vec![work.len; work.count],
            from,
            to,
            work,
        })
    }

    fn run(&self, stage: &Session) -> Result<CaseOutcome> {
        let count = self.work.count;
        let submits = RefCell::new(Vec::new());
        let mut notes = Vec::new();
        let rival = match stage.pocl() {
            Ok(pocl) => Some(PoclTransfer::new(pocl, &self.work, &self.ground)?),
            Err(reason) => {
                notes.push(format!("without PoCL: {reason}"));
                None
            }
        };
        let mut runners = vec![
            Runner::new(OURS, count, |round| {
                let (targets, sources) = self.ours(stage, round)?;
                timed(|| {
                    let start = Instant::now();
                    self.submit(&targets, &sources)?;
                    submits.borrow_mut().push(start.elapsed().as_nanos() as f64 / count as f64);
                    self.streams.iter().try_for_each(Stream::synchronize)
                })
            }),
            Runner::new(MEMCPY, count, |round| {
                let (from, to) = self.set(round);
                self.evict_caches(stage)?;
                let targets = moved(to, self.ground.reference_target.at(0));
                let sources = moved(from, self.ground.reference_source.at(0));
                timed(|| {
                    memory::copy_each(&targets, &sources, self.work.len);
                    Ok(())
                })
            }),
        ];
        if count * self.work.len >= DIVIDED {
            let threads = std::thread::available_parallelism().map_or(1, usize::from);
            runners.push(Runner::new(ALL_CORES, count, move |round| {
                let (from, to) = self.set(round);
                self.evict_caches(stage)?;
                let targets = moved(to, self.ground.reference_target.at(0));
                let sources = moved(from, self.ground.reference_source.at(0));
                Ok(time(|| memory::copy_each_on(threads, &targets, &sources, self.work.len)))
            }));
        }
        if self.work.submit == Submit::HeldUp {
            runners.push(Runner::new(SUBMIT, count, |round| {
                let (targets, sources) = self.ours(stage, round)?;
                let gate = self.streams[0].block()?;
                let duration = timed(|| self.submit(&targets, &sources));
                drop(gate);
                self.streams[0].synchronize()?;
                duration
            }));
        }
        if let Some(rival) = &rival {
            let run = move |round| {
                let (from, to) = self.set(round);
                self.evict_caches(stage)?;
                timed(|| rival.run(&self.work, self.ground.reference_source.at(0), from, to))
            };
            runners.push(Runner::new(POCL, count, run).few());
        }
        let (mut series, rounds) = run_interleaved(stage, runners)?;
        if self.work.submit == Submit::InPlace {
            series.push(Series { name: SUBMIT, samples: submits.take().split_off(1) });
        }
        let sets = if self.from.len() > count { rounds } else { 1 };
        let pieces = (0..sets).flat_map(|round| {
            let (from, to) = self.set(round);
            to.iter().copied().zip(from.iter().copied())
        });
        let verified_bytes = self.ground.verify(pieces, self.work.len)?;
        if let Some(rival) = &rival {
            // The pieces of the first round: every run of PoCL wrote them, or left them as they were.
            let (from, to) = self.set(0);
            rival.verify(&self.work, self.ground.reference_source.at(0), from, to)?;
        }
        Ok(CaseOutcome { series, unit_bytes: self.work.len, verified_bytes, notes })
    }

    /// The pieces of a round.
    fn set(&self, round: usize) -> (&[usize], &[usize]) {
        let sets = self.from.len() / self.work.count;
        let start = round % sets * self.work.count;
        let range = start..start + self.work.count;
        (&self.from[range.clone()], &self.to[range])
    }

    fn ours(&self, stage: &Session, round: usize) -> Result<(Vec<usize>, Vec<usize>)> {
        let (from, to) = self.set(round);
        self.evict_caches(stage)?;
        Ok((moved(to, self.ground.target.at(0)), moved(from, self.ground.source.at(0))))
    }

    fn evict_caches(&self, stage: &Session) -> Result<()> {
        if matches!(self.work.order, Order::Cold(_)) {
            stage.flush_caches()?;
        }
        Ok(())
    }

    fn submit(&self, targets: &[usize], sources: &[usize]) -> Result<()> {
        let Transfer { count, len, way, streams, .. } = self.work;
        match way {
            Method::Batch => acl::batch_of_sizes_async(targets, sources, &self.sizes, true, &self.streams[0]),
            Method::Plane(pitch) => {
                acl::upload_plane_async(targets[0], sources[0], pitch, len, count, &self.streams[0])
            }
            Method::Loop if streams == 1 => acl::upload_each(targets, sources, len, &self.streams[0]),
            Method::Loop => (0..count).try_for_each(|piece| {
                acl::upload_async(targets[piece], sources[piece], len, &self.streams[piece % streams])
            }),
        }
    }
}

fn moved(offsets: &[usize], base: usize) -> Vec<usize> {
    offsets.iter().map(|offset| base + offset).collect()
}

/// PoCL doing the same. It has no batches; there it is a loop.
struct PoclTransfer<'a> {
    buffer: Buffer<'a>,
    queues: Vec<Queue<'a>>,
}

impl<'a> PoclTransfer<'a> {
    fn new(pocl: &'a Pocl, work: &Transfer, ground: &Fixture) -> Result<PoclTransfer<'a>> {
        let rival = PoclTransfer {
            buffer: pocl.buffer(work.region())?,
            queues: (0..work.streams).map(|_| pocl.queue()).collect::<Result<_>>()?,
        };
        // Every page is touched before anything is measured, as on the other grounds.
        rival.queues[0].write(&rival.buffer, 0, ground.reference_source.at(0), work.region())?;
        rival.queues[0].finish()?;
        Ok(rival)
    }

    /// Whether PoCL brought the same bytes: a reference that copies nothing is no reference.
    fn verify(&self, work: &Transfer, source: usize, from: &[usize], to: &[usize]) -> Result<()> {
        let found = memory::HostMemory::new(work.region())?;
        self.queues[0].read(&self.buffer, found.at(0), work.region())?;
        self.queues[0].finish()?;
        let right = |(from, to): (&usize, &usize)| memory::equal(found.at(*to), source + from, work.len);
        ensure!(from.iter().zip(to).all(right), "PoCL brought other bytes than those of the source");
        Ok(())
    }

    fn run(&self, work: &Transfer, source: usize, from: &[usize], to: &[usize]) -> Result<()> {
        if let Method::Plane(pitch) = work.way {
            self.queues[0].write_plane(&self.buffer, source, pitch, work.len, work.count)?;
        } else {
            for (piece, (from, to)) in from.iter().zip(to).enumerate() {
                self.queues[piece % work.streams].write(&self.buffer, *to, source + from, work.len)?;
            }
        }
        self.queues.iter().try_for_each(Queue::finish)
    }
}
