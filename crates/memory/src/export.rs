//! Export of memory to other processes.
//!
//! An export record is a small memory file of the exporting process. It states which of its files holds the bytes and
//! which processes may import them. The key contains the id of the process and a random secret that only the record
//! repeats, so it proves that its holder was given it. An importer searches the open files of the exporter for the
//! record with its key, and opens the file with the bytes. From then on both processes have the file; either may end,
//! in any way, and nothing is left behind except what the other still uses.
//!
//! The runtime of the importer enforces the list of allowed processes, like all of this: processes of one user can
//! access each other's memory in any case.

use crate::address::MemoryLocation;
use crate::region::{memory_file, open_memory_file, random};
use crate::use_lock;
use softacl_errors::{Error, Result, fail};
use softacl_sync::facade::{Mutex, lock};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};

/// The type of export that a key names. A key of one type does not open an export of the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A range of an allocation.
    Range = 1,
    /// A piece of physical memory.
    Handle = 2,
}

/// Bytes of the secret.
const SECRET: usize = 28;
/// Bits of the secret in a key that is a number. The others are the process id, which has at most 22 bits.
const NUMBER_BITS: u32 = 42;

/// The secret that names an export. It cannot be guessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ExportKey {
    process: u32,
    secret: [u8; SECRET],
}

impl ExportKey {
    /// A new key of this process.
    pub fn fresh() -> io::Result<ExportKey> {
        Ok(ExportKey { process: std::process::id(), secret: random()? })
    }

    /// A new key of this process that fits into a number.
    pub fn fresh_number() -> io::Result<ExportKey> {
        let number = u64::from_le_bytes(random()?) & ((1 << NUMBER_BITS) - 1);
        Ok(ExportKey::from_number(u64::from(std::process::id()) << NUMBER_BITS | number))
    }

    /// Converts the number of a key.
    pub fn from_number(number: u64) -> ExportKey {
        let mut secret = [0; SECRET];
        secret[..8].copy_from_slice(&(number & ((1 << NUMBER_BITS) - 1)).to_le_bytes());
        ExportKey { process: (number >> NUMBER_BITS) as u32, secret }
    }

    /// The number of a key that was made by `fresh_number`.
    pub fn number(&self) -> u64 {
        let low = u64::from_le_bytes(self.secret[..8].try_into().expect("eight bytes"));
        u64::from(self.process) << NUMBER_BITS | low
    }

    /// The key as 64 hexadecimal digits.
    pub fn text(&self) -> String {
        let mut text = format!("{:08x}", self.process);
        for byte in self.secret {
            let _ = write!(text, "{byte:02x}");
        }
        text
    }

    /// Parses the text of a key. `None` if it is malformed.
    pub fn from_text(text: &str) -> Option<ExportKey> {
        // Upper-case digits would make several texts of one key.
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 8 + 2 * SECRET || !text.bytes().all(is_digit) {
            return None;
        }
        let mut secret = [0; SECRET];
        for (index, byte) in secret.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[8 + 2 * index..][..2], 16).ok()?;
        }
        Some(ExportKey { process: u32::from_str_radix(&text[..8], 16).ok()?, secret })
    }

    /// The process that made the key.
    pub fn process(&self) -> u32 {
        self.process
    }

    /// True if another process that still runs made the key, as far as `/proc` shows, and exports nothing under it.
    pub fn has_ended(&self) -> bool {
        let is_running = || fs::metadata(format!("/proc/{}/fd", self.process)).is_ok();
        !self.is_ours() && is_running() && find(*self).is_none()
    }

    /// True if this process made the key.
    pub fn is_ours(&self) -> bool {
        self.process == std::process::id()
    }
}

/// The contents of an export record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportInfo {
    pub purpose: Purpose,
    /// The exported part of the file.
    pub offset: usize,
    pub len: usize,
    /// The location, with a physical device id.
    pub home: MemoryLocation,
    pub attribute: i32,
    /// True if only listed processes may import.
    pub asks_process: bool,
}

/// An export of this process. The key becomes invalid when it is dropped.
#[derive(Debug)]
pub struct ExportRecord {
    pub key: ExportKey,
    pub purpose: Purpose,
    file: File,
    allowed: Mutex<Vec<u32>>,
}

