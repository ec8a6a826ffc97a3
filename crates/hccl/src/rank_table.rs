//! Rank tables: JSON files that list the servers and devices of a job, in versions 1.0 and 1.2.

use crate::failure::Failure;
use serde_json::Value;
use std::fs;

/// What a rank table says about a job.
#[derive(Debug, PartialEq, Eq)]
pub struct RankTable {
    pub ranks: u32,
    /// A number that only tables with the same contents have.
    pub fingerprint: u64,
}

impl RankTable {
    pub fn load(path: &str) -> Result<RankTable, Failure> {
        let text = fs::read(path).map_err(|error| Failure::File(format!("rank table {path}: {error}")))?;
        RankTable::parse(&text).map_err(|why| Failure::Parameter(format!("rank table {path}: {why}")))
    }

    fn parse(text: &[u8]) -> Result<RankTable, String> {
        let table: Value = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        if table["status"] != "completed" {
            return Err(format!("status is {}, not \"completed\"", table["status"]));
        }
        let servers = table["server_list"].as_array().ok_or("server_list is missing")?;
        let devices = servers.iter().flat_map(|server| server["device"].as_array().into_iter().flatten());
        let mut ranks = Vec::new();
        for device in devices {
            let rank = device["rank_id"].as_str().and_then(|rank| rank.parse::<u32>().ok());
            ranks.push(rank.ok_or_else(|| format!("{} is not a rank_id", device["rank_id"]))?);
        }
        ranks.sort_unstable();
        if ranks.is_empty() || ranks.iter().enumerate().any(|(at, rank)| at as u32 != *rank) {
            return Err(format!("the ranks are not 0 to {}, each once", ranks.len().max(1) - 1));
        }
        Ok(RankTable { ranks: ranks.len() as u32, fingerprint: fingerprint(text) })
    }
}

/// A hash that is the same in every process (FNV-1a).
pub fn fingerprint(bytes: &[u8]) -> u64 {
    let hash = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_lists_its_ranks_once() {
        let device = |rank: &str| format!(r#"{{"device_id":"0","device_ip":"10.0.0.1","rank_id":"{rank}"}}"#);
        let table = |first: &str, second: &str| {
            let servers =
                [first, second].map(|rank| format!(r#"{{"server_id":"n{rank}","device":[{}]}}"#, device(rank)));
            format!(r#"{{"status":"completed","version":"1.0","server_list":[{}]}}"#, servers.join(","))
        };
        assert_eq!(RankTable::parse(table("1", "0").as_bytes()).unwrap().ranks, 2);
        assert!(RankTable::parse(table("1", "2").as_bytes()).unwrap_err().contains("not 0 to 1"));
        assert!(RankTable::parse(table("x", "0").as_bytes()).unwrap_err().contains("rank_id"));
        assert!(RankTable::parse(br#"{"status":"initializing"}"#).unwrap_err().contains("initializing"));
        assert!(RankTable::parse(b"{").is_err());
    }
}
