//! Report of the benchmark: a table for people, JSON for scripts and for `--compare`.

use super::case::{Case, Target};
use super::outcome::CaseOutcome;
use super::statistics::Summary;
use super::sweep::Sweep;
use crate::output;
use crate::units::{digits, duration, size};
use serde::{Deserialize, Serialize};
use std::fs;

#[derive(Debug, Serialize, Deserialize)]
pub struct BenchReport {
    pub softacl: String,
    /// True for few rounds and small sizes, which are not comparable with a full run.
    pub quick: bool,
    pub machine: HostInfo,
    pub cases: Vec<Row>,
    /// Data of the charts of `--plot`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sweeps: Vec<Sweep>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct HostInfo {
    pub processor: String,
    pub cores: usize,
    pub pocl: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Row {
    pub key: String,
    pub title: String,
    pub state: RowState,
    /// Why the case was skipped or failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub results: Vec<Measurement>,
    pub times: Vec<Timing>,
    pub verified_bytes: usize,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowState {
    Measured,
    #[serde(alias = "waived")]
    Skipped,
    Failed,
}

/// A metric and its target. Lower is better.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Measurement {
    pub measure: String,
    pub unit: String,
    #[serde(flatten)]
    pub value: Summary,
    #[serde(alias = "bar")]
    pub target: Option<f64>,
    pub reached: Option<bool>,
}

/// Time of softacl or of a reference per unit of work.
#[derive(Debug, Serialize, Deserialize)]
pub struct Timing {
    pub name: String,
    pub ns: Summary,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gigabytes_per_second: Option<f64>,
}

impl HostInfo {
    pub fn this(pocl: Option<String>) -> HostInfo {
        let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1));
        HostInfo {
            processor: name.unwrap_or("unknown").trim().to_owned(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            pocl,
        }
    }
}

impl Row {
    fn empty(case: &Case, state: RowState, reason: Option<String>) -> Row {
        Row {
            key: case.key.to_owned(),
            title: case.title.to_owned(),
            state,
            reason,
            results: Vec::new(),
            times: Vec::new(),
            verified_bytes: 0,
            notes: Vec::new(),
        }
    }

    pub fn skipped(case: &Case, reason: String) -> Row {
        Row::empty(case, RowState::Skipped, Some(reason))
    }

    pub fn failed(case: &Case, error: &anyhow::Error) -> Row {
        Row::empty(case, RowState::Failed, Some(format!("{error:#}")))
    }

    pub fn measured(case: &Case, outcome: CaseOutcome) -> Row {
        let results = case.targets.iter().filter_map(|target| {
            let value = target.measure.value(&outcome.series)?;
            Some(Measurement {
                measure: target.measure.name(),
                unit: target.measure.suffix().trim().to_owned(),
                value,
                target: target.limit,
                reached: target.limit.map(|limit| value.median <= limit),
            })
        });
        let has_counts = case.targets.iter().any(|target| target.measure.is_count());
        let times = outcome.series.iter().filter(|_| !has_counts).map(|series| {
            let ns = Summary::of(&series.samples);
            let has_rate = outcome.unit_bytes > 0 && series.name != super::interleave::PAIR;
            Timing {
                name: series.name.to_owned(),
                ns,
                gigabytes_per_second: has_rate.then(|| outcome.unit_bytes as f64 / ns.median),
            }
        });
        Row {
            results: results.collect(),
            times: times.collect(),
            verified_bytes: outcome.verified_bytes,
            notes: outcome.notes,
            ..Row::empty(case, RowState::Measured, None)
        }
    }
}

/// The table, in color on a terminal.
pub struct Table {
    color: bool,
}

#[derive(Clone, Copy)]
pub enum Color {
    Green = 32,
    Red = 31,
    Yellow = 33,
    Gray = 90,
    Bold = 1,
}

impl Table {
    pub fn new() -> Table {
        Table { color: output::has_color() }
    }

