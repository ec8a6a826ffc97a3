//! `hccn_tool`: prints the network addresses of the devices, for detection code that runs the tool of that name.
//!
//! The simulated devices have loopback addresses, the ones that `softacl run --host-files` shows in `/etc/hccn.conf`.
//! A node of `softacl run --nodes` has others, which are in its `/etc/hccn.conf`.
//! `-i DEVICE -ip -g` is the only supported command.

use crate::output;
use anyhow::{Result, anyhow, bail};
use std::ffi::OsString;
use std::fs;

/// Runs `hccn_tool` with these arguments.
pub fn run(words: &[OsString]) -> Result<()> {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ["-i", device, "-ip", "-g"] = words[..] else {
        bail!("hccn_tool: softacl supports only `hccn_tool -i DEVICE -ip -g`");
    };
    let count = ascendcl_capi::device_count().map_err(|error| anyhow!(error))?;
    match device.parse() {
        Ok(device) if device < count => {
            let address = configured(device).unwrap_or_else(|| softacl_toolkit::address_of_device(device).to_string());
            output::print(format!("ipaddr:{address}\nnetmask:255.255.0.0\n"))
        }
        _ => bail!("hccn_tool: device {device} does not exist; there are {count} devices"),
    }
}

/// The address of a device in the list of this node.
fn configured(device: u32) -> Option<String> {
    let text = fs::read_to_string("/etc/hccn.conf").ok()?;
    let start = format!("address_{device}=");
    text.lines().find_map(|line| line.strip_prefix(&start)).map(str::to_owned)
}
