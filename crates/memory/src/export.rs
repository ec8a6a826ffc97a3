//! How memory is found by other processes.
//!
//! An export is a card: a small memory file of the exporting process that says which of its files holds
//! the bytes, and who may have them. The key names the process and proves that the holder was told: the
//! rest of it is random, and only the card has it. An importer looks through the exporter's open files for
//! the card with its key, and opens the bytes. From then on both have the file; either may end, in any
//! way, and nothing is left behind but what the other still uses.
//!
//! The list of admitted processes is honoured by the importer's runtime, as all of this is: processes of
//! one user can look into each other anyway.

use crate::address::MemoryLocation;
use crate::region::{memory_file, open_memory_file, random};
use softacl_errors::{Error, Result, fail};
use softacl_sync::facade::{Mutex, lock};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};

/// What a key is for; one does not open the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A part of the memory at an address.
    Range = 1,
    /// A whole piece of physical memory.
    Handle = 2,
}

const SECRET: usize = 28;
/// Bits of the secret in a key that is a number; the others are the process, whose numbers have 22.
const NUMBER_BITS: u32 = 42;

/// Names an export. Not to be guessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ExportKey {
    process: u32,
    secret: [u8; SECRET],
}

impl ExportKey {
    pub fn fresh() -> io::Result<ExportKey> {
        Ok(ExportKey { process: std::process::id(), secret: random()? })
    }

    /// A key that fits into a number.
    pub fn fresh_number() -> io::Result<ExportKey> {
        let number = u64::from_le_bytes(random()?) & ((1 << NUMBER_BITS) - 1);
        Ok(ExportKey::from_number(u64::from(std::process::id()) << NUMBER_BITS | number))
    }

    pub fn from_number(number: u64) -> ExportKey {
        let mut secret = [0; SECRET];
        secret[..8].copy_from_slice(&(number & ((1 << NUMBER_BITS) - 1)).to_le_bytes());
        ExportKey { process: (number >> NUMBER_BITS) as u32, secret }
    }

    pub fn number(&self) -> u64 {
        let low = u64::from_le_bytes(self.secret[..8].try_into().expect("eight bytes"));
        u64::from(self.process) << NUMBER_BITS | low
    }

    /// 64 letters and digits.
    pub fn text(&self) -> String {
        let mut text = format!("{:08x}", self.process);
        for byte in self.secret {
            let _ = write!(text, "{byte:02x}");
        }
        text
    }

    pub fn from_text(text: &str) -> Option<ExportKey> {
        if text.len() != 8 + 2 * SECRET || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let mut secret = [0; SECRET];
        for (index, byte) in secret.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[8 + 2 * index..][..2], 16).ok()?;
        }
        Some(ExportKey { process: u32::from_str_radix(&text[..8], 16).ok()?, secret })
    }

    pub fn is_ours(&self) -> bool {
        self.process == std::process::id()
    }
}

/// What an exporter says about its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportInfo {
    pub purpose: Purpose,
    /// The part of the file.
    pub offset: usize,
    pub len: usize,
    /// With the number of the device in the whole machine.
    pub home: MemoryLocation,
    pub attribute: i32,
    /// Whether importers must be on the list.
    pub asks_process: bool,
}

/// An export of this process; the key is void when it is dropped.
#[derive(Debug)]
pub struct ExportRecord {
    pub key: ExportKey,
    pub purpose: Purpose,
    file: File,
    admitted: Mutex<Vec<u32>>,
}

const MAGIC: u64 = 0x736f_6674_6163_6c32;
const NAME: &[u8] = b"/memfd:softacl-share";
const WORDS: usize = 16;
/// Processes on the list of a key. The interface names no limit; a number in a file of others must have one.
const MAX_ADMITTED: usize = 1 << 16;
const LIST: u64 = 8 * WORDS as u64;

