//! `npu-smi`: lists the chips of the selected profile, for detection code that runs the tool of that name.
//!
//! It identifies itself as softacl and prints `NA` for values that only a card has. It supports `info`, `info -l` and
//! `info -t board -i NPU -c CHIP`, which build scripts run, and rejects every other command.

use crate::output;
use anyhow::{Result, anyhow, bail};
use clap::Args;
use std::ffi::OsString;
use std::fmt::Write as _;

/// Emulate `npu-smi info`, `npu-smi info -l` and `npu-smi info -t board`.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub struct Arguments {
    /// `info`, `info -l` or `info -t board -i NPU -c CHIP`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

pub fn main(arguments: &Arguments) -> Result<()> {
    run(&arguments.words)
}

/// Runs `npu-smi` with these arguments.
pub fn run(words: &[OsString]) -> Result<()> {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let text = match words[..] {
        ["info"] => table()?,
        ["info", "-l"] => list()?,
        ["info", "-t", "board", "-i", npu] => board(npu, None)?,
        ["info", "-t", "board", "-i", npu, "-c", chip] => board(npu, Some(chip))?,
        ["-v" | "--version"] => format!("npu-smi of softacl {}\n", env!("CARGO_PKG_VERSION")),
        _ => bail!("npu-smi: softacl supports only `npu-smi info`, `npu-smi info -l` and `npu-smi info -t board`"),
    };
    output::print(text)
}

fn list() -> Result<String> {
    let count = ascendcl_capi::device_count().map_err(|error| anyhow!(error))?;
    let soc = soc()?.0;
    let mut text = format!("\t{:<30} : {count}\n", "Total Count");
    for device in 0..count {
        write!(text, "\n\t{:<30} : {device}\n", "NPU ID")?;
        writeln!(text, "\t{:<30} : {soc} (softacl, no card)", "Product Name")?;
        writeln!(text, "\t{:<30} : 1", "Chip Count")?;
    }
    Ok(text)
}

/// Describes an NPU, or its only chip. Build scripts make the name of the SoC from type and name of the chip, on A3
/// from name of the chip and name of the NPU.
fn board(npu: &str, chip: Option<&str>) -> Result<String> {
    let count = ascendcl_capi::device_count().map_err(|error| anyhow!(error))?;
    if !npu.parse().is_ok_and(|npu: u32| npu < count) || chip.is_some_and(|chip| chip != "0") {
        bail!("npu-smi: NPU {npu} with chip {} does not exist; see `npu-smi info -l`", chip.unwrap_or("0"));
    }
    let soc = soc()?.0;
    let mut text = format!("\t{:<30} : {npu}\n\t{:<30} : softacl, no card\n", "NPU ID", "Product Name");
    let mut line = |name: &str, value: &str| writeln!(text, "\t{name:<30} : {value}");
    match (chip, soc.split_once('_')) {
        (None, _) => line("Chip Count", "1")?,
        (Some(chip), split) => {
            line("Chip ID", chip)?;
            let (name, variant) = split.unwrap_or((&soc, ""));
            if variant.is_empty() {
                line("Chip Type", "Ascend")?;
                line("Chip Name", name.trim_start_matches("Ascend"))?;
            } else {
                line("Chip Name", name)?;
                line("NPU Name", variant)?;
            }
        }
    }
    Ok(text)
}

fn table() -> Result<String> {
    let count = ascendcl_capi::device_count().map_err(|error| anyhow!(error))?;
    let (soc, memory) = soc()?;
    let name = soc.trim_start_matches("Ascend");
    let thin = format!("+{}+{}+{}+\n", "-".repeat(27), "-".repeat(15), "-".repeat(52));
    let thick = thin.replace('-', "=");
    let title = format!("npu-smi of softacl {}: simulated chips, no card", env!("CARGO_PKG_VERSION"));
    let mut text = format!("+{}+\n| {title:<95}|\n{thin}", "-".repeat(96));
    let mut row = |cells: [&str; 3]| writeln!(text, "| {:<26}| {:<14}| {:<51}|", cells[0], cells[1], cells[2]);
    row(["NPU   Name", "Health", "Power(W)    Temp(C)           Hugepages-Usage(page)"])?;
    row(["Chip", "Bus-Id", "AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)"])?;
    text.push_str(&thick);
    for device in 0..count {
        let mut row = |cells: [&str; 3]| writeln!(text, "| {:<26}| {:<14}| {:<51}|", cells[0], cells[1], cells[2]);
        row([&format!("{device:<5} {name}"), "NA", "NA          NA                NA"])?;
        row(["0", "NA", &format!("NA          NA                NA / {}", memory >> 20)])?;
        text.push_str(&thick);
    }
    Ok(text)
}

/// Returns the SoC name and the memory per device in bytes.
fn soc() -> Result<(String, usize)> {
    let config = ascendcl_capi::from_environment().map_err(|error| anyhow!(error))?;
    Ok((config.profile.soc.clone(), config.memory))
}
