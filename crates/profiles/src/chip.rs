//! Chips: one TOML file per product family, and their selection by name.

use crate::ProfileError;
use crate::figure::Figures;
use crate::suggest::closest_match;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// How the chip is attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Form {
    /// Endpoint: a host drives the device over a link.
    #[serde(rename = "EP")]
    Endpoint,
    /// Root complex: the program runs on the processor of the chip; host and device share one memory.
    #[serde(rename = "RC")]
    RootComplex,
    /// Control CPU: the program runs on the control processor of the chip. Behaves like root complex.
    #[serde(rename = "CPU")]
    ControlCpu,
}

impl Form {
    /// Returns the name of the form, as in `SOFTACL_FORM`.
    pub fn name(self) -> &'static str {
        match self {
            Form::Endpoint => "EP",
            Form::RootComplex => "RC",
            Form::ControlCpu => "CPU",
        }
    }

    /// Returns `true` if the program runs on the chip, where host and device memory are one.
    pub fn is_on_chip(self) -> bool {
        self != Form::Endpoint
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Streams per device.
    pub streams: u32,
    /// Events per device.
    pub events: u32,
    /// Notifies per device.
    pub notifies: u32,
}

/// The memory of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum MemoryType {
    #[serde(rename = "HBM")]
    Hbm,
    #[serde(rename = "DDR")]
    Ddr,
}

