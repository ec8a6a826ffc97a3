//! `hccn_tool`: prints the network addresses of the devices, for detection code that runs the tool of that name.
//!
//! The simulated devices have loopback addresses, the ones that `softacl run --host-files` shows in `/etc/hccn.conf`.
//! `-i DEVICE -ip -g` is the only supported command.

use crate::output;
use anyhow::{Result, anyhow, bail};
use std::ffi::OsString;

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
            output::print(format!("ipaddr:{}\nnetmask:255.255.0.0\n", softacl_toolkit::address_of_device(device)))
        }
        _ => bail!("hccn_tool: device {device} does not exist; there are {count} devices"),
    }
}
