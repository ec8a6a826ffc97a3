//! `softacl run --nodes`: simulates a cluster on this machine. Every node has its own network, host name and files, as far
//! as the system permits it; all share the kernel and the process ids, through which ranks find each other.

mod cluster;
pub mod exec;
mod namespaces;
mod processes;

use crate::machine::MachineOptions;
use crate::{library, output};
use anyhow::{Context as _, Result, ensure};
use clap::{Args, ValueEnum};
use cluster::{Cluster, MAX_NODES, PORT, Place};
use namespaces::{Separation, Space};
use processes::Processes;
use softacl_toolkit::HostFile;
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Nodes")]
pub struct NodeOptions {
    /// Simulate N nodes, and run the program on each (docs/cluster.md)
    ///
    /// Nodes have their own devices, host names (node0, ...), networks and /etc/hccn.conf where the system permits
    /// namespaces. The variables of launchers are set (NODE_RANK, MASTER_ADDR, PET_* for torchrun, RANK_TABLE_FILE, ...).
    /// In the arguments, {node} is replaced by the number of the node.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_NODES)),
          conflicts_with = "timing")]
    pub nodes: Option<u32>,
    /// Start one process per device, with RANK, LOCAL_RANK and WORLD_SIZE
    #[arg(long, requires = "nodes")]
    ranks: bool,
    /// Write the output of each node to a file in DIR, instead of printing it with the name of the node
    #[arg(long, value_name = "DIR", requires = "nodes")]
    output: Option<PathBuf>,
    /// Networks of the nodes: their own (where the system permits it), or that of the host, which leads to other machines
    #[arg(long, value_name = "NETWORK", requires = "nodes", default_value = "own")]
    network: Network,
    /// How long the other processes run on after one has failed
    #[arg(long, value_name = "SECONDS", requires = "nodes", default_value_t = 10)]
    grace: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Network {
    Own,
    Host,
    /// Plain processes, also without private names and files
    None,
}

/// Runs the program on all nodes. `adapt` is called for the command of every process. Returns the exit code of the first
/// process that failed.
pub fn run(
    options: &NodeOptions,
    nodes: u32,
    machine: &MachineOptions,
    has_host_files: bool,
    adapt: impl Fn(&mut Command),
) -> Result<ExitCode> {
    let (version, devices) = machine.version_and_devices()?;
    // Refuses wrong options before anything is made.
    machine.command()?;
    let mut cluster = Cluster { nodes, devices, has_networks: true, port: PORT };
    let separation = separation(options, &cluster);
    ensure!(
        separation != Separation::None || !has_host_files,
        "--host-files needs namespaces, which the nodes do not have here"
    );
    cluster.has_networks = separation == Separation::Networks;
    if !cluster.has_networks {
        cluster.port = free_port()?;
    }
    let home = library::home()?;
    let more_files = |_: u32| -> Vec<HostFile> {
        if has_host_files { softacl_toolkit::host_files(&home, &version, devices) } else { Vec::new() }
    };
    let spaces = namespaces::make(&cluster, separation, &more_files)?;
    let directory = output::directory("softacl-nodes-")?;
    let table = directory.path().join("rank_table.json");
    fs::write(&table, cluster.rank_table()).context("could not write the rank table")?;
    if let Some(path) = &options.output {
        processes::make_directory(path)?;
    }
    let mut processes = Processes::new();
    for place in cluster.places(options.ranks) {
        let mut command = command(machine, &cluster, place, &table)?;
        adapt(&mut command);
        spaces[place.node as usize].apply(&mut command)?;
        processes.start(place, command, options.output.as_deref())?;
    }
    // The processes have entered them.
    drop::<Vec<Space>>(spaces);
    Ok(ExitCode::from(processes.wait(Duration::from_secs(options.grace))))
}

/// How far the nodes are separated. Says so if that is less than was asked for.
fn separation(options: &NodeOptions, cluster: &Cluster) -> Separation {
    let wanted = match options.network {
        Network::Own => Separation::Networks,
        Network::Host => Separation::Names,
        Network::None => return Separation::None,
    };
    let (possible, why) = namespaces::probe(cluster, wanted);
    if let Some(why) = why {
        let what = match possible {
            Separation::None => "the nodes are plain processes of this host",
            _ => "the nodes have the network of this host, and own names and files",
        };
        output::eprint_line(format_args!("softacl: {what}: {why}"));
    }
    possible
}

/// The command of one process.
fn command(machine: &MachineOptions, cluster: &Cluster, place: Place, table: &Path) -> Result<Command> {
    let mut machine = machine.clone();
    machine.program.iter_mut().for_each(|word| *word = place.word(word));
    let mut command = machine.command()?;
    command.envs(cluster.variables(place, table, std::process::id()));
    Ok(command)
}

/// A port of the host on which nothing listens now.
fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port is free")?;
    Ok(listener.local_addr()?.port())
}
