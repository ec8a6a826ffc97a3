//! Numbers as people read them.

pub fn size(bytes: usize) -> String {
    match bytes {
        b if b >= 1 << 30 && b % (1 << 30) == 0 => format!("{} GiB", b >> 30),
        b if b >= 1 << 20 => format!("{} MiB", b >> 20),
        b if b >= 1 << 10 => format!("{} KiB", b >> 10),
        b => format!("{b} B"),
    }
}

pub fn digits(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 || size == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

pub fn duration(ns: f64) -> String {
    match ns {
        ns if ns >= 1e9 => format!("{} s", digits(ns / 1e9)),
        ns if ns >= 1e6 => format!("{} ms", digits(ns / 1e6)),
        ns if ns >= 1e3 => format!("{} us", digits(ns / 1e3)),
        ns => format!("{} ns", digits(ns)),
    }
}
