//! The timing report as text. Every time has its interval.

use crate::units;
use softacl_timing::report::{Range, Report};
use std::fmt::Write as _;

/// Lines of the critical path that are shown.
const PATH_LINES: usize = 6;

/// Formats a time with its interval.
pub fn time(range: Range) -> String {
    format!("{} [{}, {}]", units::duration(range.expected), units::duration(range.low), units::duration(range.high))
}

/// Formats a share with its interval.
pub fn share(range: Range) -> String {
    format!("{:.0} % [{:.0}, {:.0}]", 100.0 * range.expected, 100.0 * range.low, 100.0 * range.high)
}

/// Formats a difference with its error: half the width of the interval, rounded up to the worse side.
pub fn saving(range: Range) -> String {
    let error = (range.high - range.expected).max(range.expected - range.low);
    let sign = if range.expected < 0.0 { "-" } else { "" };
    format!("{sign}{} ± {}", units::duration(range.expected.abs()), units::duration(error))
}

pub fn render(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write(report, &mut text);
    text
}

fn write(report: &Report, text: &mut String) -> std::fmt::Result {
    writeln!(text, "\nsoftacl: virtual time on {}, with [low, high] from the intervals of the figures", report.soc)?;
    writeln!(text, "  total               {}", time(report.total_ns))?;
    writeln!(text, "  host in submits     {}", time(report.submit_ns))?;
    writeln!(text, "  host in waits       {}", time(report.wait_ns))?;
    if report.stalls > 0 {
        let (stall, count) = (time(report.stall_ns), report.stalls);
        writeln!(text, "  stalls              {stall} in {count} copies that pageable memory makes synchronous")?;
    }
    if report.copying_ns.expected > 0.0 {
        writeln!(text, "  copies run          {}", time(report.copying_ns))?;
        writeln!(text, "  behind kernels      {} of that", share(report.overlap))?;
    }
    if !report.engines.is_empty() {
        writeln!(text, "\n  {:<22} {:>16} {:>28} {:>9} {:>10}  figure", "engine", "busy", "time", "tasks", "bytes")?;
    }
    for line in &report.engines {
        writeln!(
            text,
            "  {:<22} {:>16} {:>28} {:>9} {:>10}  {}",
            line.engine,
            share(line.share),
            time(line.busy_ns),
            line.tasks,
            units::size(line.bytes as usize),
            line.quality.map_or("not known", softacl_profiles::Quality::name),
        )?;
    }
    if !report.phases.is_empty() {
        writeln!(text, "\n  {:<30} {:>6}  time", "phase", "count")?;
    }
    for phase in &report.phases {
        writeln!(text, "  {:<30} {:>6}  {}", phase.name, phase.count, time(phase.ns))?;
    }
    writeln!(text, "\n  critical path")?;
    for line in report.critical_path.iter().take(PATH_LINES) {
        writeln!(text, "  {:>16}  {:<60} {}", share(line.share), line.what, time(line.ns))?;
    }
    if let Some(sentence) = sentence(report) {
        writeln!(text, "\n  {sentence}")?;
    }
    for line in &report.unknown {
        writeln!(text, "  not known: {line}; they count as no time")?;
    }
    if !report.kernels_without_time.is_empty() {
        let names = report.kernels_without_time.join(", ");
        writeln!(text, "  kernels without a time: {names}; give it with --kernel NAME=TIME")?;
    }
    Ok(())
}

/// What limits the program, and what batches would save.
pub fn sentence(report: &Report) -> Option<String> {
    let first = report.critical_path.first()?;
    let mut text = format!("{} of the time goes to {}", share(first.share), first.what);
    match report.batches.iter().max_by(|one, other| one.saves_ns.expected.total_cmp(&other.saves_ns.expected)) {
        Some(batch) if batch.saves_ns.expected <= 0.0 => text += "; batches would save nothing",
        Some(batch) => {
            let _ = write!(
                text,
                "; joining {} copies to batches of {} would save {}",
                batch.copies,
                batch.entries,
                saving(batch.saves_ns)
            );
        }
        None => text += "; there are no neighboring copies that a batch could join",
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_the_worse_side() {
        let range = Range { expected: 18e6, low: 16e6, high: 21e6 };
        assert_eq!(saving(range), "18.0 ms ± 3.00 ms");
        assert_eq!(saving(Range { expected: -2e3, low: -3e3, high: 0.0 }), "-2.00 us ± 2.00 us");
        assert_eq!(time(range), "18.0 ms [16.0 ms, 21.0 ms]");
    }
}
