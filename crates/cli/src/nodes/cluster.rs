//! The cluster that `softacl run --nodes` simulates: names, addresses, variables and files. Nothing here touches the
//! system.

use serde_json::json;
use softacl_toolkit::{HostFile, HostNode};
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;

/// Maximum number of nodes: the addresses of their devices are those of one network.
pub const MAX_NODES: u32 = 64;
/// The port at which ranks meet, if the nodes have private networks. The default of torchrun.
pub const PORT: u16 = 29500;
/// Variables by which a process shows where it belongs.
pub const NODE: &str = "SOFTACL_NODE";
pub const CLUSTER: &str = "SOFTACL_CLUSTER";

/// What is the same for all nodes.
#[derive(Debug, Clone)]
pub struct Cluster {
    pub nodes: u32,
    /// Devices per node.
    pub devices: u32,
    /// True if every node has its own network; otherwise all have that of the host.
    pub has_networks: bool,
    /// The port at which ranks meet.
    pub port: u16,
}

/// One process that is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub node: u32,
    /// The device, if there is one process per device.
    pub device: Option<u32>,
}

impl Cluster {
    /// The processes to start: one per node, or one per device.
    pub fn places(&self, is_per_device: bool) -> Vec<Place> {
        let of_node = |node| match is_per_device {
            true => (0..self.devices).map(|device| Place { node, device: Some(device) }).collect(),
            false => vec![Place { node, device: None }],
        };
        (0..self.nodes).flat_map(of_node).collect()
    }

    /// Address of a node.
    pub fn address(&self, node: u32) -> Ipv4Addr {
        // Chosen: a private network that few hosts use.
        if self.has_networks { Ipv4Addr::new(10, 212, 0, node as u8 + 1) } else { Ipv4Addr::LOCALHOST }
    }

    /// Address of the network interface of a device.
    pub fn device_address(&self, node: u32, device: u32) -> Ipv4Addr {
        match self.has_networks {
            true => Ipv4Addr::new(10, 212, node as u8 + 1, device as u8 + 1),
            // On loopback, where the nodes need different networks.
            false => Ipv4Addr::new(127, 16, node as u8, device as u8 + 1),
        }
    }

    /// The variables of a process.
    pub fn variables(&self, place: Place, table: &Path, cluster: u32) -> Vec<(&'static str, OsString)> {
        let (node, nodes) = (place.node.to_string(), self.nodes.to_string());
        let (address, port) = (self.address(0).to_string(), self.port.to_string());
        let mut all = vec![
            (NODE, name(place.node)),
            (CLUSTER, cluster.to_string()),
            ("SOFTACL_DEVICES", self.devices.to_string()),
            ("NODE_RANK", node.clone()),
            ("NNODES", nodes.clone()),
            ("MASTER_ADDR", address.clone()),
            ("MASTER_PORT", port.clone()),
            // Read by torchrun in place of its options.
            ("PET_NNODES", nodes),
            ("PET_NODE_RANK", node),
            ("PET_NPROC_PER_NODE", self.devices.to_string()),
            ("PET_MASTER_ADDR", address),
            ("PET_MASTER_PORT", port),
        ];
        if let Some(device) = place.device {
            let rank = (place.node * self.devices + device).to_string();
            all.extend([
                ("RANK", rank.clone()),
                ("LOCAL_RANK", device.to_string()),
                ("WORLD_SIZE", (self.nodes * self.devices).to_string()),
                ("LOCAL_WORLD_SIZE", self.devices.to_string()),
                ("RANK_ID", rank),
                ("DEVICE_ID", device.to_string()),
            ]);
        }
        let mut all: Vec<_> = all.into_iter().map(|(name, value)| (name, OsString::from(value))).collect();
        all.push(("RANK_TABLE_FILE", table.as_os_str().to_owned()));
        all
    }

    /// The rank table of all devices.
    pub fn rank_table(&self) -> String {
        let device = |node: u32, device: u32| {
            json!({
                "device_id": device.to_string(),
                "device_ip": self.device_address(node, device).to_string(),
                "rank_id": (node * self.devices + device).to_string(),
            })
        };
        let server = |node: u32| {
            let devices: Vec<_> = (0..self.devices).map(|at| device(node, at)).collect();
            json!({ "server_id": name(node), "device": devices })
        };
        let servers: Vec<_> = (0..self.nodes).map(server).collect();
        let count = self.nodes.to_string();
        let table = json!({
            "status": "completed", "version": "1.0", "server_count": count, "server_list": servers
        });
        table.to_string()
    }

