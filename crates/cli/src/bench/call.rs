//! Cases with single small calls on hot memory: the overhead of the API when the bytes cost almost nothing.

use super::c_api;
use super::fixture::Fixture;
use super::interleave::{MEMCPY, OURS, PAIR, POCL, Runner, run_interleaved, time, timed};
use super::memory;
use super::outcome::CaseOutcome;
use super::session::Session;
use anyhow::Result;
use ascendcl::Stream;

pub const BATCH: &str = "batch";
pub const LOOP: &str = "loop";
const LEN: usize = 64;
const COPIES: usize = 1000;
/// Number of copies for PoCL, which is much slower here.
const FEW_COPIES: usize = 100;
/// Consecutive runs that are timed together.
const TIMES: usize = 10;

/// 1,000 pieces of 64 bytes, for softacl and for the references.
struct Pieces {
    fixture: Fixture,
    stream: Stream,
    targets: Vec<usize>,
    sources: Vec<usize>,
    reference_targets: Vec<usize>,
    reference_sources: Vec<usize>,
}

impl Pieces {
    fn new(session: &Session) -> Result<Pieces> {
        let fixture = Fixture::new(session.context(), COPIES * LEN)?;
        let all = |at: &dyn Fn(usize) -> usize| (0..COPIES).map(|piece| at(piece * LEN)).collect::<Vec<_>>();
        Ok(Pieces {
            targets: all(&|offset| fixture.target.at(offset)),
            sources: all(&|offset| fixture.source.at(offset)),
            reference_targets: all(&|offset| fixture.reference_target.at(offset)),
            reference_sources: all(&|offset| fixture.reference_source.at(offset)),
            stream: session.context().new_stream()?,
            fixture,
        })
    }

    fn memcpy(&self) -> Runner<'_> {
        Runner::new(MEMCPY, TIMES * COPIES, |_| {
            Ok(time(|| {
                for _ in 0..TIMES {
                    memory::copy_each(&self.reference_targets, &self.reference_sources, LEN);
                }
            }))
        })
    }

    fn finish<'a>(&'a self, session: &Session, mut runners: Vec<Runner<'a>>, with_pocl: bool) -> Result<CaseOutcome> {
        let mut notes = Vec::new();
        if with_pocl && let Err(reason) = session.pocl() {
            notes.push(format!("PoCL not measured: {reason}"));
        }
        runners.push(self.memcpy());
        runners.push(pair());
        let (series, _) = run_interleaved(session, runners)?;
        let verified_bytes = self.fixture.verify((0..COPIES).map(|piece| (piece * LEN, piece * LEN)), LEN)?;
        Ok(CaseOutcome { series, unit_bytes: LEN, verified_bytes, notes })
    }
}

/// Runs uncontended lock and unlock pairs: the unit of small costs.
pub fn pair<'a>() -> Runner<'a> {
    Runner::new(PAIR, TIMES * COPIES, |_| Ok(time(|| memory::lock_pairs(TIMES * COPIES))))
}

/// Measures only the submit: the stream is blocked.
pub fn submit(session: &Session) -> Result<CaseOutcome> {
    let pieces = Pieces::new(session)?;
    let mut runners = vec![Runner::new(OURS, COPIES, |_| {
        let gate = c_api::block(&pieces.stream)?;
        let duration = timed(|| c_api::upload_each(&pieces.targets, &pieces.sources, LEN, &pieces.stream));
        drop(gate);
        c_api::synchronize(&pieces.stream)?;
        duration
    })];
    if let Ok(pocl) = session.pocl() {
        let (queue, buffer) = (pocl.queue()?, pocl.buffer(COPIES * LEN)?);
        let sources = &pieces.reference_sources;
        let run = move |_| {
            let gate = queue.block(&buffer, sources[0], LEN)?;
            let duration = timed(|| {
                sources
                    .iter()
                    .enumerate()
                    .try_for_each(|(piece, source)| queue.write(&buffer, piece * LEN, *source, LEN))
            });
            gate.open()?;
            queue.finish()?;
            duration
        };
        runners.push(Runner::new(POCL, COPIES, run).few());
    }
    pieces.finish(session, runners, true)
}

/// Synchronizes the stream after each copy.
pub fn synchronize(session: &Session) -> Result<CaseOutcome> {
    let pieces = Pieces::new(session)?;
    let mut runners = vec![Runner::new(OURS, COPIES, |_| {
        timed(|| c_api::upload_and_synchronize_each(&pieces.targets, &pieces.sources, LEN, &pieces.stream))
    })];
    if let Ok(pocl) = session.pocl() {
        let (queue, buffer) = (pocl.queue()?, pocl.buffer(COPIES * LEN)?);
        let sources = &pieces.reference_sources;
        let run = move |_| {
            timed(|| {
                sources.iter().take(FEW_COPIES).enumerate().try_for_each(|(piece, source)| {
                    queue.write(&buffer, piece * LEN, *source, LEN)?;
                    queue.finish()
                })
            })
        };
        runners.push(Runner::new(POCL, FEW_COPIES, run).few());
    }
    pieces.finish(session, runners, true)
}

/// Submits 1,000 copies, then synchronizes once.
pub fn drain(session: &Session) -> Result<CaseOutcome> {
    let pieces = Pieces::new(session)?;
    let mut runners = vec![Runner::new(OURS, TIMES * COPIES, |_| timed(|| loops(&pieces)))];
    if let Ok(pocl) = session.pocl() {
        let (queue, buffer) = (pocl.queue()?, pocl.buffer(COPIES * LEN)?);
        let sources = &pieces.reference_sources;
        let run = move |_| {
            timed(|| {
                for (piece, source) in sources.iter().enumerate() {
                    queue.write(&buffer, piece * LEN, *source, LEN)?;
                }
                queue.finish()
            })
        };
        runners.push(Runner::new(POCL, COPIES, run).few());
    }
    pieces.finish(session, runners, true)
}

/// Compares a batch with a loop of single copies.
pub fn batch_against_loop(session: &Session) -> Result<CaseOutcome> {
    let pieces = Pieces::new(session)?;
    let sizes = vec![LEN; COPIES];
    let batches = || {
        for _ in 0..TIMES {
            c_api::upload_batch(&pieces.targets, &pieces.sources, &sizes, &pieces.stream)?;
            c_api::synchronize(&pieces.stream)?;
        }
        Ok(())
    };
    let runners = vec![
        Runner::new(BATCH, TIMES * COPIES, |_| timed(batches)),
        Runner::new(LOOP, TIMES * COPIES, |_| timed(|| loops(&pieces))),
    ];
    pieces.finish(session, runners, false)
}

fn loops(pieces: &Pieces) -> Result<()> {
    for _ in 0..TIMES {
        c_api::upload_each(&pieces.targets, &pieces.sources, LEN, &pieces.stream)?;
        c_api::synchronize(&pieces.stream)?;
    }
    Ok(())
}
