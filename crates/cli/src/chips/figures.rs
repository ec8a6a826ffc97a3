//! `softacl chips --timing`: the timing figures of chips, and the error of every published row.

use crate::output;
use anyhow::Result;
use serde_json::{Value, json};
use softacl_profiles::{Chip, FigureName};
use softacl_timing::published::{errors, predictions};
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
        writeln!(
            text,
            "{:<26} {:>8} {:<5} {:<18} {:<9} {}, {}",
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
        FigureName::ALL.iter().filter(|name| chip.timing.get(**name).is_none()).map(|name| name.key()).collect();
    writeln!(text, "\nnot known: {}\n", missing.join(", "))?;
    writeln!(text, "{:<62} {:>9} {:>9} {:<5} {:>7}", "published measurement", "measured", "model", "unit", "error")?;
    let predictions = predictions(chip);
    for prediction in &predictions {
        writeln!(
            text,
            "{:<62} {:>9.2} {:>9.2} {:<5} {:>5.1} %{}",
            prediction.row.what,
            prediction.row.measured,
            prediction.predicted,
            prediction.row.unit().name(),
            100.0 * prediction.error,
            if prediction.row.is_fit { "  (fitted)" } else { "" },
        )?;
    }
    if let Some((median, worst, count)) = errors(&predictions) {
        let (median, worst) = (100.0 * median, 100.0 * worst);
        writeln!(text, "\n{count} rows that nothing was fitted to: median error {median:.1} %, worst {worst:.1} %")?;
    }
    Ok(text)
}

fn as_json(chip: &Chip) -> Value {
    let predictions = predictions(chip);
    json!({
        "family": chip.family,
        "figures": chip.timing,
        "predictions": predictions,
        "errors": errors(&predictions).map(|(median, worst, rows)| json!({
            "median": median, "worst": worst, "rows": rows,
        })),
    })
}
