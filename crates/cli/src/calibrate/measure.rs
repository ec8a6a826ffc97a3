//! The measurements. Each compares two runs of different length, so that what a run costs once cancels out.

use super::memory::{self, Neighbor};
use crate::bench::c_api::{copy_on_device, download, make_current, synchronize, upload, upload_batch};
use anyhow::{Result, ensure};
use ascendcl::sys::ACL_MEMCPY_DEVICE_TO_HOST;
use ascendcl::{Context, Device, Stream, raw};
use softacl_profiles::{Figure, FigureName, Figures, Quality, Unit};
use std::ffi::c_void;
use std::time::{SystemTime, UNIX_EPOCH};

/// Bytes of a copy whose transfer takes no time worth mentioning.
const SMALL: usize = 64;
/// Bytes of a copy that is bound by the link.
pub const LARGE: usize = 32 << 20;
/// Operations in the shorter run; the longer one has twice as many.
pub const CALLS: usize = 100;
/// Copies in the shorter run of a bandwidth.
pub const COPIES: usize = 4;
/// Entries of the smaller batch; the larger one has twice as many.
const ENTRIES: usize = 64;

/// A context, a stream and memory.
pub struct Bench {
    _context: Context,
    pub stream: Stream,
    host: usize,
    pub device: usize,
    pub neighbor: Option<Neighbor>,
    _memory: (ascendcl::PinnedBuffer<u8>, ascendcl::DeviceBuffer<u8>),
}

/// Measures everything that can be measured without kernels.
pub fn all(device: Device, repeat: u32, source: &str) -> Result<Figures> {
    let context = device.new_context()?;
    let memory = (context.alloc_pinned::<u8>(LARGE)?, context.alloc_zeros::<u8>(2 * LARGE)?);
    let stream = context.new_stream()?;
    let neighbor = Neighbor::of(&context)?;
    make_current(&context)?;
    neighbor.as_ref().map(Neighbor::enable).transpose()?;
    let (host, device) = (memory.0.as_raw() as usize, memory.1.as_raw() as usize);
    let bench = Bench { _context: context, stream, host, device, neighbor, _memory: memory };
    let mut figures = Figures::default();
    let mut add = |name: FigureName, mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        let (low, high) = (values[0], values[values.len() - 1]);
        let rounded = |value: f64| (value * 1e4).round() / 1e4;
        figures.insert(
            name,
            Figure {
                value: rounded(values[values.len() / 2]),
                unit: name.unit(),
                interval: [rounded(low), rounded(high)],
                quality: Quality::Measured,
                source: source.to_owned(),
                link: None,
                date: today(),
                note: None,
            },
        );
    };
    // The first run warms up, and is not counted.
    let repeated = |of: &dyn Fn() -> Result<Option<f64>>| {
        of()?;
        (0..repeat).map(|_| of()).collect::<Result<Option<Vec<f64>>>>()
    };
    let first = MEASUREMENTS.iter().map(|(name, measure)| (*name, repeated(&|| measure(&bench).map(Some))));
    let second = memory::MEASUREMENTS.iter().map(|(name, measure)| (*name, repeated(&|| measure(&bench))));
    for (name, values) in first.chain(second) {
        let Some(values) = values? else { continue };
        ensure!(values.iter().all(|value| value.is_finite()), "{name} could not be measured: {values:?}");
        // A difference of two noisy times can be below zero; a figure cannot.
        let floor = if name.unit() == Unit::GigabytesPerSecond { f64::MIN_POSITIVE } else { 0.0 };
        add(name, values.into_iter().map(|value| value.max(floor)).collect());
    }
    Ok(figures)
}

type Measurement = fn(&Bench) -> Result<f64>;

