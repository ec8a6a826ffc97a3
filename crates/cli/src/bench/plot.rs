//! Draws sweeps as SVG: both axes are logarithmic, lines are medians, bands are quartile ranges. Two charts do not
//! justify a library.

use super::sweep::{Curve, Sample, Sweep};
use crate::units::size;
use std::fmt::Write;

const WIDTH: f64 = 880.0;
const HEIGHT: f64 = 445.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 150.0;
const TOP: f64 = 64.0;
const BOTTOM: f64 = 60.0;
/// Colors for readers who prefer a dark page: those of the timeline page.
pub(super) const DARK: &str = "@media (prefers-color-scheme: dark) { svg { fill: #e5e9f0; } rect[fill='white'] { fill: #1b2029; } \
    [stroke='#e5e7eb'] { stroke: #323a48; } [stroke='#f3f4f6'] { stroke: #262d39; } [stroke='#9ca3af'] { stroke: #5c6678; } \
    [fill='#6b7280'] { fill: #9aa5b8; } [stroke='#6b7280'] { stroke: #9aa5b8; } [fill='#0072b2'] { fill: #56b4e9; } \
    [stroke='#0072b2'] { stroke: #56b4e9; } [fill='#c1272d'] { fill: #ff6b72; } [stroke='#c1272d'] { stroke: #ff6b72; } }";
/// Distinguishable with color vision deficiency.
const COLORS: [&str; 4] = ["#c1272d", "#e69f00", "#0072b2", "#6b7280"];

/// Returns the color of a runner, which is the same in every chart.
fn color(name: &str) -> &'static str {
    let index = ["softacl", "softacl, loop", "memcpy", "PoCL"].iter().position(|known| *known == name);
    COLORS[index.unwrap_or(0)]
}

/// A logarithmic axis.
struct Axis {
    low: f64,
    high: f64,
    start: f64,
    end: f64,
}

impl Axis {
    fn position(&self, value: f64) -> f64 {
        let share = (value / self.low).ln() / (self.high / self.low).ln();
        self.start + share * (self.end - self.start)
    }

    /// Spans the values, with both ends on a step of 1, 2, 5.
    fn around(values: impl Iterator<Item = f64> + Clone, start: f64, end: f64) -> Axis {
        let min = values.clone().fold(f64::INFINITY, f64::min);
        let max = values.fold(0.0, f64::max);
        let low = round_steps(min, max).into_iter().rfind(|step| *step <= min).unwrap_or(min);
        let high = round_steps(min, max).into_iter().find(|step| *step >= max).unwrap_or(max);
        Axis { low, high, start, end }
    }
}

/// Returns 1, 2, 5, 10, ... around a range of positive numbers.
fn round_steps(min: f64, max: f64) -> Vec<f64> {
    let decades = min.log10().floor() as i32 - 1..=max.log10().ceil() as i32 + 1;
    decades.flat_map(|decade| [1.0, 2.0, 5.0].map(|step| step * 10f64.powi(decade))).collect()
}

pub fn svg(sweeps: &[Sweep], caption: &str) -> String {
    let height = HEIGHT * sweeps.len() as f64 + 30.0;
    let mut out = String::new();
    out += &format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" font-family=\"system-ui, 'DejaVu Sans', sans-serif\" font-size=\"13\" fill=\"#1f2937\">\n\
         <style>{DARK}</style><rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (index, sweep) in sweeps.iter().enumerate() {
        out += &format!("<g transform=\"translate(0 {})\">\n{}</g>\n", HEIGHT * index as f64, chart(sweep));
    }
    let bottom = height - 12.0;
    out += &format!(
        "<text x=\"{LEFT}\" y=\"{bottom}\" font-size=\"11\" fill=\"#6b7280\">{}</text>\n</svg>\n",
        escape(caption)
    );
    out
}

fn chart(sweep: &Sweep) -> String {
    let points = || sweep.curves.iter().flat_map(|curve| &curve.points);
    if points().next().is_none() {
        return String::new();
    }
    let sizes = points().map(|point| point.bytes as f64);
    let (min, max) = (sizes.clone().fold(f64::INFINITY, f64::min), sizes.fold(0.0, f64::max));
    let across = Axis { low: min, high: max.max(min * 2.0), start: LEFT, end: WIDTH - RIGHT };
    let values = points().flat_map(|point| [point.value.low, point.value.high]);
    let up = Axis::around(values, HEIGHT - BOTTOM, TOP);
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<text x=\"{LEFT}\" y=\"28\" font-size=\"15\" font-weight=\"600\">{}</text>",
        escape(&sweep.title)
    );
    let _ =
        writeln!(out, "<text x=\"{LEFT}\" y=\"46\" font-size=\"12\" fill=\"#6b7280\">{}</text>", escape(&sweep.note));
    grid(&mut out, sweep, &across, &up);
    for curve in &sweep.curves {
        draw(&mut out, curve, &across, &up);
    }
    legend(&mut out, sweep, &up);
    out
}

