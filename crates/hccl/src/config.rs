//! Configurations of communicators: the structure `HcclCommConfig`, of whatever length the client was compiled with, and
//! the environment.

use crate::failure::Failure;
use crate::program;
use crate::types::MAX_NAME;
use std::env;
use std::ffi::c_void;
use std::time::Duration;

/// The magic number that the initializer of the structure writes.
const MAGIC: u32 = 0xf0f0_f0f0;
/// Bytes at the beginning that every version of the structure has.
const HEAD: usize = 24;
/// Longest structure that is read. Longer ones have fields that are not known here.
const MAX_SIZE: usize = 4096;
/// Offsets of the fields that have an effect.
const NAME: usize = 32;
const EXEC_TIMEOUT: usize = 316;

/// Defaults of the documentation, in seconds. Shorter times to connect than the documented minimum are accepted: tests of
/// failures need them.
const DEFAULT_CONNECT_TIMEOUT: u64 = 120;
const DEFAULT_EXEC_TIMEOUT: f64 = 1836.0;

/// What a communicator is configured with.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The name, if the program gives one.
    pub name: Option<String>,
    /// How long an operator waits for other ranks. `None` for ever.
    pub exec_timeout: Option<Duration>,
    pub connect_timeout: Duration,
}

impl Config {
    /// The configuration of the environment.
    pub fn from_environment() -> Config {
        let seconds = |name: &str| env::var(name).ok()?.trim().parse::<f64>().ok().filter(|value| *value >= 0.0);
        let connect = seconds("HCCL_CONNECT_TIMEOUT").unwrap_or(DEFAULT_CONNECT_TIMEOUT as f64);
        Config {
            name: None,
            exec_timeout: limit(seconds("HCCL_EXEC_TIMEOUT").unwrap_or(DEFAULT_EXEC_TIMEOUT)),
            connect_timeout: Duration::try_from_secs_f64(connect).unwrap_or(Duration::MAX),
        }
    }

    /// Reads the structure of a program. Its fields come before the environment. NULL: the environment alone.
    pub fn read(address: *const c_void) -> Result<Config, Failure> {
        let mut config = Config::from_environment();
        if address.is_null() {
            return Ok(config);
        }
        let head = program::read::<u8>(address.cast(), HEAD, "config")?;
        let size = u64::from_le_bytes(head[..8].try_into().expect("8 bytes")) as usize;
        let magic = u32::from_le_bytes(head[8..12].try_into().expect("4 bytes"));
        if magic != MAGIC || size < HEAD {
            return Err(Failure::Parameter(format!(
                "config has magic {magic:#x} and size {size}: initialize it with HcclCommConfigInit"
            )));
        }
        let bytes = program::read::<u8>(address.cast(), size.min(MAX_SIZE), "config")?;
        if let Some(name) = bytes.get(NAME..NAME + MAX_NAME) {
            let end = name.iter().position(|byte| *byte == 0).unwrap_or(MAX_NAME);
            config.name = (end > 0).then(|| String::from_utf8_lossy(&name[..end]).into_owned());
        }
        if let Some(value) = bytes.get(EXEC_TIMEOUT..EXEC_TIMEOUT + 4) {
            let seconds = i32::from_le_bytes(value.try_into().expect("4 bytes"));
            if seconds >= 0 {
                config.exec_timeout = limit(seconds.into());
            }
        }
        Ok(config)
    }
}

/// A limit in seconds; 0 is none.
fn limit(seconds: f64) -> Option<Duration> {
    (seconds > 0.0).then(|| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn structure(size: usize) -> Vec<u8> {
        let mut bytes = vec![0; size];
        bytes[..8].copy_from_slice(&(size as u64).to_le_bytes());
        bytes[8..12].copy_from_slice(&MAGIC.to_le_bytes());
        bytes
    }

    #[test]
    fn fields_beyond_the_size_are_not_read() {
        let mut bytes = structure(2240);
        bytes[32..36].copy_from_slice(b"ring");
        bytes[316..320].copy_from_slice(&7_i32.to_le_bytes());
        let config = Config::read(bytes.as_ptr().cast()).unwrap();
        assert_eq!((config.name.as_deref(), config.exec_timeout), (Some("ring"), Some(Duration::from_secs(7))));
        bytes[..8].copy_from_slice(&32_u64.to_le_bytes());
        let config = Config::read(bytes.as_ptr().cast()).unwrap();
        assert_eq!((config.name, config.exec_timeout), (None, limit(DEFAULT_EXEC_TIMEOUT)));
    }

    #[test]
    fn structure_without_magic_is_refused() {
        let mut bytes = structure(2240);
        bytes[8] = 0;
        assert_eq!(Config::read(bytes.as_ptr().cast()).unwrap_err().code(), 1);
        let mut short = structure(2240);
        short[..8].copy_from_slice(&8_u64.to_le_bytes());
        assert_eq!(Config::read(short.as_ptr().cast()).map_err(|failure| failure.code()), Err(1));
        assert_eq!(Config::read(16 as *const c_void).map_err(|failure| failure.code()), Err(2));
        assert!(Config::read(std::ptr::null()).is_ok());
    }
}
