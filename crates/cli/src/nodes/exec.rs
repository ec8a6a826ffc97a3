//! `softacl exec`: runs a command on a node of a running `softacl run --nodes`. The node is found through its processes,
//! which have its name and that of their cluster in their environment.

use super::cluster::{CLUSTER, NODE};
use anyhow::{Context as _, Result, anyhow, bail, ensure};
use clap::Args;
use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

/// Run a command on a node of a running `softacl run --nodes`
///
/// The command gets the network, the name, the files, the variables and the current directory of the node.
#[derive(Args)]
pub struct Arguments {
    /// Name of the node, for example node0
    node: String,
    /// The cluster, if several run: the process id of its `softacl run`
    #[arg(long, value_name = "PID")]
    cluster: Option<u32>,
    /// Command and arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub fn main(arguments: &Arguments) -> Result<ExitCode> {
    let process = process(&arguments.node, arguments.cluster)?;
    let variables = variables(process).context("the process of the node has ended")?;
    let directory = fs::read_link(format!("/proc/{process}/cwd"))?;
    enter(process).with_context(|| format!("could not enter {}", arguments.node))?;
    env::set_current_dir(&directory).with_context(|| format!("{}", directory.display()))?;
    let mut command = Command::new(&arguments.command[0]);
    command.args(&arguments.command[1..]).env_clear().envs(variables);
    let error = command.exec();
    Err(anyhow!(error)).with_context(|| format!("could not run {}", arguments.command[0].display()))
}

/// The first process of a node.
fn process(node: &str, cluster: Option<u32>) -> Result<u32> {
    let mut nodes: BTreeMap<(u32, String), u32> = BTreeMap::new();
    let entries = fs::read_dir("/proc")?.flatten();
    let mut processes: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    processes.sort_unstable();
    for process in processes {
        let Ok(variables) = variables(process) else { continue };
        let value = |name: &str| variables.iter().find(|(given, _)| given == name)?.1.clone().into_string().ok();
        let (Some(name), Some(Ok(owner))) = (value(NODE), value(CLUSTER).map(|text| text.parse::<u32>())) else {
            continue;
        };
        if cluster.is_none_or(|wanted| wanted == owner) {
            nodes.entry((owner, name)).or_insert(process);
        }
    }
    let found: Vec<_> = nodes.iter().filter(|((_, name), _)| name == node).collect();
    let names = || nodes.keys().map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(", ");
    match found[..] {
        [(_, process)] => Ok(*process),
        [] if nodes.is_empty() => bail!("no node runs; `softacl run --nodes 2 -- ./app` starts two"),
        [] => bail!("there is no node {node}; there are {}", names()),
        _ => {
            let clusters: Vec<String> = found.iter().map(|((owner, _), _)| owner.to_string()).collect();
            bail!("{node} exists in several clusters: choose one with --cluster {}", clusters.join(" or --cluster "))
        }
    }
}

/// The variables with which a process was started.
fn variables(process: u32) -> io::Result<Vec<(OsString, OsString)>> {
    let bytes = fs::read(format!("/proc/{process}/environ"))?;
    let pair = |line: &[u8]| {
        let at = line.iter().position(|byte| *byte == b'=')?;
        let part = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        Some((part(&line[..at]), part(&line[at + 1..])))
    };
    Ok(bytes.split(|byte| *byte == 0).filter_map(pair).collect())
}

/// Moves this process, which has one thread, to the namespaces of another one.
fn enter(process: u32) -> Result<()> {
    // All are opened first: after the user namespace, others are not ours anymore. The mount namespace comes last, because
    // it changes what `/proc` is.
    let mut files = Vec::new();
    for name in ["user", "net", "uts", "mnt"] {
        let file = File::open(format!("/proc/{process}/ns/{name}"))?;
        if file.metadata()?.ino() != fs::metadata(format!("/proc/self/ns/{name}"))?.ino() {
            files.push((name, file));
        }
    }
    for (name, file) in files {
        // SAFETY: an open namespace; this process has one thread.
        let code = unsafe { libc::setns(file.as_raw_fd(), 0) };
        ensure!(code == 0, "namespace {name}: {}", io::Error::last_os_error());
    }
    Ok(())
}