fn grid(out: &mut String, sweep: &Sweep, across: &Axis, up: &Axis) {
    for step in round_steps(up.low, up.high).into_iter().filter(|step| (up.low..=up.high).contains(step)) {
        let y = up.position(step);
        let _ = writeln!(out, "<path d=\"M{} {y:.1}H{}\" stroke=\"#e5e7eb\"/>", across.start, across.end);
        let _ =
            writeln!(out, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{step}</text>", across.start - 8.0, y + 4.5);
    }
    let mut bytes = across.low as usize;
    while bytes as f64 <= across.high {
        let x = across.position(bytes as f64);
        let _ = writeln!(out, "<path d=\"M{x:.1} {}V{}\" stroke=\"#f3f4f6\"/>", up.start, up.end);
        let _ = writeln!(
            out,
            "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\" font-size=\"12\">{}</text>",
            up.start + 18.0,
            size(bytes)
        );
        bytes *= 4;
    }
    let _ = writeln!(
        out,
        "<path d=\"M{} {}V{}H{}\" fill=\"none\" stroke=\"#9ca3af\"/>",
        across.start, up.end, up.start, across.end
    );
    let middle = (up.start + up.end) / 2.0;
    let _ = writeln!(
        out,
        "<text transform=\"translate(24 {middle}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
        escape(&sweep.quantity)
    );
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">bytes per copy</text>",
        (across.start + across.end) / 2.0,
        up.start + 40.0
    );
}

fn draw(out: &mut String, curve: &Curve, across: &Axis, up: &Axis) {
    let color = color(&curve.name);
    let at =
        |point: &Sample, value: f64| format!("{:.1},{:.1}", across.position(point.bytes as f64), up.position(value));
    let over = curve.points.iter().map(|point| at(point, point.value.high));
    let under = curve.points.iter().rev().map(|point| at(point, point.value.low));
    let band: Vec<String> = over.chain(under).collect();
    let line: Vec<String> = curve.points.iter().map(|point| at(point, point.value.median)).collect();
    let _ = writeln!(out, "<polygon points=\"{}\" fill=\"{color}\" fill-opacity=\"0.15\"/>", band.join(" "));
    let _ = writeln!(
        out,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2.2\" stroke-linejoin=\"round\"/>",
        line.join(" ")
    );
    for point in &curve.points {
        let (x, y) = (across.position(point.bytes as f64), up.position(point.value.median));
        let _ = writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{color}\"/>");
    }
}

/// Writes the names in the order of the last points, beside their lines.
fn legend(out: &mut String, sweep: &Sweep, up: &Axis) {
    let last = |curve: &Curve| curve.points.last().map_or(up.start, |point| up.position(point.value.median));
    let mut curves: Vec<&Curve> = sweep.curves.iter().collect();
    curves.sort_by(|one, other| last(one).total_cmp(&last(other)));
    let mut lowest = f64::NEG_INFINITY;
    for curve in curves {
        let y = last(curve).max(lowest + 18.0);
        lowest = y;
        let (x, color) = (WIDTH - RIGHT + 12.0, color(&curve.name));
        let _ = writeln!(out, "<circle cx=\"{x}\" cy=\"{y:.1}\" r=\"5\" fill=\"{color}\"/>");
        let _ = writeln!(out, "<text x=\"{}\" y=\"{:.1}\">{}</text>", x + 11.0, y + 4.5, escape(&curve.name));
    }
}

pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::statistics::Summary;
    use super::*;

    #[test]
    fn geometric_mean_is_in_the_middle_of_a_logarithmic_axis() {
        let axis = Axis { low: 1.0, high: 100.0, start: 0.0, end: 10.0 };
        assert!((axis.position(10.0) - 5.0).abs() < 1e-9);
        assert_eq!((axis.position(1.0), axis.position(100.0)), (0.0, 10.0));
    }

    #[test]
    fn axis_ends_on_round_numbers_around_its_values() {
        let axis = Axis::around([0.3, 17.0].into_iter(), 0.0, 1.0);
        assert!((axis.low - 0.2).abs() < 1e-9 && (axis.high - 20.0).abs() < 1e-9, "{} {}", axis.low, axis.high);
    }

    #[test]
    fn every_curve_is_drawn_and_every_tag_closed() {
        let mut sweep = Sweep::new("a < b", "& more", "GB/s", &["softacl", "memcpy"]);
        for bytes in [64, 4096, 1 << 20] {
            sweep.add("softacl", bytes, Summary::of(&[1.0, bytes as f64]));
            sweep.add("memcpy", bytes, Summary::of(&[2.0]));
        }
        let text = svg(&[sweep], "caption");
        assert_eq!(text.matches("<polyline").count(), 2);
        assert_eq!(text.matches("<text").count(), text.matches("</text>").count());
        assert_eq!(text.matches("<g ").count(), text.matches("</g>").count());
        assert!(text.contains("a &lt; b") && text.ends_with("</svg>\n") && !text.contains("NaN"));
    }

    #[test]
    fn names_are_escaped() {
        assert_eq!(escape("a<b & c"), "a&lt;b &amp; c");
    }
}
