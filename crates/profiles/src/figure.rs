//! Timing figures: what an operation takes on a chip, with the source of the number and how far it can be trusted.
//!
//! A figure has a value, an interval that is believed to contain the truth, and a quality. A figure that is not
//! published is absent, and whatever needs it says so; no other chip's number takes its place silently.

use crate::ProfileError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// How a number came to be known, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Quality {
    /// Measured and published by its author.
    Measured,
    /// Computed from published measurements.
    Derived,
    /// Claimed by a vendor or project, without a method.
    Vendor,
    /// Chosen; there is no source.
    Assumed,
}

impl Quality {
    pub fn name(self) -> &'static str {
        match self {
            Quality::Measured => "measured",
            Quality::Derived => "derived",
            Quality::Vendor => "vendor",
            Quality::Assumed => "assumed",
        }
    }
}

/// The unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    #[serde(rename = "us")]
    Microseconds,
    /// 10^9 bytes per second.
    #[serde(rename = "GB/s")]
    GigabytesPerSecond,
}

impl Unit {
    pub fn name(self) -> &'static str {
        match self {
            Unit::Microseconds => "us",
            Unit::GigabytesPerSecond => "GB/s",
        }
    }
}

/// One number, with its origin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    pub value: f64,
    pub unit: Unit,
    /// The true value is believed to be in here.
    pub interval: [f64; 2],
    pub quality: Quality,
    pub source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// When the source was published, or the measurement made.
    pub date: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [low, high] = self.interval;
        write!(f, "{} {} [{low}, {high}], {}", self.value, self.unit.name(), self.quality.name())
    }
}

macro_rules! figure_names {
    ($($variant:ident $key:literal $unit:ident $meaning:literal;)*) => {
        /// What a figure is about.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum FigureName {
            $(#[doc = $meaning] #[serde(rename = $key)] $variant,)*
        }

        impl FigureName {
            pub const ALL: &[FigureName] = &[$(FigureName::$variant,)*];

            /// The name in files and reports.
            pub fn key(self) -> &'static str {
                match self { $(FigureName::$variant => $key,)* }
            }

            pub fn unit(self) -> Unit {
                match self { $(FigureName::$variant => Unit::$unit,)* }
            }

            pub fn meaning(self) -> &'static str {
                match self { $(FigureName::$variant => $meaning,)* }
            }
        }
    };
}