impl MemoryType {
    pub fn name(self) -> &'static str {
        match self {
            MemoryType::Hbm => "HBM",
            MemoryType::Ddr => "DDR",
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CopyTraits {
    /// Code with which a wait reports a queued copy that the device could not execute.
    pub failure_code: i32,
    /// True if batch copies exist.
    pub batch: bool,
    /// All entries of an asynchronous batch are checked before the first is queued.
    pub batch_validates_first: bool,
    /// Size of a copy descriptor; 0 if descriptor copies do not exist.
    pub descriptor_bytes: u32,
    /// True if copies with an offset exist.
    pub offset: bool,
    /// True if memset with 32-bit values exists.
    pub memset_d32: bool,
    /// True if host memory can be registered.
    pub host_registration: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Features {
    /// True if overflowing floats become infinity; otherwise they saturate.
    pub inf_nan: bool,
    pub bf16: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerTraits {
    pub supported: bool,
    /// True if one of two devices must enable access before a copy between them works.
    pub enable_required: bool,
    /// True if only memory of a P2P policy can be exported to other processes.
    #[serde(default)]
    pub export_needs_p2p_policy: bool,
    /// SoCs without a link that could map memory of another process.
    #[serde(default)]
    pub without_ipc: Vec<String>,
    /// How two chips are connected. `None` if it is not public.
    pub link: Option<DeviceLink>,
    /// True if two devices are one chip: 0 and 1, 2 and 3, and so on.
    #[serde(default)]
    pub two_devices_per_chip: bool,
}

/// How two chips are connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum DeviceLink {
    #[serde(rename = "HCCS")]
    Hccs,
    /// HCCS through a switch.
    #[serde(rename = "HCCS switch")]
    HccsSwitch,
    /// PCIe, through the host bridge.
    #[serde(rename = "PCIe")]
    Pcie,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cores {
    pub cube: u32,
    pub vector: u32,
    pub aicpu: u32,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    pub path: String,
    /// Lowest and highest published figure.
    pub gigabytes_per_second: [f64; 2],
    pub source: String,
}

/// One product family.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chip {
    pub family: String,
    /// Column of the product table: 950, A3, A2, 310B, 310P or 910.
    pub product: String,
    pub default_soc: String,
    pub socs: Vec<String>,
    /// Prefixes of further SoC names of this family.
    prefixes: Vec<String>,
    pub forms: Vec<Form>,
    pub memory_gib: u64,
    pub memory_type: MemoryType,
    /// True if memory can be allocated in pages of 1 GiB.
    pub gigantic_pages: bool,
    pub limits: Limits,
    pub copy: CopyTraits,
    pub features: Features,
    pub peer: PeerTraits,
    /// `None` if no public figure was found.
    pub cores: Option<Cores>,
    /// Origin of the numbers, by section of the TOML file.
    pub sources: BTreeMap<String, String>,
    #[serde(default)]
    pub links: Vec<Link>,
    /// What operations take on this chip, as far as it is known, from a separate file.
    #[serde(skip)]
    pub timing: Figures,
}

impl Chip {
    /// Returns the bit of this product in `ascendcl_sys::Function::products`.
    pub fn product_bit(&self) -> u8 {
        const ORDER: [&str; 6] = ["950", "A3", "A2", "310B", "310P", "910"];
        let index = ORDER.iter().position(|p| *p == self.product).expect("a known product");
        1 << index
    }
}

/// A chip with its form and its full SoC name. Configures a machine.
#[derive(Debug, Clone)]
pub struct Profile {
    pub chip: &'static Chip,
    pub soc: String,
    pub form: Form,
}

static CHIPS: LazyLock<Vec<Chip>> = LazyLock::new(|| {
    [
        (include_str!("../chips/ascend910b.toml"), include_str!("../timing/ascend910b.toml")),
        (include_str!("../chips/ascend910c.toml"), include_str!("../timing/ascend910c.toml")),
        (include_str!("../chips/ascend950.toml"), ""),
        (include_str!("../chips/ascend310p.toml"), ""),
        (include_str!("../chips/ascend310b.toml"), ""),
        (include_str!("../chips/ascend910a.toml"), ""),
    ]
    .iter()
    .map(|(chip, figures)| Chip {
        timing: Figures::parse(figures).expect("the files of figures are valid"),
        ..toml::from_str(chip).expect("the chip files are valid")
    })
    .collect()
});

/// Returns all chips, the default first.
pub fn chips() -> &'static [Chip] {
    &CHIPS
}

/// Returns a name as it is written in full: `910b` is Ascend910B. A name that is not known stays as it is.
fn canonical(given: &str) -> String {
    let names = || CHIPS.iter().flat_map(|chip| std::iter::once(&chip.family).chain(&chip.socs));
    let is_same = |name: &&String| {
        name.eq_ignore_ascii_case(given)
            || name.strip_prefix(PREFIX).is_some_and(|rest| rest.eq_ignore_ascii_case(given))
    };
    if let Some(name) = names().find(is_same) {
        return name.clone();
    }
    // Other names of a chip, which have its prefix.
    let upper = given.to_ascii_uppercase();
    match upper.strip_prefix(&PREFIX.to_ascii_uppercase()) {
        Some(rest) => format!("{PREFIX}{rest}"),
        None if upper.starts_with(|c: char| c.is_ascii_digit()) => format!("{PREFIX}{upper}"),
        None => given.to_owned(),
    }
}

const PREFIX: &str = "Ascend";

/// Returns the family or SoC that a mistyped name probably means. Names are compared from their digits on, because all
/// start with the same word.
fn similar(given: &str) -> Option<&'static str> {
    let given = given.to_ascii_uppercase();
    let digits = given.find(|c: char| c.is_ascii_digit())?;
    let names = || CHIPS.iter().flat_map(|chip| std::iter::once(&chip.family).chain(&chip.socs)).map(String::as_str);
    let rest = |name: &'static str| name.strip_prefix(PREFIX).unwrap_or(name);
    let near = closest_match(&given[digits..], names().map(rest))?;
    names().find(|name| rest(name) == near)
}

/// Selects a chip by family or full SoC name, in upper or lower case and with or without `Ascend`, and its form. `None` selects the default.
pub fn profile(name: Option<&str>, form: Option<&str>) -> Result<Profile, ProfileError> {
    let name = &*canonical(name.unwrap_or(&CHIPS[0].family));
    let by_family = CHIPS.iter().find(|chip| chip.family == name);
    let by_soc = || CHIPS.iter().find(|chip| chip.socs.iter().any(|soc| soc == name));
    let by_prefix =
        || CHIPS.iter().find(|chip| chip.prefixes.iter().any(|p| name.len() > p.len() && name.starts_with(p.as_str())));
    let chip = by_family.or_else(by_soc).or_else(by_prefix).ok_or_else(|| ProfileError::UnknownChip {
        given: name.to_owned(),
        hint: similar(name).map_or_else(String::new, |near| format!("did you mean {near}? ")),
        known: CHIPS.iter().map(|c| c.family.as_str()).collect::<Vec<_>>().join(", "),
    })?;
    let soc = if name == chip.family { &chip.default_soc } else { name };
    let form = match form {
        None => chip.forms[0],
        Some(given) => *chip.forms.iter().find(|f| f.name() == given).ok_or_else(|| ProfileError::UnknownForm {
            family: chip.family.clone(),
            form: given.to_owned(),
            known: chip.forms.iter().map(|f| f.name()).collect::<Vec<_>>().join(", "),
        })?,
    };
    Ok(Profile { chip, soc: soc.to_owned(), form })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chips_are_found_by_family_and_by_soc() {
        assert_eq!(profile(None, None).unwrap().soc, "Ascend910B3");
        assert_eq!(profile(Some("Ascend910C"), None).unwrap().soc, "Ascend910_9392");
        assert_eq!(profile(Some("Ascend910B4"), None).unwrap().chip.family, "Ascend910B");
        assert_eq!(profile(Some("Ascend910_9361"), None).unwrap().chip.family, "Ascend910C");
        assert_eq!(profile(Some("Ascend310B"), Some("RC")).unwrap().form, Form::RootComplex);
        assert_eq!(profile(Some("Ascend310P"), Some("CPU")).unwrap().form, Form::ControlCpu);
        assert!(profile(Some("Ascend910B"), Some("RC")).is_err());
        for (short, family) in [("910b", "Ascend910B"), ("ASCEND310p", "Ascend310P"), ("910_9392", "Ascend910C")] {
            assert_eq!(profile(Some(short), None).unwrap().chip.family, family);
        }
        assert_eq!(profile(Some("910b4"), None).unwrap().soc, "Ascend910B4");
        let text = profile(Some("H100"), None).unwrap_err().to_string();
        assert!(text.contains("\"H100\"") && text.contains("Ascend310P"), "{text}");
    }

    #[test]
    fn mistyped_chips_are_answered_with_a_suggestion() {
        let message = |name| profile(Some(name), None).unwrap_err().to_string();
        for (name, near) in [
            ("Ascned910B", "did you mean Ascend910B?"),
            ("Ascend901B", "did you mean Ascend910B?"),
            ("Asend310p", "did you mean Ascend310P?"),
            ("319P", "did you mean Ascend310P?"),
            ("Ascen910B3", "did you mean Ascend910B3?"),
        ] {
            assert!(message(name).contains(near), "{}", message(name));
        }
        for name in ["H100", "Kirin", "x"] {
            assert!(!message(name).contains("did you mean"), "{}", message(name));
        }
    }

    #[test]
    fn every_chip_has_a_distinct_product_and_sources_for_its_numbers() {
        let bits = CHIPS.iter().fold(0, |all, chip| all | chip.product_bit());
        assert_eq!(bits, 0b11_1111);
        for chip in chips() {
            assert!(chip.socs.contains(&chip.default_soc), "{}", chip.family);
            for section in ["limits", "copy", "peer", "memory"] {
                assert!(chip.sources.contains_key(section), "{} {section}", chip.family);
            }
            assert!([507001, 507013].contains(&chip.copy.failure_code), "{}", chip.family);
            assert_eq!(chip.cores.is_some(), chip.sources.contains_key("cores"), "{}", chip.family);
        }
    }
}
