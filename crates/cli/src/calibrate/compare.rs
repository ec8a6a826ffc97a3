//! Two files of figures, side by side.

use anyhow::Result;
use softacl_profiles::{Figure, FigureName, Figures};
use std::fmt::Write as _;

/// The figures of both files, and whether their intervals meet.
pub fn table(one: &Figures, other: &Figures) -> Result<String> {
    let mut text = String::new();
    writeln!(text, "{:<26} {:>30} {:>30} {:>8}  verdict", "figure", "first", "second", "ratio")?;
    for name in FigureName::ALL {
        let (first, second) = (one.get(*name), other.get(*name));
        if first.is_none() && second.is_none() {
            continue;
        }
        let ratio = first.zip(second).map_or_else(String::new, |(first, second)| ratio(first, second));
        writeln!(
            text,
            "{:<26} {:>30} {:>30} {ratio:>8}  {}",
            name.key(),
            shown(first),
            shown(second),
            verdict(first, second)
        )?;
    }
    Ok(text)
}

fn shown(figure: Option<&Figure>) -> String {
    figure.map_or_else(
        || "not known".to_owned(),
        |figure| format!("{} [{}, {}] {}", figure.value, figure.interval[0], figure.interval[1], figure.unit.name()),
    )
}

fn ratio(first: &Figure, second: &Figure) -> String {
    if first.value == 0.0 { String::new() } else { format!("{:.2}", second.value / first.value) }
}

fn verdict(first: Option<&Figure>, second: Option<&Figure>) -> &'static str {
    match (first, second) {
        (Some(first), Some(second))
            if first.interval[0] <= second.interval[1] && second.interval[0] <= first.interval[1] =>
        {
            "agree"
        }
        (Some(_), Some(_)) => "differ",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_agree_if_their_intervals_meet() {
        let text = |value: f64, low: f64, high: f64| {
            format!(
                "[query]\nvalue = {value:?}\nunit = \"us\"\ninterval = [{low:?}, {high:?}]\nquality = \"measured\"\n\
                 source = \"test\"\ndate = \"2026\"\n"
            )
        };
        let figures = |value, low, high| Figures::parse(&text(value, low, high)).unwrap();
        let first = figures(1.0, 0.9, 1.2);
        assert!(table(&first, &figures(1.3, 1.1, 1.4)).unwrap().contains("1.30  agree"));
        assert!(table(&first, &figures(2.0, 1.3, 2.1)).unwrap().contains("2.00  differ"));
        assert!(table(&first, &Figures::default()).unwrap().contains("not known"));
    }
}
