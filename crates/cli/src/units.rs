//! Formatting of sizes, numbers and durations for people.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_one_decimal_unless_exact() {
        let sizes = [0, 1023, 1024, 7000, 5 << 20, 2592 << 20, 3 << 30];
        let texts = ["0 B", "1023 B", "1 KiB", "6.8 KiB", "5 MiB", "2.5 GiB", "3 GiB"];
        assert_eq!(sizes.map(size), texts);
    }
}
