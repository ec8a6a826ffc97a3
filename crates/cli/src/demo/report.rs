//! What the demo tells: for people as a table, for scripts as JSON.

use crate::acl;
use crate::units::size;
use serde::Serialize;
use std::fmt;

#[derive(Serialize)]
pub struct DemoReport {
    pub blocks: usize,
    pub block_size: usize,
    pub steps: Vec<DemoStep>,
    pub overlap: Overlap,
    pub verified_bytes: usize,
}

#[derive(Serialize)]
pub struct DemoStep {
    pub name: &'static str,
    pub bytes: usize,
    pub seconds: f64,
    /// The same bytes with memcpy, measured in turns with the step.
    pub memcpy_seconds: f64,
}

/// When the two streams worked, in milliseconds after a common start.
#[derive(Serialize)]
pub struct Overlap {
    pub offload_ms: [f32; 2],
    pub reload_ms: [f32; 2],
}

impl Overlap {
    fn common_ms(&self) -> f32 {
        let start = self.offload_ms[0].max(self.reload_ms[0]);
        let end = self.offload_ms[1].min(self.reload_ms[1]);
        (end - start).max(0.0)
    }
}

impl fmt::Display for DemoReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "softacl {} as {}: KV-cache offload through the C interface",
            env!("CARGO_PKG_VERSION"),
            acl::soc_name()
        )?;
        writeln!(
            f,
            "cache of {} blocks of {} ({}), moved in scattered order between device and pinned memory\n",
            self.blocks,
            size(self.block_size),
            size(self.blocks * self.block_size)
        )?;
        writeln!(f, "{:<34} {:>9} {:>10} {:>9} {:>12}", "step", "bytes", "time", "GB/s", "of memcpy")?;
        for step in &self.steps {
            writeln!(
                f,
                "{:<34} {:>9} {:>7.2} ms {:>9.1} {:>11.2}x",
                step.name,
                size(step.bytes),
                step.seconds * 1e3,
                step.bytes as f64 / step.seconds / 1e9,
                step.seconds / step.memcpy_seconds
            )?;
        }
        let Overlap { offload_ms, reload_ms } = &self.overlap;
        writeln!(
            f,
            "\noverlap   offload {:.2} to {:.2} ms, reload {:.2} to {:.2} ms: {:.2} ms at the same time",
            offload_ms[0],
            offload_ms[1],
            reload_ms[0],
            reload_ms[1],
            self.overlap.common_ms()
        )?;
        writeln!(
            f,
            "order     the compute stream waited for an event of the reload stream and saw the reloaded block"
        )?;
        writeln!(f, "verified  {} bytes of cache and offload pool, all as expected", self.verified_bytes)?;
        writeln!(
            f,
            "\n\"of memcpy\" is the time of the step divided by that of a memcpy loop over the same bytes, measured in turns."
        )
    }
}
