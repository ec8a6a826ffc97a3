//! `--explore`: runs the program in every order that can make a difference.
//!
//! | module | contents |
//! | --- | --- |
//! | `trace` | the steps of one run |
//! | `races`, `tree` | which orders there are: pure |
//! | `runner` | one run of the program |
//! | `shrink`, `story` | an order with few decisions, its sentences and its drawing |
//! | `search` | all runs, on all cores |
//!
//! How the program is made to follow an order is part of the engine (`executor::replay`).

mod races;
mod runner;
mod search;
mod shrink;
mod story;
mod trace;
mod tree;

use super::arguments::{Arguments, repro_command};
use super::outcome::new_outcome;
use crate::output;
use anyhow::Result;
use runner::{Failure, Run, Runner};
use search::{Cause, Search, Symptom};
use softacl_checker::finding::Severity;
use softacl_checker::report::Outcome;
use softacl_checker::report::exploration::{Exploration, OrderFinding, grouped};
use softacl_checker::report::suppression::Suppressions;
use softacl_engine::order::Order;
use std::fs::{self, File};
use std::io::{self, Write};
use std::time::Duration;

/// Failures and findings that are reduced to the decisions that matter. The others are reported with their whole order.
const MAX_SHRUNK: usize = 5;
/// Runs that the reduction of one order may take.
const MAX_SHRINK_RUNS: usize = 200;

pub fn run(arguments: &Arguments, suppressions: &Suppressions, stdout: Option<&File>) -> Result<Outcome> {
    let mut outcome = new_outcome(arguments, "explore");
    outcome.repeat = repro_command(arguments, &["--explore"]);
    let search = Search::run(arguments, suppressions, &mut outcome)?;
    let mut exploration = search.result();
    exploration.proven = outcome.count(Severity::Proven) as u64;
    for (index, cause) in search.causes.iter().enumerate() {
        let finding = finding(arguments, &search, cause, index)?;
        exploration.findings.push(finding);
    }
    show(&search.shown, stdout)?;
    outcome.exit_code = Some(search.shown.exit_code);
    outcome.exploration = Some(exploration);
    Ok(outcome)
}

/// Reduces the order of a cause, writes it to a file, and describes it.
fn finding(arguments: &Arguments, search: &Search, cause: &Cause, index: usize) -> Result<OrderFinding> {
    let mut runner = Runner::new(arguments)?;
    let limit = search.limit();
    let mut repeat = |constraints: &[_], is_narrated: bool| -> Result<Run> {
        let order = Order { constraints: constraints.to_vec(), is_narrated, ..Order::default() };
        runner.run(&order, limit, Some(&search.expected))
    };
    let is_shown = |run: &Run| match &cause.symptom {
        Symptom::Failure(failure) => run.failure == Some(*failure),
        Symptom::Finding { id, brief } => run
            .reports
            .iter()
            .flat_map(|report| &report.findings)
            .any(|finding| finding.id == *id && finding.fingerprint == *brief),
    };
    let mut constraints = cause.constraints.clone();
    if index < MAX_SHRUNK && cause.symptom != Symptom::Failure(Failure::Hang) {
        constraints = shrink::shrink(constraints, MAX_SHRINK_RUNS, |some| Ok(is_shown(&repeat(some, false)?)))?;
    }
    let narrated = repeat(&constraints, true)?;
    let mut order = story::describe_order(&constraints, &narrated.trace, &narrated.reports);
    let drawing = story::draw_order(&constraints, &narrated.trace, &narrated.reports);
    // A narrated run names findings differently.
    if matches!(cause.symptom, Symptom::Failure(_)) && !is_shown(&narrated) {
        order.push("(this order did not show it again: the program is not deterministic)".to_owned());
    }
    let (what, is_failure) = match &cause.symptom {
        Symptom::Failure(failure) => (failure.text(), true),
        Symptom::Finding { id, .. } => (format!("finding {id}"), false),
    };
    let order_file = match constraints.is_empty() {
        true => None,
        false => {
            let path = format!("softacl-order-{}.txt", index + 1);
            let mut text = format!("# softacl check --schedule replay:{path}: {what}\n");
            for (constraint, sentence) in constraints.iter().zip(&order) {
                text += &format!("{constraint}   # {sentence}\n");
            }
            match fs::write(&path, text) {
                Ok(()) => Some(path),
                Err(error) => {
                    output::eprint_line(format_args!("softacl: could not write {path}: {error}"));
                    None
                }
            }
        }
    };
    let schedule = order_file.as_ref().map_or_else(|| "early".to_owned(), |path| format!("replay:{path}"));
    let repro_command = repro_command(arguments, &["--schedule", &schedule]);
    Ok(OrderFinding { what, is_failure, run: cause.run, order, drawing, order_file, repro_command })
}

/// Prints the output of a run, or writes its standard output to a file.
fn show(run: &search::Shown, stdout: Option<&File>) -> Result<()> {
    match stdout {
        Some(mut file) => file.write_all(&run.stdout)?,
        None => io::stdout().write_all(&run.stdout).and_then(|()| io::stdout().flush())?,
    }
    io::stderr().write_all(&run.stderr)?;
    Ok(())
}

impl Search {
    /// The numbers, and everything that limits them.
    fn result(&self) -> Exploration {
        let explored = self.tree.orders();
        let mut limits = Vec::new();
        for reason in &self.uncontrolled {
            limits.push(match reason.as_str() {
                "threads" => "the program's threads are not controlled: other threads than the first made calls",
                "processes" => "the program's processes are not controlled: only the orders of the first were explored",
                "function" => "a host function waited for the program, so what ran during that time was not controlled",
                "progress" => {
                    "the program waited for a task without making a call, so when that task ran was not controlled"
                }
                "timeout" => "a wait timed out; when that happens was not controlled",
                _ => "something was not controlled",
            });
        }
        let mut limits: Vec<String> = limits.into_iter().map(str::to_owned).collect();
        if self.tree.diverged > 0 {
            limits.push(format!(
                "the program is not deterministic: {} of {} runs did not follow their order",
                grouped(self.tree.diverged),
                grouped(self.runs)
            ));
        }
        if self.random_runs > 0 {
            limits.push(self.random_statement());
        }
        let complete = self.bound.is_none() && self.uncontrolled.is_empty() && self.tree.diverged == 0;
        Exploration {
            orders: explored + self.tree.left() as u64,
            explored,
            runs: self.runs,
            complete,
            bound: self.bound.clone(),
            random_runs: self.random_runs,
            limits,
            proven: 0,
            findings: Vec::new(),
        }
    }

    /// How likely random orders find what is left (Burckhardt and others, "A Randomized Scheduler with Probabilistic
    /// Guarantees of Finding Bugs").
    fn random_statement(&self) -> String {
        let (actors, steps) = (self.actors.max(1) as f64, self.steps.max(1) as f64);
        let each = 1.0 / (actors * steps.powi(search::RANDOM_DEPTH as i32 - 1));
        let together = 1.0 - (1.0 - each).powf(self.random_runs as f64);
        format!(
            "then {} random orders were run (priorities with {} changes, {} actors, {} steps): each finds a mistake that \
             takes {} ordered steps with a probability of at least 1 in {}, all together {:.2}%",
            grouped(self.random_runs),
            search::RANDOM_DEPTH - 1,
            self.actors,
            grouped(self.steps),
            search::RANDOM_DEPTH,
            grouped((1.0 / each) as u64),
            100.0 * together,
        )
    }

    /// How long a run may take.
    fn limit(&self) -> Duration {
        search::limit(self.first_duration)
    }
}
