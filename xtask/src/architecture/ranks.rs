//! Ranks of the crates. This table is the only place that states which crates may depend on which.

use super::metadata::Package;

/// Rank of a crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// A part of the product. Depends only on crates of a lower rank.
    Product(u8),
    /// A tool of the project. May depend on every crate; no product crate may depend on it.
    Development,
}

/// Ranks by package name, from bottom to top. A crate may be listed before it exists.
const RANKS: [(&str, Rank); 24] = [
    ("ascendcl-sys", Rank::Product(0)),
    ("softacl-profiles", Rank::Product(0)),
    ("softacl-sync", Rank::Product(0)),
    ("softacl-errors", Rank::Product(1)),
    ("softacl-timing", Rank::Product(1)),
    ("softacl-faults", Rank::Product(2)),
    ("softacl-memory", Rank::Product(3)),
    ("softacl-queues", Rank::Product(3)),
    ("softacl-engine", Rank::Product(4)),
    ("softacl-carrier", Rank::Product(4)),
    ("softacl-checker", Rank::Product(5)),
    ("softacl-tracer", Rank::Product(5)),
    ("ascendcl-capi", Rank::Product(6)),
    ("softacl-nnopbase", Rank::Product(6)),
    ("softacl-hccl", Rank::Product(6)),
    ("softacl-stubs", Rank::Product(6)),
    ("softacl-opapi", Rank::Product(7)),
    ("ascendcl", Rank::Product(7)),
    ("softacl-python", Rank::Product(7)),
    ("softacl-toolkit", Rank::Product(7)),
    ("softacl", Rank::Product(8)),
    ("softacl-testkit", Rank::Development),
    ("softacl-fuzz", Rank::Development),
    ("xtask", Rank::Development),
];

/// Returns the rank of a crate. `None` if the table does not list it.
pub fn rank(name: &str) -> Option<Rank> {
    RANKS.iter().find(|(listed, _)| *listed == name).map(|(_, rank)| *rank)
}

/// Returns a message for every dependency that does not point to a lower rank, and for every crate without a rank.
/// Dev-dependencies are ignored.
pub fn violations(packages: &[&Package]) -> Vec<String> {
    let mut messages = Vec::new();
    for package in packages {
        let Some(own) = rank(&package.name) else {
            messages.push(format!("{} has no rank: add it to xtask/src/architecture/ranks.rs", package.name));
            continue;
        };
        for dependency in package.dependencies.iter().filter(|dependency| !dependency.is_dev) {
            let allowed = match (own, rank(&dependency.name)) {
                (Rank::Product(own), Some(Rank::Product(other))) => other < own,
                (Rank::Product(_), _) => false,
                (Rank::Development, _) => true,
            };
            if !allowed {
                messages.push(format!(
                    "{} ({}) depends on {} ({}), which is not of a lower rank: {}",
                    package.name,
                    describe(Some(own)),
                    dependency.name,
                    describe(rank(&dependency.name)),
                    package.manifest.display()
                ));
            }
        }
    }
    messages
}

fn describe(rank: Option<Rank>) -> String {
    match rank {
        Some(Rank::Product(rank)) => format!("rank {rank}"),
        Some(Rank::Development) => "development".to_owned(),
        None => "no rank".to_owned(),
    }
}