impl ExportRecord {
    pub fn write(key: ExportKey, offer: &ExportInfo, bytes: &File) -> io::Result<ExportRecord> {
        let file = memory_file(c"softacl-share", LIST as usize)?;
        let status = bytes.metadata()?;
        let (home, id) = match offer.home {
            MemoryLocation::Device(device) => (0, device),
            MemoryLocation::Host => (1, 0),
            MemoryLocation::HostNode(node) => (2, node),
        };
        let mut secret = [0; 32];
        secret[..SECRET].copy_from_slice(&key.secret);
        let mut words = vec![MAGIC];
        words.extend(secret.chunks(8).map(|part| u64::from_le_bytes(part.try_into().expect("eight bytes"))));
        words.extend([bytes.as_raw_fd() as u64, status.dev(), status.ino(), offer.offset as u64, offer.len as u64]);
        words.extend([home, u64::from(id), offer.attribute as u64, offer.purpose as u64]);
        words.extend([u64::from(offer.asks_process), 0]);
        let image: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        file.write_all_at(&image, 0)?;
        Ok(ExportRecord { key, purpose: offer.purpose, file, admitted: Mutex::default() })
    }

    /// Admits processes, besides those that are.
    pub fn allow(&self, processes: &[u32]) -> io::Result<()> {
        let mut admitted = lock(&self.admitted);
        let before = admitted.len();
        if before + processes.len() > MAX_ADMITTED {
            return Err(io::Error::other(format!("{MAX_ADMITTED} processes are admitted at most")));
        }
        admitted.extend(processes);
        let added: Vec<u8> = processes.iter().flat_map(|process| process.to_le_bytes()).collect();
        // The list first, then its length: who reads meanwhile sees the old list.
        self.file.write_all_at(&added, LIST + 4 * before as u64)?;
        self.file.write_all_at(&(admitted.len() as u64).to_le_bytes(), LIST - 8)
    }
}

/// Memory of another process.
#[derive(Debug)]
pub struct OpenedExport {
    pub file: File,
    pub offer: ExportInfo,
}

/// Opens what another process exported.
pub fn open(key: ExportKey, purpose: Purpose) -> Result<OpenedExport> {
    if key.is_ours() {
        return fail(Error::Parameter("the key was made by this process; it is for other processes".to_owned()));
    }
    let Some((offer, words, admitted)) = find(key).filter(|(offer, ..)| offer.purpose == purpose) else {
        return fail(unknown());
    };
    let us = std::process::id();
    if offer.asks_process && !admitted.contains(&us) {
        return fail(Error::NotAllowed { process: us, exporter: key.process });
    }
    let [descriptor, device, inode] = words;
    let file = open_memory_file(key.process, descriptor).map_err(|_| unknown())?;
    // The exporter may have closed the file since, and the descriptor may be another one.
    let fits = file.metadata().is_ok_and(|status| {
        let end = offer.offset.checked_add(offer.len);
        status.dev() == device && status.ino() == inode && end.is_some_and(|end| end as u64 <= status.size())
    });
    if fits { Ok(OpenedExport { file, offer }) } else { fail(unknown()) }
}

fn unknown() -> Error {
    Error::Parameter("no process offers memory under this key (any more)".to_owned())
}

/// Looks for the card with this key among the open files of the process.
fn find(key: ExportKey) -> Option<(ExportInfo, [u64; 3], Vec<u32>)> {
    let entries = fs::read_dir(format!("/proc/{}/fd", key.process)).ok()?;
    entries.flatten().map(|entry| entry.path()).find_map(|path| {
        let is_card = fs::read_link(&path).is_ok_and(|target| is_card_name(target.as_os_str()));
        let descriptor = path.file_name()?.to_str()?.parse().ok().filter(|_| is_card)?;
        read(&open_memory_file(key.process, descriptor).ok()?, key)
    })
}

fn is_card_name(name: &OsStr) -> bool {
    name.as_bytes().starts_with(NAME)
}