figure_names! {
    SubmitHostCopy "submit_host_copy" Microseconds "host time of an asynchronous copy with a pinned host end";
    SubmitDeviceCopy "submit_device_copy" Microseconds "host time of an asynchronous copy between device memories";
    SubmitKernel "submit_kernel" Microseconds "host time of a kernel launch";
    SubmitEvent "submit_event" Microseconds "host time of recording an event, or of making a stream wait for one";
    BatchCall "batch_call" Microseconds "host time of a batch copy, without its entries";
    BatchEntrySaving "batch_entry_saving" Microseconds "host time that an entry of a batch saves, against a separate call";
    Query "query" Microseconds "host time of a query of an event or stream";
    SynchronizeIdle "synchronize_idle" Microseconds "host time of synchronizing with a stream that is idle";
    WakeUp "wake_up" Microseconds "from the end of a task until the thread that waits for it continues";
    BlockingCopy "blocking_copy" Microseconds "fixed part of a synchronous copy";
    Malloc "malloc" Microseconds "host time of a device allocation";
    Free "free" Microseconds "host time of freeing device memory";
    MallocHost "malloc_host" Microseconds "host time of allocating pinned host memory";
    FreeHost "free_host" Microseconds "host time of freeing pinned host memory";
    RegisterCall "register_call" Microseconds "host time of registering and unregistering the first page of host memory";
    RegisterPage "register_page" Microseconds "host time of registering and unregistering each further page of 4 KiB";
    KernelStart "kernel_start" Microseconds "device time before the first instruction of a kernel";
    EventTask "event_task" Microseconds "device time of an event record or wait";
    HostToDevice "h2d_bandwidth" GigabytesPerSecond "pinned host memory to device";
    DeviceToHost "d2h_bandwidth" GigabytesPerSecond "device to pinned host memory";
    PageableToDevice "h2d_pageable_bandwidth" GigabytesPerSecond "pageable host memory to device";
    DeviceToPageable "d2h_pageable_bandwidth" GigabytesPerSecond "device to pageable host memory";
    HostToHost "h2h_bandwidth" GigabytesPerSecond "host memory to host memory, by the copy engines";
    InsideDevice "d2d_bandwidth" GigabytesPerSecond "copy inside the memory of one device";
    Peer "peer_bandwidth" GigabytesPerSecond "device to device, nearest pair";
    PeerStart "peer_start" Microseconds "device time before the first byte of a copy between devices";
    FarPeer "far_peer_bandwidth" GigabytesPerSecond "device to device, other pairs of one server";
    FarPeerStart "far_peer_start" Microseconds "device time before the first byte of a copy between devices that are not the nearest pair";
    ExpandedPeerBlock "expanded_peer_block" Microseconds "device time of one block of a transfer that the device expands, device to device";
    ExpandedPeer "expanded_peer_bandwidth" GigabytesPerSecond "device to device, expanded on the device";
    ExpandedHostBlock "expanded_h2d_block" Microseconds "device time of one block of a transfer that the device expands, host to device";
    ExpandedHost "expanded_h2d_bandwidth" GigabytesPerSecond "host to device, expanded on the device";
    ExpandedToHostBlock "expanded_d2h_block" Microseconds "device time of one block of a transfer that the device expands, device to host";
    ExpandedToHost "expanded_d2h_bandwidth" GigabytesPerSecond "device to host, expanded on the device";
    BoxWrite "box_write_bandwidth" GigabytesPerSecond "device writes to a device in another server";
    BoxRead "box_read_bandwidth" GigabytesPerSecond "device reads from a device in another server";
    BoxToHost "box_to_host_bandwidth" GigabytesPerSecond "device writes to host memory of another server";
    BoxFromHost "box_from_host_bandwidth" GigabytesPerSecond "device reads host memory of another server";
    BoxHost "box_host_bandwidth" GigabytesPerSecond "from or to a local host buffer, across servers";
    ExpandedBoxBlock "expanded_box_block" Microseconds "device time of one block between devices of two servers, expanded on the device";
    ExpandedBox "expanded_box_bandwidth" GigabytesPerSecond "device to device of two servers, expanded on the device";
    RoceBlock "roce_block" Microseconds "time of one block on RoCE, at least";
    Roce "roce_bandwidth" GigabytesPerSecond "RoCE, one network port";
}

impl FigureName {
    /// True if the simulation uses the figure. The others are of paths that no call of one process takes: they are kept
    /// for programs on several servers.
    pub fn is_simulated(self) -> bool {
        !matches!(
            self,
            FigureName::ExpandedPeerBlock
                | FigureName::ExpandedPeer
                | FigureName::ExpandedHostBlock
                | FigureName::ExpandedHost
                | FigureName::ExpandedToHostBlock
                | FigureName::ExpandedToHost
                | FigureName::BoxWrite
                | FigureName::BoxRead
                | FigureName::BoxToHost
                | FigureName::BoxFromHost
                | FigureName::BoxHost
                | FigureName::ExpandedBoxBlock
                | FigureName::ExpandedBox
                | FigureName::RoceBlock
                | FigureName::Roce
        )
    }
}

impl fmt::Display for FigureName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key())
    }
}

/// The figures of a chip. Empty if none are known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Figures(BTreeMap<FigureName, Figure>);

