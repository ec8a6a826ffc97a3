//! Drawing of the crates as SVG: one row of boxes per rank, and lines for the dependencies that others do not imply.

use super::crates::Crate;
use super::ranks::{Rank, rank};
use std::collections::{BTreeMap, BTreeSet};

const BOX: (f64, f64) = (130.0, 30.0);
const GAP: (f64, f64) = (20.0, 46.0);
const MARGIN: f64 = 16.0;

/// Draws the product crates.
pub fn draw(crates: &[Crate]) -> String {
    let mut rows: BTreeMap<Rank, Vec<&str>> = BTreeMap::new();
    for Crate { package, .. } in crates {
        if let Some(rank @ Rank::Product(_)) = rank(&package.name) {
            rows.entry(rank).or_default().push(&package.name);
        }
    }
    let widest = rows.values().map(Vec::len).max().unwrap_or(0) as f64;
    let width = 2.0 * MARGIN + widest * (BOX.0 + GAP.0) - GAP.0;
    let height = 2.0 * MARGIN + rows.len() as f64 * (BOX.1 + GAP.1) - GAP.1;
    let mut places: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for (row, names) in rows.values().rev().enumerate() {
        let start = (width - names.len() as f64 * (BOX.0 + GAP.0) + GAP.0) / 2.0;
        for (column, name) in names.iter().enumerate() {
            let x = start + column as f64 * (BOX.0 + GAP.0);
            places.insert(name, (x, MARGIN + row as f64 * (BOX.1 + GAP.1)));
        }
    }
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <title>Crates of softacl: each depends only on crates below it</title>\n"
    );
    for (from, to) in direct_dependencies(crates) {
        if let (Some(a), Some(b)) = (places.get(from), places.get(to)) {
            text.push_str(&format!(
                "<line x1=\"{:.0}\" y1=\"{:.0}\" x2=\"{:.0}\" y2=\"{:.0}\" stroke=\"#8a8f98\"/>\n",
                a.0 + BOX.0 / 2.0,
                a.1 + BOX.1,
                b.0 + BOX.0 / 2.0,
                b.1
            ));
        }
    }
    for (name, (x, y)) in &places {
        text.push_str(&format!(
            "<rect x=\"{x:.0}\" y=\"{y:.0}\" width=\"{}\" height=\"{}\" rx=\"5\" fill=\"#e8eefc\" \
             stroke=\"#4668b8\"/>\n\
             <text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\" fill=\"#1c2b4a\">{name}</text>\n",
            BOX.0,
            BOX.1,
            x + BOX.0 / 2.0,
            y + BOX.1 / 2.0 + 4.5
        ));
    }
    text.push_str("</svg>\n");
    text
}

/// Returns the dependencies that do not follow from other ones.
fn direct_dependencies(crates: &[Crate]) -> Vec<(&str, &str)> {
    let of: BTreeMap<&str, BTreeSet<&str>> = crates
        .iter()
        .map(|Crate { package, .. }| {
            let normal = package.dependencies.iter().filter(|dependency| !dependency.is_dev);
            (package.name.as_str(), normal.map(|dependency| dependency.name.as_str()).collect())
        })
        .collect();
    let reaches = |from: &str, to: &str| {
        let (mut open, mut seen) = (vec![from], BTreeSet::new());
        while let Some(name) = open.pop() {
            if name == to {
                return true;
            }
            if seen.insert(name) {
                open.extend(of.get(name).into_iter().flatten());
            }
        }
        false
    };
    let mut direct = Vec::new();
    for (from, dependencies) in &of {
        for to in dependencies {
            if !dependencies.iter().any(|other| other != to && reaches(other, to)) {
                direct.push((*from, *to));
            }
        }
    }
    direct
}
