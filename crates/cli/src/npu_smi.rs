//! `npu-smi`: lists the chips of the selected profile, for detection code that runs the tool of that name.
//!
//! It identifies itself as softacl and prints `NA` for values that only a card has. Memory, use and processes are those of
//! the running programs of this user. It supports `info` in the forms that scripts and people use, and rejects every other
//! command.

mod load;

use crate::output;
use anyhow::{Result, anyhow, bail};
use clap::Args;
use load::Program;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::thread;
use std::time::Duration;

/// Emulate `npu-smi info`: chips, memory and use, and the programs that run.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub struct Arguments {
    /// `info`, `info -l`, `info -t board|usages|memory -i NPU [-c CHIP]` or `info watch [-i NPU] [-d SECONDS]`
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
        ["info", "-t", kind @ ("board" | "usages" | "memory"), "-i", npu] => details(kind, npu, None)?,
        ["info", "-t", kind @ ("board" | "usages" | "memory"), "-i", npu, "-c", chip] => {
            details(kind, npu, Some(chip))?
        }
        ["info", "watch", ref options @ ..] => return watch(options),
        ["-v" | "--version"] => format!("npu-smi of softacl {}\n", env!("CARGO_PKG_VERSION")),
        _ => bail!("npu-smi: softacl supports only {SUPPORTED}"),
    };
    output::print(text)
}

const SUPPORTED: &str = "`npu-smi info`, `npu-smi info -l`, `npu-smi info -t board|usages|memory -i NPU [-c CHIP]` and \
                         `npu-smi info watch [-i NPU] [-d SECONDS]`";

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

/// Describes an NPU, or its only chip.
fn details(kind: &str, npu: &str, chip: Option<&str>) -> Result<String> {
    let count = ascendcl_capi::device_count().map_err(|error| anyhow!(error))?;
    let Some(number) = npu.parse().ok().filter(|npu: &u32| *npu < count && chip.is_none_or(|chip| chip == "0")) else {
        bail!("npu-smi: NPU {npu} with chip {} does not exist; see `npu-smi info -l`", chip.unwrap_or("0"));
    };
    match kind {
        "board" => board(npu, chip),
        kind => Ok(memory_and_use(kind, number, &load::programs(), soc()?.1)),
    }
}

/// Describes memory, or memory and use.
fn memory_and_use(kind: &str, npu: u32, programs: &[Program], capacity: usize) -> String {
    let load = load::of(programs, npu);
    let (npu, capacity) = (npu.to_string(), capacity as u64);
    let mut lines = vec![("NPU ID", npu), ("Chip Count", "1".to_owned()), ("", String::new())];
    lines.push(("HBM Capacity(MB)", (capacity >> 20).to_string()));
    if kind == "usages" {
        lines.push(("HBM Usage Rate(%)", percent(load.used, capacity).to_string()));
        lines.push(("Aicore Usage Rate(%)", load.busy.to_string()));
        let unknown =
            ["Aivector Usage Rate(%)", "Aicpu Usage Rate(%)", "Ctrlcpu Usage Rate(%)", "HBM Bandwidth Usage Rate(%)"];
        lines.extend(unknown.map(|name| (name, "NA".to_owned())));
    } else {
        lines.push(("HBM Usage(MB)", (load.used >> 20).to_string()));
        lines.extend(["HBM Clock Speed(MHz)", "HBM Temperature(C)"].map(|name| (name, "NA".to_owned())));
    }
    lines.push(("Chip ID", "0".to_owned()));
    let line = |(name, value): (&str, String)| match name {
        "" => "\n".to_owned(),
        name => format!("\t{name:<30} : {value}\n"),
    };
    lines.into_iter().map(line).collect()
}

fn percent(part: u64, whole: u64) -> u64 {
    (part * 100).checked_div(whole).unwrap_or(0)
}

/// Prints memory and use again and again, until it is ended.
fn watch(options: &[&str]) -> Result<()> {
    let count = ascendcl_capi::device_count().map_err(|error| anyhow!(error))?;
    let (mut npus, mut delay) = (0..count, Duration::from_secs(1));
    for pair in options.chunks(2) {
        match *pair {
            ["-i", npu] => match npu.parse().ok().filter(|npu: &u32| *npu < count) {
                Some(npu) => npus = npu..npu + 1,
                None => bail!("npu-smi: NPU {npu} does not exist; see `npu-smi info -l`"),
            },
            ["-c", "0"] => {}
            ["-d", seconds] => match seconds.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            {
                Some(given) => delay = given.max(Duration::from_millis(100)),
                None => bail!("npu-smi: -d {seconds} is not a number of seconds"),
            },
            _ => bail!("npu-smi: {} is no option of watch; softacl supports only {SUPPORTED}", pair[0]),
        }
    }
    let capacity = soc()?.1 as u64;
    let columns = ["NpuID(Idx)", "ChipId(Idx)", "Pwr(W)", "Temp(C)", "AI Core(%)", "Memory(%)", "Memory(MB)"];
    let row = |cells: [&str; 7]| cells.map(|cell| format!("{cell:<12}")).concat().trim_end().to_owned() + "\n";
    output::print(row(columns))?;
    loop {
        let programs = load::programs();
        for npu in npus.clone() {
            let load = load::of(&programs, npu);
            let memory = percent(load.used, capacity).to_string();
            let megabytes = (load.used >> 20).to_string();
            output::print(row([&npu.to_string(), "0", "NA", "NA", &load.busy.to_string(), &memory, &megabytes]))?;
        }
        thread::sleep(delay);
    }
}

/// Describes the board. Build scripts make the name of the SoC from type and name of the chip, on A3
/// from name of the chip and name of the NPU.
fn board(npu: &str, chip: Option<&str>) -> Result<String> {
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
    let programs = load::programs();
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
        let load = load::of(&programs, device);
        row(["0", "NA", &format!("{:<12}{:<18}{} / {}", load.busy, "NA", load.used >> 20, memory >> 20)])?;
        text.push_str(&thick);
    }
    write_processes(&mut text, &programs, count)?;
    Ok(text)
}

/// Adds the table of the programs that run, as the tool does.
fn write_processes(text: &mut String, programs: &[Program], count: u32) -> Result<()> {
    let line = ["-".repeat(27), "-".repeat(15), "-".repeat(26), "-".repeat(25)].join("+");
    let (thin, thick) = (format!("+{line}+\n"), format!("+{}+\n", line.replace('-', "=")));
    let row = |cells: [&str; 4]| format!("| {:<26}| {:<14}| {:<25}| {:<24}|\n", cells[0], cells[1], cells[2], cells[3]);
    *text += &thin;
    *text += &row(["NPU     Chip", "Process id", "Process name", "Process memory(MB)"]);
    *text += &thick;
    for device in 0..count {
        let load = load::of(programs, device);
        if load.programs.is_empty() {
            writeln!(text, "| {:<95}|", format!("No running processes found in NPU {device}"))?;
        }
        for (program, used) in load.programs {
            let name: String = program.name.chars().take(24).collect();
            let chip = format!("{device:<8}0");
            *text += &row([&chip, &program.id.to_string(), &name, &(used >> 20).to_string()]);
        }
        *text += &thick;
    }
    Ok(())
}

/// Returns the SoC name and the memory per device in bytes.
fn soc() -> Result<(String, usize)> {
    let config = ascendcl_capi::from_environment().map_err(|error| anyhow!(error))?;
    Ok((config.profile.soc.clone(), config.memory))
}
