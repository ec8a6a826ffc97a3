//! `softacl bench --history`: how the medians of each metric developed over several runs, as a table and as small charts.

use super::plot::{DARK, escape};
use super::report::{BenchReport, quantity};
use super::statistics::Summary;
use std::fmt::Write as _;
use std::path::Path;

/// A metric in all runs, in their order. `None` where a run does not have it.
#[derive(Debug)]
struct Track {
    key: String,
    measure: String,
    unit: String,
    values: Vec<Option<Summary>>,
}

impl Track {
    fn measured(&self) -> impl DoubleEndedIterator<Item = (usize, &Summary)> {
        self.values.iter().enumerate().filter_map(|(run, value)| Some((run, value.as_ref()?)))
    }

    /// The last median relative to the first, in percent. `None` without two medians.
    fn change(&self) -> Option<f64> {
        let (first, last) = (self.measured().next()?, self.measured().next_back()?);
        (first.0 != last.0 && first.1.median != 0.0).then(|| (last.1.median / first.1.median - 1.0) * 100.0)
    }
}

/// Collects the metrics of all runs, in the order of their first appearance.
fn tracks(runs: &[BenchReport]) -> Vec<Track> {
    let mut tracks: Vec<Track> = Vec::new();
    for (run, report) in runs.iter().enumerate() {
        for (row, result) in report.cases.iter().flat_map(|row| row.results.iter().map(move |result| (row, result))) {
            let is_same = |track: &Track| track.key == row.key && track.measure == result.measure;
            let at = tracks.iter().position(is_same).unwrap_or_else(|| {
                let (key, measure, unit) = (row.key.clone(), result.measure.clone(), result.unit.clone());
                tracks.push(Track { key, measure, unit, values: vec![None; runs.len()] });
                tracks.len() - 1
            });
            tracks[at].values[run] = Some(result.value);
        }
    }
    tracks
}

/// Returns the name of a run: that of its file.
fn name(file: &Path) -> String {
    file.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().chars().take(14).collect())
}

/// The medians of all runs, and the change from the first to the last.
pub fn table(files: &[impl AsRef<Path>], runs: &[BenchReport]) -> String {
    let mut text = format!("{:<28} {:<24}", "case", "measure");
    files.iter().for_each(|file| text += &format!(" {:>14}", name(file.as_ref())));
    text += "  change\n";
    for track in tracks(runs) {
        text += &format!("{:<28} {:<24}", track.key, track.measure);
        for value in &track.values {
            let cell = value.as_ref().map_or_else(|| "-".to_owned(), |value| quantity(value.median, &track.unit));
            text += &format!(" {cell:>14}");
        }
        let change = track.change().map_or_else(String::new, |change| format!(" {change:>+6.1}%"));
        text += &(change + "\n");
    }
    text
}

const COLUMNS: usize = 3;
const WIDTH: f64 = 290.0;
const HEIGHT: f64 = 150.0;
/// The plotting area of a chart.
const LEFT: f64 = 16.0;
const RIGHT: f64 = 274.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 130.0;

/// One small chart per metric, from 0 up: the line connects medians, the band is between the quartiles.
pub fn svg(files: &[impl AsRef<Path>], runs: &[BenchReport]) -> String {
    let tracks = tracks(runs);
    let (width, height) = (WIDTH * COLUMNS as f64, HEIGHT * tracks.len().div_ceil(COLUMNS) as f64 + 34.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"system-ui, 'DejaVu Sans', sans-serif\" font-size=\"12\" fill=\"#1f2937\">\n\
         <style>{DARK}</style><rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (index, track) in tracks.iter().enumerate() {
        let (x, y) = ((index % COLUMNS) as f64 * WIDTH, (index / COLUMNS) as f64 * HEIGHT);
        out += &format!("<g transform=\"translate({x} {y})\">\n{}</g>\n", chart(track));
    }
    let names: Vec<String> = files.iter().map(|file| name(file.as_ref())).collect();
    let caption = format!("From left to right: {}. Lower is better.", names.join(", "));
    out += &format!(
        "<text x=\"{LEFT}\" y=\"{}\" font-size=\"11\" fill=\"#6b7280\">{}</text>\n</svg>\n",
        height - 12.0,
        escape(&caption)
    );
    out
}