impl Figures {
    /// Parses a file of figures, and checks their units and intervals.
    pub fn parse(text: &str) -> Result<Figures, ProfileError> {
        let wrong = |why: String| ProfileError::Figure { why };
        let figures: Figures = toml::from_str(text).map_err(|error| wrong(error.to_string().trim().to_owned()))?;
        for (name, figure) in figures.iter() {
            let [low, high] = figure.interval;
            if figure.unit != name.unit() {
                let (given, needed) = (figure.unit.name(), name.unit().name());
                return Err(wrong(format!("{name} is in {given}, it must be in {needed}")));
            }
            // Written so that a value that is not a number is refused too.
            let is_ordered = 0.0 <= low && low <= figure.value && figure.value <= high && high.is_finite();
            if !is_ordered || (figure.unit == Unit::GigabytesPerSecond && low <= 0.0) {
                return Err(wrong(format!("{name}: {} is not inside its interval [{low}, {high}]", figure.value)));
            }
        }
        Ok(figures)
    }

    pub fn get(&self, name: FigureName) -> Option<&Figure> {
        self.0.get(&name)
    }

    pub fn insert(&mut self, name: FigureName, figure: Figure) {
        self.0.insert(name, figure);
    }

    /// Takes over all figures of another file, instead of those of the same name.
    pub fn merge(&mut self, other: &Figures) {
        self.0.extend(other.0.iter().map(|(name, figure)| (*name, figure.clone())));
    }

    pub fn iter(&self) -> impl Iterator<Item = (FigureName, &Figure)> {
        self.0.iter().map(|(name, figure)| (*name, figure))
    }

    /// The text of a file that `parse` reads.
    pub fn to_toml(&self) -> String {
        let entry = |(name, figure): (&FigureName, &Figure)| {
            let Figure { value, unit, interval: [low, high], quality, source, link, date, note } = figure;
            let mut text = format!(
                "[{name}]\nvalue = {value:?}\nunit = {:?}\ninterval = [{low:?}, {high:?}]\nquality = {:?}\nsource = {}\n",
                unit.name(),
                quality.name(),
                quoted(source)
            );
            for (key, optional) in [("link", link.as_ref()), ("date", Some(date)), ("note", note.as_ref())] {
                if let Some(value) = optional {
                    text += &format!("{key} = {}\n", quoted(value));
                }
            }
            text
        };
        self.0.iter().map(entry).collect::<Vec<_>>().join("\n")
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A TOML string.
fn quoted(text: &str) -> String {
    let escaped = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04X}", c as u32),
        c => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[query]\nvalue = 0.5\nunit = \"us\"\ninterval = [0.2, 1.0]\nquality = \"assumed\"\n\
                        source = \"none\"\ndate = \"2026\"\n";

    #[test]
    fn figures_are_checked_when_they_are_read() {
        assert_eq!(Figures::parse(GOOD).unwrap().get(FigureName::Query).unwrap().value, 0.5);
        for (from, to, why) in [
            ("unit = \"us\"", "unit = \"GB/s\"", "must be in us"),
            ("[0.2, 1.0]", "[0.6, 1.0]", "not inside its interval"),
            ("value = 0.5", "value = nan", "not inside its interval"),
            ("[query]", "[quarry]", "unknown variant"),
            ("source = \"none\"\n", "", "missing field `source`"),
        ] {
            let text = GOOD.replace(from, to);
            let error = Figures::parse(&text).expect_err(&text).to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn figures_survive_their_file() {
        for chip in crate::chips() {
            assert_eq!(Figures::parse(&chip.timing.to_toml()).unwrap(), chip.timing, "{}", chip.family);
        }
        let mut figures = Figures::parse(GOOD).unwrap();
        let odd = Figure { source: "a \"b\" \\ \n c".to_owned(), ..figures.get(FigureName::Query).unwrap().clone() };
        figures.insert(FigureName::Query, odd);
        assert_eq!(Figures::parse(&figures.to_toml()).unwrap(), figures);
    }

    #[test]
    fn every_name_has_its_own_key() {
        let mut keys: Vec<&str> = FigureName::ALL.iter().map(|name| name.key()).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), FigureName::ALL.len());
    }
}
