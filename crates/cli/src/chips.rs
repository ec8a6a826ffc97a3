//! `softacl chips`: lists the supported chips with their properties and the sources of those.

mod figures;

use crate::output;
use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};
use softacl_profiles::{Chip, Limits, cann_versions, chips, profile};
use std::fmt::Write as _;
use std::path::PathBuf;

/// List supported chips and CANN versions, or show the details of one chip.
#[derive(Args)]
pub struct Arguments {
    /// Chip family or full SoC name; lists all if omitted
    name: Option<String>,
    /// Write JSON to FILE (`-` for stdout)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Show timing figures with their sources, and how well they predict published measurements
    #[arg(long)]
    timing: bool,
}

pub fn main(arguments: &Arguments) -> Result<()> {
    let chosen: Vec<&Chip> = match &arguments.name {
        Some(name) => vec![profile(Some(name), None)?.chip],
        None => chips().iter().collect(),
    };
    if arguments.timing {
        return figures::main(&chosen, arguments.json.as_deref());
    }
    if let Some(path) = &arguments.json {
        let chips: Vec<Value> = chosen.iter().map(|chip| as_json(chip)).collect();
        return output::write_json(path, &chips);
    }
    if arguments.name.is_some() {
        return output::print(describe(chosen[0])?);
    }
    let mut text = String::new();
    writeln!(
        text,
        "{:<12} {:<8} {:<18} {:<11} {:>6} {:>8} {:>8} {:>9}  copies",
        "family", "product", "SoC name", "forms", "memory", "streams", "events", "notifies"
    )?;
    for chip in chosen {
        writeln!(
            text,
            "{:<12} {:<8} {:<18} {:<11} {:>4} G {:>8} {:>8} {:>9}  {}",
            chip.family,
            chip.product,
            chip.default_soc,
            forms(chip),
            chip.memory_gib,
            chip.limits.streams,
            chip.limits.events,
            chip.limits.notifies,
            copies(chip),
        )?;
    }
    let versions: Vec<&str> = cann_versions().iter().map(|cann| cann.version.as_str()).collect();
    text = output::fit(&text, output::width(std::io::stdout()));
    writeln!(text, "\nCANN versions (SOFTACL_CANN): {}", versions.join(", "))?;
    text += "Choose with SOFTACL_SOC or `softacl run --soc`; `softacl chips Ascend910B` shows the details of one.\n";
    output::print(text)
}

fn describe(chip: &Chip) -> Result<String> {
    let mut text = String::new();
    writeln!(text, "{} ({})\n", chip.family, chip.product)?;
    writeln!(text, "SoC names      {}", chip.socs.join(", "))?;
    writeln!(text, "forms          {}", forms(chip))?;
    writeln!(text, "memory         {} GiB of {} per device", chip.memory_gib, chip.memory_type.name())?;
    let Limits { streams, events, notifies } = chip.limits;
    writeln!(text, "limits         {streams} streams, {events} events, {notifies} notifies per device")?;
    writeln!(text, "copies         {}", copies(chip))?;
    let peer = match (chip.peer.supported, chip.peer.enable_required) {
        (false, _) => "no",
        (true, true) => "yes, after one of the two devices enables it",
        (true, false) => "yes, always enabled",
    };
    writeln!(text, "peer access    {peer}")?;
    if let Some(cores) = &chip.cores {
        writeln!(text, "cores          {} cube, {} vector, {} AI CPU", cores.cube, cores.vector, cores.aicpu)?;
    }
    for link in &chip.links {
        let [low, high] = link.gigabytes_per_second;
        writeln!(text, "link           {}: {low} to {high} GB/s ({})", link.path, link.source)?;
    }
    writeln!(text, "\nSources")?;
    for (section, source) in &chip.sources {
        writeln!(text, "  {section:<12} {source}")?;
    }
    Ok(text)
}

fn forms(chip: &Chip) -> String {
    chip.forms.iter().map(|form| form.name()).collect::<Vec<_>>().join(", ")
}

fn copies(chip: &Chip) -> String {
    let mut kinds = vec!["plain, 2D".to_owned()];
    if chip.copy.batch {
        kinds.push("batch".to_owned());
    }
    if chip.copy.descriptor_bytes > 0 {
        kinds.push(format!("descriptor ({} B)", chip.copy.descriptor_bytes));
    }
    if chip.copy.offset {
        kinds.push("offset".to_owned());
    }
    kinds.join(", ")
}

fn as_json(chip: &Chip) -> Value {
    json!({
        "family": chip.family,
        "product": chip.product,
        "socs": chip.socs,
        "default_soc": chip.default_soc,
        "forms": chip.forms.iter().map(|form| form.name()).collect::<Vec<_>>(),
        "memory_gib": chip.memory_gib,
        "limits": {
            "streams": chip.limits.streams,
            "events": chip.limits.events,
            "notifies": chip.limits.notifies,
        },
        "memory_type": chip.memory_type.name(),
        "gigantic_pages": chip.gigantic_pages,
        "copy": {
            "failure_code": chip.copy.failure_code,
            "batch": chip.copy.batch,
            "batch_validates_first": chip.copy.batch_validates_first,
            "descriptor_bytes": chip.copy.descriptor_bytes,
            "offset": chip.copy.offset,
            "memset_d32": chip.copy.memset_d32,
            "host_registration": chip.copy.host_registration,
        },
        "peer": { "supported": chip.peer.supported, "enable_required": chip.peer.enable_required },
        "cores": chip.cores.as_ref().map(|cores| json!({
            "cube": cores.cube, "vector": cores.vector, "aicpu": cores.aicpu,
        })),
        "links": chip.links.iter().map(|link| json!({
            "path": link.path, "gigabytes_per_second": link.gigabytes_per_second, "source": link.source,
        })).collect::<Vec<_>>(),
        "sources": chip.sources,
    })
}
