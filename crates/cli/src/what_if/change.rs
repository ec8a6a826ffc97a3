//! A figure that is different from that of the chip: a faster link, a cheaper call.

use softacl_profiles::{Chip, Figure, FigureName, Quality, Unit};

/// A figure with another value.
#[derive(Debug, Clone)]
pub struct Change {
    pub text: String,
    name: FigureName,
    value: f64,
}

/// Parses a change, such as `d2h_bandwidth=100GB/s` or `submit_kernel=4us`.
pub fn parse(text: &str) -> Result<Change, String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, for example d2h_bandwidth=100GB/s")?;
    let known = FigureName::ALL.iter().copied().filter(|known| known.is_simulated());
    let name = known.clone().find(|known| known.key() == name).ok_or_else(|| {
        let known: Vec<&str> = known.map(FigureName::key).collect();
        format!("{name:?} is not a figure of the simulation; known: {}", known.join(", "))
    })?;
    let unit = name.unit();
    let number = value.strip_suffix(unit.name()).and_then(|number| number.trim().parse::<f64>().ok());
    let smallest = if unit == Unit::GigabytesPerSecond { f64::MIN_POSITIVE } else { 0.0 };
    let number = number.filter(|number| (smallest..=1e9).contains(number));
    let value = number.ok_or_else(|| format!("{value:?} is not a number of {}", unit.name()))?;
    Ok(Change { text: text.to_owned(), name, value })
}

impl Change {
    /// The chip with the other value. Its interval is the value, because it is a premise.
    pub fn applied(&self, chip: &Chip) -> Chip {
        let mut chip = chip.clone();
        let figure = Figure {
            value: self.value,
            unit: self.name.unit(),
            interval: [self.value; 2],
            quality: Quality::Assumed,
            source: "--set".to_owned(),
            link: None,
            date: String::new(),
            note: None,
        };
        chip.timing.insert(self.name, figure);
        chip
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use softacl_profiles::profile;

    #[test]
    fn changes_replace_a_figure_and_say_what_is_wrong() {
        let chip = profile(Some("Ascend910C"), None).unwrap().chip;
        let changed = parse("d2h_bandwidth=100GB/s").unwrap().applied(chip);
        assert_eq!(changed.timing.get(FigureName::DeviceToHost).unwrap().interval, [100.0, 100.0]);
        assert_eq!(changed.timing.get(FigureName::HostToDevice), chip.timing.get(FigureName::HostToDevice));
        for (text, why) in [
            ("d2h_bandwidth", "expected NAME=VALUE"),
            ("d2h=1GB/s", "is not a figure of the simulation; known: submit_host_copy"),
            ("roce_bandwidth=1GB/s", "is not a figure of the simulation"),
            ("d2h_bandwidth=100us", "is not a number of GB/s"),
            ("d2h_bandwidth=0GB/s", "is not a number of GB/s"),
        ] {
            assert!(parse(text).unwrap_err().contains(why), "{text}");
        }
    }
}
