//! Files that clients read at fixed places of the system, outside every toolkit: the driver's version, the list of
//! network addresses of the devices, and two tools. softacl never writes them to the system; `softacl run --host-files`
//! shows them to one program.

use crate::versions::driver_version;
use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

/// A file at a fixed place.
#[derive(Debug)]
pub struct HostFile {
    pub path: PathBuf,
    pub node: HostNode,
}

#[derive(Debug)]
pub enum HostNode {
    Text(String),
    Link(PathBuf),
}

/// Returns the files for a number of devices, with links into the tree in `home`.
pub fn host_files(home: &Path, version: &str, devices: u32) -> Vec<HostFile> {
    let text = |path: &str, text: String| HostFile { path: path.into(), node: HostNode::Text(text) };
    let link = |path: &str, target: PathBuf| HostFile { path: path.into(), node: HostNode::Link(target) };
    vec![
        text("/usr/local/Ascend/driver/version.info", driver_version(version)),
        link("/usr/local/Ascend/driver/tools/hccn_tool", home.join("bin/hccn_tool")),
        link("/usr/local/Ascend/ascend-toolkit/latest", home.to_owned()),
        link("/usr/local/Ascend/ascend-toolkit/set_env.sh", home.join("set_env.sh")),
        link("/usr/local/sbin/npu-smi", home.join("bin/npu-smi")),
        text("/etc/ascend_install.info", INSTALL_INFO.to_owned()),
        text("/etc/hccn.conf", network(devices)),
    ]
}

const INSTALL_INFO: &str = "Driver_Install_Type=full\nDriver_Install_Path_Param=/usr/local/Ascend\n\
                            Driver_Install_For_All=yes\n";

/// Address of the network interface of a device: loopback, so that programs can bind and connect to it.
pub fn address_of_device(device: u32) -> Ipv4Addr {
    // Not 127.0.0.1, which services of the host use. The last octet is never 0 or 255: at most 64 devices exist.
    Ipv4Addr::new(127, 16, 0, u8::try_from(device % 250).unwrap_or(0) + 1)
}

fn network(devices: u32) -> String {
    let mut text = String::new();
    for device in 0..devices {
        writeln!(text, "address_{device}={}\nnetmask_{device}=255.255.0.0", address_of_device(device))
            .expect("writing to a String cannot fail");
    }
    text
}