    pub fn paint(&self, color: Color, text: &str) -> String {
        if self.color { format!("\x1b[{}m{text}\x1b[0m", color as u8) } else { text.to_owned() }
    }

    pub fn heading(&self) -> String {
        let line = format!(
            "{:<28} {:<24} {:>12} {:>17} {:>12}  reached  times",
            "case", "measure", "median", "quartiles", "target"
        );
        self.paint(Color::Bold, &line)
    }

    /// Formats a row, one line per metric.
    pub fn row(&self, row: &Row) -> String {
        let reason = row.reason.as_deref().unwrap_or_default();
        match row.state {
            RowState::Skipped => {
                return format!("{:<28} {}", row.key, self.paint(Color::Yellow, &format!("skipped: {reason}")));
            }
            RowState::Failed => {
                return format!("{:<28} {}", row.key, self.paint(Color::Red, &format!("FAILED: {reason}")));
            }
            RowState::Measured => {}
        }
        let mut lines = Vec::new();
        for (index, measurement) in row.results.iter().enumerate() {
            let Measurement { value, unit, .. } = measurement;
            let spread = if value.samples > 1 {
                format!("{}..{}", digits(value.low), digits(value.high))
            } else {
                "-".to_owned()
            };
            let target = measurement.target.map_or_else(String::new, |target| quantity(target, unit));
            let reached = match measurement.reached {
                Some(true) => self.paint(Color::Green, "yes    "),
                Some(false) => self.paint(Color::Red, "no     "),
                None => "       ".to_owned(),
            };
            let tail = if index == 0 { self.paint(Color::Gray, &times(row)) } else { String::new() };
            let key = if index == 0 { row.key.as_str() } else { "" };
            let median = quantity(value.median, unit);
            let line = format!(
                "{key:<28} {:<24} {median:>12} {spread:>17} {target:>12}  {reached}  {tail}",
                measurement.measure
            );
            lines.push(line.trim_end().to_owned());
        }
        lines.join("\n")
    }

    pub fn summary(&self, report: &BenchReport) -> String {
        let targets = || report.cases.iter().flat_map(|row| &row.results).filter_map(|measurement| measurement.reached);
        let skipped = report.cases.iter().filter(|row| row.state == RowState::Skipped).count();
        let verified: usize = report.cases.iter().map(|row| row.verified_bytes).sum();
        let HostInfo { processor, cores, pocl } = &report.machine;
        let pocl = pocl.as_deref().unwrap_or("not used");
        let quick =
            if report.quick { " Quick run: small sizes and few rounds, for a first impression only." } else { "" };
        format!(
            "\n{} of {} targets reached, {skipped} cases skipped, {} verified.{quick}\n\
             {processor}, {cores} cores. PoCL: {pocl}.\n\
             x: softacl's time divided by the reference's, per round. pair: one uncontended mutex lock and unlock. \
             Lower is better.",
            targets().filter(|reached| *reached).count(),
            targets().count(),
            size(verified),
        )
    }
}

/// Returns the targets of a case, in parentheses.
pub fn targets(case: &Case) -> String {
    let target = |target: &Target| {
        let limit = quantity(target.limit?, target.measure.suffix().trim());
        Some(format!("{} at most {limit}", target.measure.name()))
    };
    let targets: Vec<String> = case.targets.iter().filter_map(target).collect();
    if targets.is_empty() { String::new() } else { format!(" ({})", targets.join("; ")) }
}

fn times(row: &Row) -> String {
    let format_one = |timing: &Timing| {
        let rate = match timing.gigabytes_per_second {
            Some(rate) if rate >= 0.1 && timing.ns.median >= 1000.0 => format!(" ({rate:.1} GB/s)"),
            _ => String::new(),
        };
        format!("{} {}{rate}", timing.name, duration(timing.ns.median))
    };
    row.times.iter().map(format_one).collect::<Vec<_>>().join(", ")
}

pub fn quantity(value: f64, unit: &str) -> String {
    match unit {
        "x" => format!("{}x", digits(value)),
        unit => format!("{} {unit}", digits(value)),
    }
}
