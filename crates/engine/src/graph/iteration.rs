//! Executing conditional tasks: which sub-graph runs next, and when a loop yields its thread.

use crate::graph::condition::{ConditionKind, Frame, ITERATIONS_PER_TURN};
use crate::machine::Machine;
use crate::stream::Stream;
use crate::task::{ConditionProgress, SubStep};
use softacl_errors::Result;
use softacl_sync::facade::Ordering;

impl Machine {
    /// Continues a conditional task. Returns `false` if it must yield.
    pub(crate) fn advance_condition(&self, stream: &Stream, progress: &mut ConditionProgress) -> Result<bool> {
        let mut iterations = 0;
        while let Some(frame) = progress.frames.last_mut() {
            if progress.run.is_canceled.load(Ordering::Acquire) || self.is_stopped(stream) {
                return Ok(true);
            }
            if let Some(node) = frame.steps.next() {
                let content = node.current()?;
                match content.task()?.into_sub_step()? {
                    SubStep::Condition(inner) => progress.enter(inner)?,
                    SubStep::Move(work) => {
                        let volume = work.volume();
                        self.move_bytes(work, volume, stream.device())?;
                    }
                    SubStep::Nothing => {}
                }
                continue;
            }
            if frame.condition.kind == ConditionKind::While {
                if iterations == ITERATIONS_PER_TURN {
                    return Ok(false);
                }
                iterations += 1;
                // The value may come from another stream, which a schedule runs only on request.
                self.step();
            }
            let Some(Frame { condition, .. }) = progress.frames.pop() else { break };
            if condition.kind == ConditionKind::While {
                progress.enter(condition)?;
            }
        }
        Ok(true)
    }
}
