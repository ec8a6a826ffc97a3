//! The measurements of calls and of copies between pinned memory and a device, and the figures that all measurements
//! result in.

use super::bench::{Bench, CALLS, ENTRIES, LARGE, SMALL};
use super::memory;
use crate::bench::c_api::{download, synchronize, upload};
use anyhow::{Result, ensure};
use ascendcl::Device;
use softacl_profiles::{Figure, FigureName, Figures, Quality, Unit};
use std::time::{SystemTime, UNIX_EPOCH};

/// Measures everything that can be measured without kernels.
pub fn all(device: Device, repeat: u32, source: &str) -> Result<Figures> {
    let bench = Bench::new(device)?;
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