fn read(file: &File, key: ExportKey) -> Option<(ExportInfo, [u64; 3], Vec<u32>)> {
    let mut image = [0; LIST as usize];
    file.read_exact_at(&mut image, 0).ok()?;
    if image[8..8 + SECRET] != key.secret {
        return None;
    }
    let mut words = [0; WORDS];
    for (word, part) in words.iter_mut().zip(image.chunks(8)) {
        *word = u64::from_le_bytes(part.try_into().ok()?);
    }
    let [magic, _, _, _, _, descriptor, device, inode, offset, len, home, id, attribute, purpose, asks, count] = words;
    let home = match home {
        0 => MemoryLocation::Device(id as u32),
        1 => MemoryLocation::Host,
        _ => MemoryLocation::HostNode(id as u32),
    };
    let purpose = if purpose == Purpose::Range as u64 { Purpose::Range } else { Purpose::Handle };
    let (offset, len, attribute) = (offset as usize, len as usize, attribute as i32);
    let offer = ExportInfo { purpose, offset, len, home, attribute, asks_process: asks != 0 };
    let mut list = vec![0; 4 * usize::try_from(count).ok().filter(|count| *count <= MAX_ADMITTED)?];
    file.read_exact_at(&mut list, LIST).ok()?;
    let admitted = list.chunks_exact(4).map(|part| u32::from_le_bytes([part[0], part[1], part[2], part[3]])).collect();
    (magic == MAGIC).then_some((offer, [descriptor, device, inode], admitted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ipc_registry::IpcRegistry;
    use crate::physical::Physical;
    use ascendcl_sys::ACL_ERROR_RT_PARAM_INVALID;
    use std::sync::Arc;

    #[test]
    fn keys_round_trip_through_text_and_number() {
        let key = ExportKey::fresh().unwrap();
        assert_eq!((key.text().len(), ExportKey::from_text(&key.text())), (64, Some(key)));
        let small = ExportKey::fresh_number().unwrap();
        assert_eq!(ExportKey::from_number(small.number()), small);
        assert_eq!(
            (small.process, ExportKey::from_text("key"), ExportKey::from_text(&"é".repeat(32))),
            (key.process, None, None)
        );
        assert_ne!(ExportKey::fresh_number().unwrap(), small);
    }

    #[test]
    fn only_memory_files_of_ours_are_opened() {
        let us = std::process::id();
        let attempt = |file: &File| open_memory_file(us, file.as_raw_fd() as u64);
        let ours = memory_file(c"softacl-test", 4096).unwrap();
        assert_eq!(attempt(&ours).unwrap().metadata().unwrap().len(), 4096);
        assert!(ours.set_len(0).is_err(), "it can be cut");
        for other in [File::open("/proc/self/exe"), memory_file(c"other", 4096), File::open("/dev/null")] {
            assert!(attempt(&other.unwrap()).is_err());
        }
        assert!(open_memory_file(us, 999_999).is_err());
    }

    #[test]
    fn a_card_is_found_by_its_key_and_lists_who_is_admitted() {
        let exchange = IpcRegistry::default();
        let physical = Arc::new(Physical::create(8192, MemoryLocation::Device(0), 4).unwrap());
        let home = MemoryLocation::Device(3);
        let purpose = Purpose::Range;
        let offer = ExportInfo { purpose, offset: 4096, len: 100, home, attribute: 4, asks_process: true };
        let key = exchange.offer(&physical, &offer, false).unwrap();
        assert_eq!(find(key).map(|(found, _, list)| (found, list)), Some((offer, vec![])));
        exchange.admit(key, purpose, &[7, 8]).unwrap();
        exchange.admit(key, purpose, &[9]).unwrap();
        assert_eq!(find(key).unwrap().2, [7, 8, 9]);
        assert!(exchange.admit(key, Purpose::Handle, &[1]).is_err());
        assert!(find(ExportKey { secret: [0; SECRET], ..key }).is_none());
        assert_eq!(open(key, purpose).unwrap_err().code(), ACL_ERROR_RT_PARAM_INVALID);
        assert!(exchange.revoke(key) && !exchange.revoke(key));
        assert!(find(key).is_none());
    }
}
