//! `softacl chips --timing`: the timing figures of chips, and the error of every published row.

use crate::output;
use anyhow::Result;
use serde_json::{Value, json};
use softacl_profiles::{Chip, FigureName};
use softacl_timing::published::{Errors, errors, other_paths, predictions};
use std::fmt::Write as _;
use std::path::Path;

/// Shows the figures of these chips, or writes them as JSON.
pub fn main(chips: &[&Chip], json: Option<&Path>) -> Result<()> {
    match json {
        Some(path) => output::write_json(path, &chips.iter().map(|chip| as_json(chip)).collect::<Vec<_>>()),
        None => output::print(chips.iter().map(|chip| describe(chip)).collect::<Result<Vec<_>>>()?.join("\n")),
    }
}

fn describe(chip: &Chip) -> Result<String> {
    let mut text = String::new();
    if chip.timing.is_empty() {
        writeln!(text, "{} ({}): no timing figure is public", chip.family, chip.product)?;
        return Ok(text);
    }
    writeln!(text, "{} ({})\n", chip.family, chip.product)?;
    writeln!(text, "{:<26} {:>8} {:<5} {:<18} {:<9} source", "figure", "value", "unit", "interval", "quality")?;
    for (name, figure) in chip.timing.iter() {
        let [low, high] = figure.interval;
        let unused = if name.is_simulated() { "" } else { " (other path)" };
        writeln!(
            text,
            "{:<26} {:>8} {:<5} {:<18} {:<9} {}, {}{unused}",
            name.key(),
            figure.value,
            figure.unit.name(),
            format!("[{low}, {high}]"),
            figure.quality.name(),
            figure.source,
            figure.date,
        )?;
    }
    let missing: Vec<&str> =
        FigureName::ALL.iter().filter(|name| is_missing(chip, **name)).map(|name| name.key()).collect();
    writeln!(text, "\nnot known: {}\n", missing.join(", "))?;
    write_rows(&mut text, chip)?;
    Ok(text)
}

/// True if the simulation needs a figure that is not known.
fn is_missing(chip: &Chip, name: FigureName) -> bool {
    name.is_simulated() && chip.timing.get(name).is_none()
}

/// Writes every published row of a chip, and the errors of the model.
fn write_rows(text: &mut String, chip: &Chip) -> std::fmt::Result {
    writeln!(
        text,
        "{:<68} {:>9} {:>9} {:<5} {:<18} {:>7}",
        "published measurement", "measured", "model", "unit", "interval", "error"
    )?;
    let predictions = predictions(chip);
    for prediction in &predictions {
        writeln!(
            text,
            "{:<68} {:>9.2} {:>9.2} {:<5} {:<18} {:>5.1} %{}",
            prediction.row.what,
            prediction.row.measured,
            prediction.predicted,
            prediction.row.unit().name(),
            format!("[{:.2}, {:.2}]", prediction.interval[0], prediction.interval[1]),
            100.0 * prediction.error,
            if prediction.row.is_fit { "  (fitted)" } else { "" },
        )?;
    }
    if let Some(Errors { median, worst, rows, inside }) = errors(&predictions) {
        let (median, worst) = (100.0 * median, 100.0 * worst);
        writeln!(
            text,
            "\n{rows} rows that nothing was fitted to: median error {median:.1} %, worst {worst:.1} %; {inside} are inside \
             the interval"
        )?;
    }
    writeln!(text, "\n{:<68} {:>9}", "not a path of the simulator", "measured")?;
    for row in other_paths(chip) {
        writeln!(text, "{:<68} {:>9.2} {:>15}", row.what, row.measured, row.unit().name())?;
    }
    Ok(())
}

fn as_json(chip: &Chip) -> Value {
    let predictions = predictions(chip);
    json!({
        "family": chip.family,
        "figures": chip.timing,
        "predictions": predictions,
        "errors": errors(&predictions),
        "other_paths": other_paths(chip).collect::<Vec<_>>(),
    })
}
