//! Single calls on hot memory: what the interface costs when the bytes cost nearly nothing.

use super::case::CaseOutcome;
use super::fixture::Fixture;
use super::interleave::{MEMCPY, OURS, PAIR, POCL, Runner, run_interleaved, time, timed};
use super::memory;
use super::session::Session;
use crate::acl::{self, Stream};
use anyhow::Result;

pub const BATCH: &str = "batch";
pub const LOOP: &str = "loop";
const LEN: usize = 64;
const COPIES: usize = 1000;
/// PoCL is so slow at this that fewer will do.
const FEW_COPIES: usize = 100;
/// Runs in a row that are timed together.
const TIMES: usize = 10;

/// 1,000 pieces of 64 bytes on each ground.
struct Pieces {
    ground: Fixture,
    stream: Stream,
    targets: Vec<usize>,
    sources: Vec<usize>,
    reference_targets: Vec<usize>,
    reference_sources: Vec<usize>,
}

impl Pieces {
    fn new() -> Result<Pieces> {
        let ground = Fixture::new(COPIES * LEN)?;
        let all = |at: &dyn Fn(usize) -> usize| (0..COPIES).map(|piece| at(piece * LEN)).collect::<Vec<_>>();
        Ok(Pieces {
            targets: all(&|offset| ground.target.at(offset)),
            sources: all(&|offset| ground.source.at(offset)),
            reference_targets: all(&|offset| ground.reference_target.at(offset)),
            reference_sources: all(&|offset| ground.reference_source.at(offset)),
            stream: Stream::new()?,
            ground,
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

    fn finish<'a>(&'a self, stage: &Session, mut runners: Vec<Runner<'a>>, with_pocl: bool) -> Result<CaseOutcome> {
        let mut notes = Vec::new();
        if with_pocl && let Err(reason) = stage.pocl() {
            notes.push(format!("without PoCL: {reason}"));
        }
        runners.push(self.memcpy());
        runners.push(pair());
        let (series, _) = run_interleaved(stage, runners)?;
        let verified_bytes = self.ground.verify((0..COPIES).map(|piece| (piece * LEN, piece * LEN)), LEN)?;
        Ok(CaseOutcome { series, unit_bytes: LEN, verified_bytes, notes })
    }
}

/// The unit of small costs.
pub fn pair<'a>() -> Runner<'a> {
    Runner::new(PAIR, TIMES * COPIES, |_| Ok(time(|| memory::lock_pairs(TIMES * COPIES))))
}

/// Nothing but the submit: the stream is held up meanwhile.
pub fn submit(stage: &Session) -> Result<CaseOutcome> {
    let pieces = Pieces::new()?;
    let mut runners = vec![Runner::new(OURS, COPIES, |_| {
        let gate = pieces.stream.block()?;
        let duration = timed(|| acl::upload_each(&pieces.targets, &pieces.sources, LEN, &pieces.stream));
        drop(gate);
        pieces.stream.synchronize()?;
        duration
    })];
    if let Ok(pocl) = stage.pocl() {
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
    pieces.finish(stage, runners, true)
}

/// Each copy is waited for.
pub fn synchronize(stage: &Session) -> Result<CaseOutcome> {
    let pieces = Pieces::new()?;
    let mut runners = vec![Runner::new(OURS, COPIES, |_| {
        timed(|| acl::upload_and_synchronize_each(&pieces.targets, &pieces.sources, LEN, &pieces.stream))
    })];
    if let Ok(pocl) = stage.pocl() {
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
    pieces.finish(stage, runners, true)
}

/// 1,000 copies, then one wait.
pub fn drain(stage: &Session) -> Result<CaseOutcome> {
    let pieces = Pieces::new()?;
    let mut runners = vec![Runner::new(OURS, TIMES * COPIES, |_| timed(|| loops(&pieces)))];
    if let Ok(pocl) = stage.pocl() {
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
    pieces.finish(stage, runners, true)
}

/// A batch against a loop of single copies.
pub fn batch_against_loop(stage: &Session) -> Result<CaseOutcome> {
    let pieces = Pieces::new()?;
    let sizes = vec![LEN; COPIES];
    let batches = || {
        for _ in 0..TIMES {
            acl::batch_of_sizes_async(&pieces.targets, &pieces.sources, &sizes, true, &pieces.stream)?;
            pieces.stream.synchronize()?;
        }
        Ok(())
    };
    let runners = vec![
        Runner::new(BATCH, TIMES * COPIES, |_| timed(batches)),
        Runner::new(LOOP, TIMES * COPIES, |_| timed(|| loops(&pieces))),
    ];
    pieces.finish(stage, runners, false)
}

fn loops(pieces: &Pieces) -> Result<()> {
    for _ in 0..TIMES {
        acl::upload_each(&pieces.targets, &pieces.sources, LEN, &pieces.stream)?;
        pieces.stream.synchronize()?;
    }
    Ok(())
}
