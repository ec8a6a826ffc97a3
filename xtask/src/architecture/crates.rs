//! Crates of the workspace with everything that the command computes about them.

use super::graph::ModuleGraph;
use super::metadata::{self, Package};
use super::unsafety::{self, UnsafeFile};
use super::{names, sources};
use anyhow::Result;
use std::path::Path;

/// A crate of the workspace with its module graphs.
#[derive(Debug)]
pub struct Crate {
    pub package: Package,
    /// One graph for the library and one for each binary.
    pub graphs: Vec<ModuleGraph>,
    pub unsafe_files: Vec<UnsafeFile>,
}

/// Parses all crates of the workspace in `root`.
pub fn analyze(root: &Path) -> Result<Vec<Crate>> {
    metadata::packages(root)?
        .into_iter()
        .map(|package| {
            let (mut graphs, mut unsafe_files) = (Vec::new(), Vec::new());
            for target in &package.targets {
                let sources = sources::load(root, &target.root, &target.name)?;
                graphs.push(names::module_graph(&sources));
                unsafe_files.extend(unsafety::unsafe_files(&sources));
            }
            Ok(Crate { package, graphs, unsafe_files })
        })
        .collect()
}
