//! The comparison as a picture: per chip and batch size, the total time with its interval, and below it the time of
//! kernels and of copies, with the part of the copies that is hidden behind kernels.

use crate::timing::text;
use crate::what_if::variant::Variant;
use std::fmt::Write as _;

const WIDTH: f64 = 900.0;
const LEFT: f64 = 210.0;
const RIGHT: f64 = 240.0;
const TOP: f64 = 64.0;
const ROW: f64 = 58.0;
const BAR: f64 = 13.0;

const STYLE: &str = "text{font:13px system-ui,sans-serif;fill:#24292f}.title{font-size:15px;font-weight:600}\
.small{font-size:11px;fill:#57606a}.total{fill:#0969da}.kernels{fill:#1a7f37}.hidden{fill:#9a6700}\
.exposed{fill:#cf222e}.interval{stroke:#24292f;stroke-width:1.5}.axis{stroke:#d0d7de}";

pub fn render(title: &str, variants: &[Variant]) -> String {
    let longest = variants.iter().map(|variant| variant.total_ns.high).fold(1.0, f64::max);
    let x = |ns: f64| LEFT + ns / longest * (WIDTH - LEFT - RIGHT);
    let height = TOP + ROW * variants.len() as f64 + 20.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\
         <title>{0}</title><style>{STYLE}</style><rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\
         <text class=\"title\" x=\"16\" y=\"24\">{0}</text>",
        escape(title)
    );
    let mut at = 16.0;
    for (class, label) in [
        ("total", "total, with its interval"),
        ("kernels", "kernels"),
        ("hidden", "copies behind kernels"),
        ("exposed", "other copies"),
    ] {
        let _ = write!(
            svg,
            "<rect class=\"{class}\" x=\"{at}\" y=\"36\" width=\"11\" height=\"11\"/>\
             <text class=\"small\" x=\"{}\" y=\"46\">{label}</text>",
            at + 16.0
        );
        at += 40.0 + 6.2 * label.len() as f64;
    }
    for (index, variant) in variants.iter().enumerate() {
        row(&mut svg, variant, TOP + ROW * index as f64, &x);
    }
    svg + "</svg>\n"
}

fn row(svg: &mut String, variant: &Variant, y: f64, x: &impl Fn(f64) -> f64) {
    let name = escape(&variant.name());
    let mut bar = |class: &str, from: f64, to: f64, y: f64| {
        let _ = write!(
            svg,
            "<rect class=\"{class}\" x=\"{:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{BAR}\"/>",
            x(from),
            (x(to) - x(from)).max(0.0)
        );
    };
    bar("total", 0.0, variant.total_ns.expected, y);
    bar("kernels", 0.0, variant.kernels_ns.expected, y + BAR + 1.0);
    let copies = variant.copying_ns.expected;
    match variant.overlap {
        Some(overlap) => {
            bar("hidden", 0.0, copies * overlap.expected, y + 2.0 * (BAR + 1.0));
            bar("exposed", copies * overlap.expected, copies, y + 2.0 * (BAR + 1.0));
        }
        None => bar("exposed", 0.0, copies, y + 2.0 * (BAR + 1.0)),
    }
    let (low, high, middle) = (x(variant.total_ns.low), x(variant.total_ns.high), y + BAR / 2.0);
    let _ = write!(
        svg,
        "<line class=\"interval\" x1=\"{low:.1}\" y1=\"{middle:.1}\" x2=\"{high:.1}\" y2=\"{middle:.1}\"/>\
         <line class=\"interval\" x1=\"{low:.1}\" y1=\"{0:.1}\" x2=\"{low:.1}\" y2=\"{1:.1}\"/>\
         <line class=\"interval\" x1=\"{high:.1}\" y1=\"{0:.1}\" x2=\"{high:.1}\" y2=\"{1:.1}\"/>\
         <text x=\"16\" y=\"{1:.1}\">{2}</text><text class=\"small\" x=\"16\" y=\"{3:.1}\">{name}</text>\
         <text x=\"{4:.1}\" y=\"{1:.1}\">{5}</text>\
         <line class=\"axis\" x1=\"16\" y1=\"{6:.1}\" x2=\"{7}\" y2=\"{6:.1}\"/>",
        y + 2.0,
        y + BAR - 2.0,
        escape(&variant.soc),
        y + BAR + 14.0,
        high + 8.0,
        text::time(variant.total_ns),
        y + 3.0 * (BAR + 1.0) + 8.0,
        WIDTH - 16.0,
    );
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use softacl_timing::report::Range;

    #[test]
    fn bars_are_proportional_and_texts_are_escaped() {
        let range = |expected: f64| Range { expected, low: 0.9 * expected, high: 1.1 * expected };
        let variant = |soc: &str, ns: f64| Variant {
            soc: soc.to_owned(),
            batch: None,
            set: None,
            total_ns: range(ns),
            kernels_ns: range(ns / 2.0),
            copying_ns: range(ns / 4.0),
            overlap: Some(Range { expected: 1.0, low: 1.0, high: 1.0 }),
            saves_ns: None,
            limit: String::new(),
        };
        let svg = render("a <b>", &[variant("one", 1e6), variant("two", 2e6)]);
        assert!(svg.contains("a &lt;b&gt;") && !svg.contains("<b>"));
        let widths: Vec<f64> = svg
            .match_indices("class=\"total\" x=\"210.0\"")
            .map(|(at, _)| svg[at..].split("width=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap())
            .collect();
        assert_eq!(widths.len(), 2);
        assert!((widths[1] / widths[0] - 2.0).abs() < 0.01, "{widths:?}");
    }
}
