//! Sizes, numbers and durations as people write and read them.

use std::time::Duration;

/// Formats a size, without decimals if it is a multiple of its unit.
pub fn size(bytes: usize) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    match units.into_iter().find(|(bits, _)| bytes >> bits > 0) {
        Some((bits, unit)) if bytes.is_multiple_of(1 << bits) => format!("{} {unit}", bytes >> bits),
        Some((bits, unit)) => format!("{:.1} {unit}", bytes as f64 / (1u64 << bits) as f64),
        None => format!("{bytes} B"),
    }
}

/// Formats a number with about three significant digits.
pub fn digits(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 || size == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// Formats a duration in the largest fitting unit.
pub fn duration(ns: f64) -> String {
    match ns {
        ns if ns >= 1e9 => format!("{} s", digits(ns / 1e9)),
        ns if ns >= 1e6 => format!("{} ms", digits(ns / 1e6)),
        ns if ns >= 1e3 => format!("{} us", digits(ns / 1e3)),
        ns => format!("{} ns", digits(ns)),
    }
}

/// Parses a duration such as `10s`, `500ms` or `2min`; a number alone is in seconds.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a time such as 10s, 500ms or 2min");
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[digits.len()..].trim() {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "us" => 1e-6,
        "min" | "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let seconds = digits.trim().parse::<f64>().map_err(|_| wrong())? * unit;
    // A day is longer than any trace.
    if seconds > 0.0 && seconds <= 86_400.0 { Ok(Duration::from_secs_f64(seconds)) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit_or_are_seconds() {
        let parse = |text| parse_duration(text).map(|duration| duration.as_micros());
        assert_eq!(
            ["10s", "500ms", "2min", "1.5", "3us"].map(parse),
            [Ok(10_000_000), Ok(500_000), Ok(120_000_000), Ok(1_500_000), Ok(3)]
        );
        assert!(["", "s", "-1s", "0", "10 apples", "NaN", "1e9s"].iter().all(|text| parse_duration(text).is_err()));
    }

    #[test]
    fn sizes_have_one_decimal_unless_exact() {
        let sizes = [0, 1023, 1024, 7000, 5 << 20, 2592 << 20, 3 << 30];
        let texts = ["0 B", "1023 B", "1 KiB", "6.8 KiB", "5 MiB", "2.5 GiB", "3 GiB"];
        assert_eq!(sizes.map(size), texts);
    }
}
