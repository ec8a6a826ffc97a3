//! Report of the demo: a table for people, JSON for scripts.

use crate::units::size;
use serde::Serialize;
use std::fmt;

#[derive(Serialize)]
pub struct DemoReport {
    #[serde(skip)]
    pub soc: String,
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
    /// Time of a memcpy loop over the same number of bytes, measured alternately with the step.
    pub memcpy_seconds: f64,
}

/// Start and end of the work of two streams, in milliseconds after a common origin.
#[derive(Default, Serialize)]
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
        let version = env!("CARGO_PKG_VERSION");
        writeln!(f, "softacl {version} as {}: KV-cache offload through the C API", self.soc)?;
        writeln!(
            f,
            "cache of {} blocks of {} ({}), moved in scattered order between device and pinned memory\n",
            self.blocks,
            size(self.block_size),
            size(self.blocks * self.block_size)
        )?;
        writeln!(f, "{:<34} {:>9} {:>10} {:>9} {:>12}", "step", "bytes", "time", "GB/s", "vs memcpy")?;
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
            "\noverlap   offload {:.2} to {:.2} ms, reload {:.2} to {:.2} ms: {:.2} ms in parallel",
            offload_ms[0],
            offload_ms[1],
            reload_ms[0],
            reload_ms[1],
            self.overlap.common_ms()
        )?;
        writeln!(
            f,
            "order     the compute stream waited for an event of the reload stream and copied the reloaded block"
        )?;
        writeln!(f, "verified  {} bytes of cache and offload pool, all as expected", self.verified_bytes)?;
        writeln!(f, "\n\"vs memcpy\" is the time of the step divided by the time of a memcpy loop over as many bytes.")
    }
}
