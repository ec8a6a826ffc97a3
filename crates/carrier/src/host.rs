//! Hosts: where a process runs, as far as it decides whether ranks can find each other. They look for each other by
//! process id, so both the running kernel and the PID namespace must be the same; other namespaces do not matter.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

/// Number of bytes in which a host travels.
pub const HOST_LEN: usize = 80;
const MAX_NAME: usize = 64;

/// A host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// A number that the kernel draws when it starts; 0 if it is not known.
    boot: u64,
    /// The PID namespace; 0 if it is not known.
    processes: u64,
    /// Its name, for people.
    name: String,
}

/// Why processes of two hosts cannot find each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distance {
    /// Different kernels: different machines, or a machine that has been restarted.
    Machine,
    /// One kernel, and different PID namespaces.
    Namespace,
}

impl Host {
    /// The host of this process.
    pub fn own() -> Host {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let digits: String = boot.chars().filter(char::is_ascii_hexdigit).take(16).collect();
        let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Host {
            boot: u64::from_str_radix(&digits, 16).unwrap_or(0),
            processes: fs::metadata("/proc/self/ns/pid").map_or(0, |namespace| namespace.ino()),
            name: name.trim().chars().filter(char::is_ascii).take(MAX_NAME).collect(),
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Why processes there cannot find processes here. `None` if they can.
    pub fn distance(&self, other: &Host) -> Option<Distance> {
        if self.boot != other.boot {
            return Some(Distance::Machine);
        }
        (self.processes != other.processes).then_some(Distance::Namespace)
    }

    pub fn to_bytes(&self) -> [u8; HOST_LEN] {
        let mut bytes = [0; HOST_LEN];
        bytes[..8].copy_from_slice(&self.boot.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.processes.to_le_bytes());
        bytes[16..16 + self.name.len()].copy_from_slice(self.name.as_bytes());
        bytes
    }

    pub fn from_bytes(bytes: &[u8; HOST_LEN]) -> Host {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|index| bytes[at + index]));
        let name = bytes[16..].iter().take_while(|byte| byte.is_ascii_graphic()).map(|byte| char::from(*byte));
        Host { boot: word(0), processes: word(8), name: name.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_and_process_ids_decide_and_the_name_does_not() {
        let own = Host::own();
        assert!(own.boot != 0 && own.processes != 0 && !own.name.is_empty(), "{own:?}");
        assert_eq!(Host::from_bytes(&own.to_bytes()), own);
        assert_eq!(own.distance(&Host { name: "node1".to_owned(), ..own.clone() }), None);
        assert_eq!(own.distance(&Host { processes: 1, ..own.clone() }), Some(Distance::Namespace));
        assert_eq!(own.distance(&Host { boot: 1, processes: 1, ..own.clone() }), Some(Distance::Machine));
    }
}