    /// The files that differ from node to node.
    pub fn files(&self, node: u32) -> Vec<HostFile> {
        let mut hosts = "127.0.0.1 localhost\n::1 localhost ip6-localhost\n".to_owned();
        for other in 0..self.nodes {
            writeln!(hosts, "{} {}", self.address(other), name(other)).expect("writing to a String cannot fail");
        }
        let mut network = String::new();
        for device in 0..self.devices {
            let address = self.device_address(node, device);
            writeln!(network, "address_{device}={address}\nnetmask_{device}=255.255.0.0")
                .expect("writing to a String cannot fail");
        }
        [("/etc/hosts", hosts), ("/etc/hostname", name(node) + "\n"), ("/etc/hccn.conf", network)]
            .map(|(path, text)| HostFile { path: path.into(), node: HostNode::Text(text) })
            .into()
    }
}

impl Place {
    /// What stands before every line of output.
    pub fn label(self) -> String {
        match self.device {
            Some(device) => format!("{}/{device}", name(self.node)),
            None => name(self.node),
        }
    }

    /// Name of the file of its output.
    pub fn file(self) -> String {
        match self.device {
            Some(device) => format!("{}-{device}.log", name(self.node)),
            None => format!("{}.log", name(self.node)),
        }
    }

    /// A word of the command, in which `{node}` stands for the number of the node.
    pub fn word(self, word: &OsStr) -> OsString {
        let number = self.node.to_string();
        let (mut rest, mut result) = (word.as_bytes(), Vec::new());
        while let Some(at) = rest.windows(6).position(|part| part == b"{node}") {
            result.extend_from_slice(&rest[..at]);
            result.extend_from_slice(number.as_bytes());
            rest = &rest[at + 6..];
        }
        result.extend_from_slice(rest);
        OsString::from_vec(result)
    }
}

/// Name of a node.
pub fn name(node: u32) -> String {
    format!("node{node}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn cluster(has_networks: bool) -> Cluster {
        Cluster { nodes: 64, devices: 64, has_networks, port: 1 }
    }

    #[test]
    fn addresses_are_different() {
        for cluster in [cluster(true), cluster(false)] {
            let mut all = BTreeSet::new();
            for Place { node, device } in cluster.places(true) {
                assert!(all.insert(cluster.device_address(node, device.unwrap())));
            }
            let nodes: BTreeSet<_> = (0..64).map(|node| cluster.address(node)).collect();
            assert!(nodes.is_disjoint(&all));
            assert_eq!(nodes.len(), if cluster.has_networks { 64 } else { 1 });
        }
    }

    #[test]
    fn ranks_are_numbered_by_node_and_device() {
        let cluster = Cluster { nodes: 2, devices: 3, has_networks: true, port: PORT };
        let places = cluster.places(true);
        for (rank, place) in places.iter().enumerate() {
            let variables = cluster.variables(*place, Path::new("/t"), 7);
            let value = |name: &str| {
                variables.iter().find(|(given, _)| *given == name).map(|(_, value)| value.to_str().unwrap().to_owned())
            };
            assert_eq!(value("RANK"), Some(rank.to_string()));
            assert_eq!(value("NODE_RANK"), Some((rank / 3).to_string()));
            assert_eq!(value("LOCAL_RANK"), Some((rank % 3).to_string()));
            assert_eq!(value("MASTER_ADDR"), Some("10.212.0.1".to_owned()));
        }
        assert!(
            !cluster.variables(cluster.places(false)[1], Path::new("/t"), 7).iter().any(|(name, _)| *name == "RANK")
        );
        let table: serde_json::Value = serde_json::from_str(&cluster.rank_table()).unwrap();
        assert_eq!(table["server_list"][1]["device"][2]["rank_id"], "5");
        assert_eq!(table["server_list"][1]["device"][2]["device_ip"], "10.212.2.3");
    }

    #[test]
    fn number_of_the_node_is_put_into_every_word() {
        let place = Place { node: 12, device: Some(3) };
        assert_eq!(place.word(OsStr::new("--a={node}.{node}{nod")), "--a=12.12{nod");
        assert_eq!((place.label(), place.file()), ("node12/3".to_owned(), "node12-3.log".to_owned()));
    }
}