fn chart(track: &Track) -> String {
    let highest = track.measured().map(|(_, value)| value.high).fold(0.0, f64::max);
    let steps = track.values.len().saturating_sub(1).max(1) as f64;
    let across = |run: usize| LEFT + (RIGHT - LEFT) * run as f64 / steps;
    let up = |value: f64| if highest > 0.0 { BOTTOM - (BOTTOM - TOP) * value / highest } else { BOTTOM };
    let line = |of: fn(&Summary) -> f64| -> Vec<String> {
        track.measured().map(|(run, value)| format!("{:.1},{:.1}", across(run), up(of(value)))).collect()
    };
    let (medians, mut band) = (line(|value| value.median), line(|value| value.high));
    band.extend(line(|value| value.low).into_iter().rev());
    let mut out = String::new();
    let text = format!(
        "<text x=\"{LEFT}\" y=\"18\" font-weight=\"600\">{}</text>\n<text x=\"{LEFT}\" y=\"34\" \
         fill=\"#6b7280\">{}</text>\n<path d=\"M{LEFT} {BOTTOM}H{RIGHT}\" stroke=\"#9ca3af\"/>\n\
         <polygon points=\"{}\" fill=\"#0072b2\" fill-opacity=\"0.15\"/>\n<polyline points=\"{}\" fill=\"none\" \
         stroke=\"#0072b2\" stroke-width=\"2\"/>\n",
        escape(&track.key),
        escape(&track.measure),
        band.join(" "),
        medians.join(" ")
    );
    out += &text;
    for (run, value) in track.measured() {
        let label = escape(&quantity(value.median, &track.unit));
        let (x, y) = (across(run), up(value.median));
        let _ = writeln!(
            out,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"#0072b2\"><title>{label}</title></circle>"
        );
    }
    if let Some((_, last)) = track.measured().next_back() {
        let label = escape(&quantity(last.median, &track.unit));
        let _ = writeln!(out, "<text x=\"{RIGHT}\" y=\"34\" text-anchor=\"end\">{label}</text>");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(values: &[(&str, f64)]) -> BenchReport {
        let cases: Vec<_> = values
            .iter()
            .map(|(key, median)| {
                serde_json::json!({
                    "key": key, "title": "", "state": "measured", "times": [], "verified_bytes": 0, "notes": [],
                    "results": [{ "measure": "a < b", "unit": "ns", "low": median, "median": median, "high": median,
                                  "samples": 3, "target": null, "reached": null }],
                })
            })
            .collect();
        let machine = serde_json::json!({ "processor": "test", "cores": 2, "pocl": null });
        let report = serde_json::json!({ "softacl": "0", "quick": true, "machine": machine, "cases": cases });
        serde_json::from_value(report).expect("a report")
    }

    #[test]
    fn changes_are_those_from_the_first_run_with_the_metric_to_the_last() {
        let runs =
            [run(&[("copy", 20.0)]), run(&[("copy", 25.0), ("batch", 8.0)]), run(&[("copy", 30.0), ("batch", 4.0)])];
        let text = table(&["a.json", "dir/b.json", "c.json"], &runs);
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["case", "measure", "a", "b", "c", "change"]);
        assert_eq!(lines[1], ["copy", "a", "<", "b", "20.0", "ns", "25.0", "ns", "30.0", "ns", "+50.0%"]);
        assert_eq!(lines[2], ["batch", "a", "<", "b", "-", "8.00", "ns", "4.00", "ns", "-50.0%"]);
    }

    #[test]
    fn every_metric_has_a_chart_and_every_run_a_point() {
        let runs = [run(&[("copy", 20.0)]), run(&[("copy", 25.0), ("batch", 8.0)])];
        let text = svg(&["a.json", "b.json"], &runs);
        assert_eq!((text.matches("<polyline").count(), text.matches("<circle").count()), (2, 3));
        assert_eq!(text.matches("<text").count(), text.matches("</text>").count());
        assert!(text.contains("a &lt; b") && text.ends_with("</svg>\n") && !text.contains("NaN"), "{text}");
    }
}