const MAGIC: u64 = 0x736f_6674_6163_6c32;
const NAME: &[u8] = b"/memfd:softacl-share";
/// Words before the list; the last one is its length.
const WORDS: usize = 16;
/// Maximum length of the list of a key. The API documents no limit, but a number in a file of another process needs
/// one.
const MAX_ALLOWED: usize = 1 << 16;
/// Offset of the list of allowed processes.
const LIST: u64 = 8 * WORDS as u64;

impl ExportRecord {
    /// Creates the record of an export of `bytes`.
    pub fn write(key: ExportKey, info: &ExportInfo, bytes: &File) -> io::Result<ExportRecord> {
        let file = memory_file(c"softacl-share", LIST as usize)?;
        let status = bytes.metadata()?;
        let (home, id) = match info.home {
            MemoryLocation::Device(device) => (0, device),
            MemoryLocation::Host => (1, 0),
            MemoryLocation::HostNode(node) => (2, node),
        };
        let mut secret = [0; 32];
        secret[..SECRET].copy_from_slice(&key.secret);
        let mut words = vec![MAGIC];
        words.extend(secret.chunks(8).map(|part| u64::from_le_bytes(part.try_into().expect("eight bytes"))));
        words.extend([bytes.as_raw_fd() as u64, status.dev(), status.ino(), info.offset as u64, info.len as u64]);
        words.extend([home, u64::from(id), info.attribute as u64, info.purpose as u64]);
        words.extend([u64::from(info.asks_process), 0]);
        let image: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        file.write_all_at(&image, 0)?;
        Ok(ExportRecord { key, purpose: info.purpose, file, allowed: Mutex::default() })
    }

    /// Other processes that have the memory open, as far as they show it.
    pub fn users(&self) -> Vec<u32> {
        use_lock::users(&self.file)
    }

    /// Adds processes to the list.
    pub fn allow(&self, processes: &[u32]) -> io::Result<()> {
        let mut allowed = lock(&self.allowed);
        let before = allowed.len();
        if before + processes.len() > MAX_ALLOWED {
            return Err(io::Error::other(format!("at most {MAX_ALLOWED} processes can be allowed")));
        }
        allowed.extend(processes);
        let added: Vec<u8> = processes.iter().flat_map(|process| process.to_le_bytes()).collect();
        // Write the entries before the length, so that a concurrent reader sees the old list.
        self.file.write_all_at(&added, LIST + 4 * before as u64)?;
        self.file.write_all_at(&(allowed.len() as u64).to_le_bytes(), LIST - 8)
    }
}

/// Memory of another process, opened.
#[derive(Debug)]
pub struct OpenedExport {
    pub file: File,
    pub offer: ExportInfo,
    /// The export record.
    pub record: File,
}

/// Opens an export of another process.
pub fn open(key: ExportKey, purpose: Purpose) -> Result<OpenedExport> {
    if key.is_ours() {
        return fail(Error::Parameter(
            "the key was made by this process and can be imported only by others".to_owned(),
        ));
    }
    let Some((record, (info, words, allowed))) = find(key).filter(|(_, (info, ..))| info.purpose == purpose) else {
        return fail(unknown());
    };
    let process = std::process::id();
    if info.asks_process && !allowed.contains(&process) {
        return fail(Error::NotAllowed { process, exporter: key.process });
    }
    let [descriptor, device, inode] = words;
    let file = open_memory_file(key.process, descriptor).map_err(|_| unknown())?;
    // The exporter may have closed the file since then and reused the descriptor.
    let is_intact = file.metadata().is_ok_and(|status| {
        let end = info.offset.checked_add(info.len);
        status.dev() == device && status.ino() == inode && end.is_some_and(|end| end as u64 <= status.size())
    });
    if is_intact { Ok(OpenedExport { file, offer: info, record }) } else { fail(unknown()) }
}

fn unknown() -> Error {
    Error::Parameter("no process exports memory under this key, or it has stopped".to_owned())
}

/// The contents of an export record, the descriptor, device and inode of the file with the bytes, and the allowed
/// processes.
type Contents = (ExportInfo, [u64; 3], Vec<u32>);

