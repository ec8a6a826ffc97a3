//! What was found: rows for people as a table, for scripts as JSON. Read again by `--compare`.

use super::case::{Case, CaseOutcome};
use super::statistics::Summary;
use super::sweep::Sweep;
use crate::units::{digits, duration, size};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::IsTerminal;

#[derive(Debug, Serialize, Deserialize)]
pub struct BenchReport {
    pub softacl: String,
    /// Few rounds and small sizes: not to be compared with a full run.
    pub quick: bool,
    pub machine: HostInfo,
    pub cases: Vec<Row>,
    /// What `--plot` drew.
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
    /// Why it was waived or failed.
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
    Waived,
    Failed,
}

/// A quantity and its bar. Smaller is better.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Measurement {
    pub measure: String,
    pub unit: String,
    #[serde(flatten)]
    pub value: Summary,
    pub bar: Option<f64>,
    pub reached: Option<bool>,
}

/// Times of softacl or of a reference, per unit of work.
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

    pub fn waived(case: &Case, reason: String) -> Row {
        Row::empty(case, RowState::Waived, Some(reason))
    }

    pub fn failed(case: &Case, error: &anyhow::Error) -> Row {
        Row::empty(case, RowState::Failed, Some(format!("{error:#}")))
    }

    pub fn measured(case: &Case, outcome: CaseOutcome) -> Row {
        let results = case.bars.iter().filter_map(|bar| {
            let value = bar.measure.value(&outcome.series)?;
            Some(Measurement {
                measure: bar.measure.name(),
                unit: bar.measure.suffix().trim().to_owned(),
                value,
                bar: bar.limit,
                reached: bar.limit.map(|limit| value.median <= limit),
            })
        });
        let counts = case.bars.iter().any(|bar| bar.measure.is_count());
        let times = outcome.series.iter().filter(|_| !counts).map(|series| {
            let ns = Summary::of(&series.samples);
            let moves = outcome.unit_bytes > 0 && series.name != super::interleave::PAIR;
            Timing {
                name: series.name.to_owned(),
                ns,
                gigabytes_per_second: moves.then(|| outcome.unit_bytes as f64 / ns.median),
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

/// The table, in colour on a terminal.
pub struct Table {
    colour: bool,
}

#[derive(Clone, Copy)]
pub enum Colour {
    Green = 32,
    Red = 31,
    Yellow = 33,
    Grey = 90,
    Bold = 1,
}

impl Table {
    pub fn new() -> Table {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Table { colour: wanted && std::io::stdout().is_terminal() }
    }

    pub fn paint(&self, colour: Colour, text: &str) -> String {
        if self.colour { format!("\x1b[{}m{text}\x1b[0m", colour as u8) } else { text.to_owned() }
    }

    pub fn heading(&self) -> String {
        let line = format!(
            "{:<28} {:<24} {:>12} {:>17} {:>12}  reached  times",
            "case", "measure", "median", "quartiles", "bar"
        );
        self.paint(Colour::Bold, &line)
    }

    /// A row has one line for each quantity.
    pub fn row(&self, row: &Row) -> String {
        let reason = row.reason.as_deref().unwrap_or_default();
        match row.state {
            RowState::Waived => {
                return format!("{:<28} {}", row.key, self.paint(Colour::Yellow, &format!("waived: {reason}")));
            }
            RowState::Failed => {
                return format!("{:<28} {}", row.key, self.paint(Colour::Red, &format!("FAILED: {reason}")));
            }
            RowState::Measured => {}
        }
        let mut lines = Vec::new();
        for (index, finding) in row.results.iter().enumerate() {
            let Measurement { value, unit, .. } = finding;
            let spread = if value.samples > 1 {
                format!("{}..{}", digits(value.low), digits(value.high))
            } else {
                "-".to_owned()
            };
            let bar = finding.bar.map_or_else(String::new, |bar| quantity(bar, unit));
            let reached = match finding.reached {
                Some(true) => self.paint(Colour::Green, "yes    "),
                Some(false) => self.paint(Colour::Red, "no     "),
                None => "       ".to_owned(),
            };
            let tail = if index == 0 { self.paint(Colour::Grey, &times(row)) } else { String::new() };
            let key = if index == 0 { row.key.as_str() } else { "" };
            let median = quantity(value.median, unit);
            let line =
                format!("{key:<28} {:<24} {median:>12} {spread:>17} {bar:>12}  {reached}  {tail}", finding.measure);
            lines.push(line.trim_end().to_owned());
        }
        lines.join("\n")
    }

    pub fn summary(&self, report: &BenchReport) -> String {
        let bars = || report.cases.iter().flat_map(|row| &row.results).filter_map(|finding| finding.reached);
        let waived = report.cases.iter().filter(|row| row.state == RowState::Waived).count();
        let verified: usize = report.cases.iter().map(|row| row.verified_bytes).sum();
        let HostInfo { processor, cores, pocl } = &report.machine;
        let pocl = pocl.as_deref().unwrap_or("not used");
        let quick = if report.quick { " Quick run: small sizes, few rounds, for a first look only." } else { "" };
        format!(
            "\n{} of {} bars reached, {waived} cases waived, {} verified.{quick}\n\
             {processor}, {cores} cores. PoCL: {pocl}. HIP-CPU is not measured.\n\
             x: time over that of the reference, round by round. pair: one lock and unlock of a free mutex. Smaller is better.",
            bars().filter(|reached| *reached).count(),
            bars().count(),
            size(verified),
        )
    }
}

fn times(row: &Row) -> String {
    let one = |timing: &Timing| {
        let rate = match timing.gigabytes_per_second {
            Some(rate) if rate >= 0.1 && timing.ns.median >= 1000.0 => format!(" ({rate:.1} GB/s)"),
            _ => String::new(),
        };
        format!("{} {}{rate}", timing.name, duration(timing.ns.median))
    };
    row.times.iter().map(one).collect::<Vec<_>>().join(", ")
}

pub fn quantity(value: f64, unit: &str) -> String {
    match unit {
        "x" => format!("{}x", digits(value)),
        unit => format!("{} {unit}", digits(value)),
    }
}