const MEASUREMENTS: &[(FigureName, Measurement)] = &[
    (FigureName::SubmitHostCopy, |bench| bench.submit_host()),
    (FigureName::SubmitDeviceCopy, |bench| bench.submit_device()),
    (FigureName::SubmitEvent, |bench| bench.slope(CALLS, |bench| bench.stream.record().map(drop).map_err(Into::into))),
    (FigureName::Query, |bench| bench.slope(CALLS, |bench| bench.stream.is_idle().map(drop).map_err(Into::into))),
    (FigureName::SynchronizeIdle, |bench| bench.slope(CALLS, |bench| synchronize(&bench.stream))),
    (FigureName::WakeUp, |bench| {
        let both = bench.slope(CALLS, |bench| {
            upload(bench.device, bench.host, SMALL, &bench.stream)?;
            synchronize(&bench.stream)
        })?;
        Ok(both - bench.submit_host()?)
    }),
    (FigureName::BlockingCopy, |bench| bench.slope(CALLS, |bench| bench.download_now())),
    (FigureName::BatchCall, |bench| {
        let [small, large] = bench.batches()?;
        Ok(2.0 * small - large)
    }),
    (FigureName::BatchEntrySaving, |bench| {
        let [small, large] = bench.batches()?;
        Ok(bench.submit_host()? - (large - small) / ENTRIES as f64)
    }),
    (FigureName::HostToDevice, |bench| bench.rate(|bench| upload(bench.device, bench.host, LARGE, &bench.stream))),
    (FigureName::DeviceToHost, |bench| bench.rate(|bench| download(bench.host, bench.device, LARGE, &bench.stream))),
];

impl Bench {
    /// Microseconds between two events around `count` operations.
    pub fn time(&self, count: usize, operation: impl Fn(&Bench) -> Result<()>) -> Result<f64> {
        self.stream.synchronize()?;
        let start = self.stream.record()?;
        for _ in 0..count {
            operation(self)?;
        }
        let end = self.stream.record()?;
        end.synchronize()?;
        Ok(end.elapsed_since(&start)?.as_nanos() as f64 / 1e3)
    }

    /// Microseconds of one more operation.
    pub fn slope(&self, count: usize, operation: impl Fn(&Bench) -> Result<()>) -> Result<f64> {
        let [short, long] = [self.time(count, &operation)?, self.time(2 * count, &operation)?];
        Ok((long - short) / count as f64)
    }

    /// GB/s of large copies.
    fn rate(&self, operation: impl Fn(&Bench) -> Result<()>) -> Result<f64> {
        Ok(LARGE as f64 / 1e3 / self.slope(COPIES, operation)?)
    }

    pub fn submit_device(&self) -> Result<f64> {
        self.slope(CALLS, |bench| copy_on_device(bench.device + LARGE, bench.device, SMALL, &bench.stream))
    }

    fn submit_host(&self) -> Result<f64> {
        self.slope(CALLS, |bench| upload(bench.device, bench.host, SMALL, &bench.stream))
    }

    /// Copies a few bytes to the host, synchronously.
    fn download_now(&self) -> Result<()> {
        let (target, source) = (self.host as *mut c_void, self.device as *const c_void);
        // SAFETY: both ranges are inside memory that the bench owns, and the function checks its arguments.
        Ok(unsafe { raw::aclrtMemcpy(target, SMALL, source, SMALL, ACL_MEMCPY_DEVICE_TO_HOST) }?)
    }

    /// Microseconds of batches with `ENTRIES` and twice as many entries.
    fn batches(&self) -> Result<[f64; 2]> {
        let of = |entries: usize| {
            let at = |start: usize| (0..entries).map(|index| start + index * SMALL).collect::<Vec<usize>>();
            let (targets, sources, sizes) = (at(self.device), at(self.host), vec![SMALL; entries]);
            self.slope(CALLS / 4, |bench| upload_batch(&targets, &sources, &sizes, &bench.stream))
        };
        Ok([of(ENTRIES)?, of(2 * ENTRIES)?])
    }
}

/// The date, as YYYY-MM-DD.
fn today() -> String {
    let days = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs() / 86_400);
    let (year, month, day) = date_of(days);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The date of a day since 1970, in the Gregorian calendar.
fn date_of(days: u64) -> (u64, u64, u64) {
    // Counted in years that begin in March, so that the leap day is the last one.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        assert_eq!(date_of(0), (1970, 1, 1));
        assert_eq!(date_of(19_782), (2024, 2, 29));
        assert_eq!(date_of(20_775), (2026, 11, 18));
    }
}