/// Searches the open files of the exporter for the record with this key. Returns its file and its contents.
fn find(key: ExportKey) -> Option<(File, Contents)> {
    let entries = fs::read_dir(format!("/proc/{}/fd", key.process)).ok()?;
    entries.flatten().map(|entry| entry.path()).find_map(|path| {
        let is_record = fs::read_link(&path).is_ok_and(|target| is_record_name(target.as_os_str()));
        let descriptor = path.file_name()?.to_str()?.parse().ok().filter(|_| is_record)?;
        let record = open_memory_file(key.process, descriptor).ok()?;
        let contents = read(&record, key)?;
        Some((record, contents))
    })
}

fn is_record_name(name: &OsStr) -> bool {
    name.as_bytes().starts_with(NAME)
}

/// Reads an export record. `None` if it is damaged or has another key.
fn read(file: &File, key: ExportKey) -> Option<Contents> {
    let mut image = [0; LIST as usize];
    file.read_exact_at(&mut image, 0).ok()?;
    if image[8..8 + SECRET] != key.secret {
        return None;
    }
    let mut words = [0; WORDS];
    for (word, part) in words.iter_mut().zip(image.chunks(8)) {
        *word = u64::from_le_bytes(part.try_into().ok()?);
    }
    let [magic, _, _, _, _, descriptor, device, inode, offset, len, home, id, attribute, purpose, asks_process, count] =
        words;
    let home = match home {
        0 => MemoryLocation::Device(id as u32),
        1 => MemoryLocation::Host,
        _ => MemoryLocation::HostNode(id as u32),
    };
    let purpose = if purpose == Purpose::Range as u64 { Purpose::Range } else { Purpose::Handle };
    let (offset, len, attribute) = (offset as usize, len as usize, attribute as i32);
    let info = ExportInfo { purpose, offset, len, home, attribute, asks_process: asks_process != 0 };
    let mut list = vec![0; 4 * usize::try_from(count).ok().filter(|count| *count <= MAX_ALLOWED)?];
    file.read_exact_at(&mut list, LIST).ok()?;
    let allowed = list.chunks_exact(4).map(|part| u32::from_le_bytes([part[0], part[1], part[2], part[3]])).collect();
    (magic == MAGIC).then_some((info, [descriptor, device, inode], allowed))
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
        let letters = ExportKey { secret: [0xab; SECRET], ..key };
        assert_eq!(ExportKey::from_text(&letters.text()), Some(letters));
        assert_eq!(ExportKey::from_text(&letters.text().to_uppercase()), None);
    }

    #[test]
    fn files_other_than_our_memory_files_are_not_opened() {
        let us = std::process::id();
        let attempt = |file: &File| open_memory_file(us, file.as_raw_fd() as u64);
        let ours = memory_file(c"softacl-test", 4096).unwrap();
        assert_eq!(attempt(&ours).unwrap().metadata().unwrap().len(), 4096);
        assert!(ours.set_len(0).is_err(), "the file can be truncated");
        for other in [File::open("/proc/self/exe"), memory_file(c"other", 4096), File::open("/dev/null")] {
            assert!(attempt(&other.unwrap()).is_err());
        }
        assert!(open_memory_file(us, 999_999).is_err());
    }

    #[test]
    fn record_is_found_by_its_key_and_lists_allowed_processes() {
        let registry = IpcRegistry::default();
        let physical = Arc::new(Physical::create(8192, MemoryLocation::Device(0), 4).unwrap());
        let home = MemoryLocation::Device(3);
        let purpose = Purpose::Range;
        let info = ExportInfo { purpose, offset: 4096, len: 100, home, attribute: 4, asks_process: true };
        let key = registry.export(&physical, &info, false).unwrap();
        assert_eq!(find(key).map(|(_, (found, _, list))| (found, list)), Some((info, vec![])));
        registry.allow(key, purpose, &[7, 8]).unwrap();
        registry.allow(key, purpose, &[9]).unwrap();
        assert_eq!(find(key).unwrap().1.2, [7, 8, 9]);
        assert!(registry.allow(key, Purpose::Handle, &[1]).is_err());
        assert!(find(ExportKey { secret: [0; SECRET], ..key }).is_none());
        assert_eq!(open(key, purpose).unwrap_err().code(), ACL_ERROR_RT_PARAM_INVALID);
        assert!(registry.revoke(key) && !registry.revoke(key));
        assert!(find(key).is_none());
    }
}
