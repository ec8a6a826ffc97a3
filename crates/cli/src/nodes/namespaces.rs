//! Namespaces of nodes: each node has its own host name and files, and its own network, which a bridge connects with those
//! of the other nodes. The namespaces have no names in the system; they end with their last process.
//!
//! The launcher moves to separate namespaces first, in which the bridge is. So nothing on the host changes, and the rights
//! that a user namespace gives are enough.

use super::cluster::{Cluster, name};
use crate::host_files;
use anyhow::{Context as _, Result, bail, ensure};
use softacl_toolkit::HostFile;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::{env, ptr};

/// How far nodes are separated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
pub enum Separation {
    /// Not at all: they are processes of this host.
    None,
    /// Host names and files.
    Names,
    /// Host names, files and networks.
    Networks,
}

impl Separation {
    fn kinds(self) -> i32 {
        let names = libc::CLONE_NEWNS | libc::CLONE_NEWUTS;
        if self == Separation::Networks { names | libc::CLONE_NEWNET } else { names }
    }
}

/// The namespaces of one node.
#[derive(Debug, Default)]
pub struct Space(Vec<File>);

impl Space {
    /// Lets a command run in the namespaces of the node.
    pub fn apply(&self, command: &mut Command) -> Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let directory = directory()?;
        let descriptors: Vec<i32> = self.0.iter().map(|file| file.as_raw_fd()).collect();
        // SAFETY: the function makes system calls only, with descriptors that stay open until after the start.
        unsafe {
            command.pre_exec(move || {
                for descriptor in &descriptors {
                    if libc::setns(*descriptor, 0) != 0 {
                        return Err(io::Error::last_os_error());
                    }
                }
                // Entering a mount namespace leads to its root.
                libc::chdir(directory.as_ptr());
                Ok(())
            });
        }
        Ok(())
    }
}

fn directory() -> Result<std::ffi::CString> {
    use std::os::unix::ffi::OsStringExt as _;
    Ok(std::ffi::CString::new(env::current_dir()?.into_os_string().into_vec())?)
}

/// Finds out, in a child process, how far this system lets nodes be separated. Returns that, and why it is not more.
pub fn probe(cluster: &Cluster, wanted: Separation) -> (Separation, Option<String>) {
    let mut why = None;
    for separation in [Separation::Networks, Separation::Names].into_iter().filter(|one| *one <= wanted) {
        let attempt = || -> Result<()> {
            let one =
                Cluster { nodes: 1, devices: 1, has_networks: separation == Separation::Networks, port: cluster.port };
            make(&one, separation, &|_| Vec::new()).map(drop)
        };
        match in_child(attempt) {
            Ok(()) => return (separation, why),
            Err(error) => why = why.or(Some(error)),
        }
    }
    (Separation::None, why)
}

/// Runs a function in a child process, which shares nothing that the function changes.
fn in_child(function: impl FnOnce() -> Result<()>) -> Result<(), String> {
    let mut ends = [0; 2];
    // SAFETY: the array has room for two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error().to_string());
    }
    // SAFETY: new descriptors have no other owner.
    let [mut reader, mut writer] = ends.map(|end| File::from(unsafe { OwnedFd::from_raw_fd(end) }));
    // SAFETY: this process has one thread, so the child may do everything that this process may.
    let child = unsafe { libc::fork() };
    if child == 0 {
        if let Err(error) = function() {
            let _ = write!(writer, "{error:#}");
        }
        // SAFETY: ends the child without running what belongs to the parent.
        unsafe { libc::_exit(0) };
    }
    drop(writer);
    let mut text = String::new();
    let read = if child < 0 { Err(io::Error::last_os_error()) } else { reader.read_to_string(&mut text) };
    if child > 0 {
        // SAFETY: waits for the child; the status is not asked for.
        unsafe { libc::waitpid(child, ptr::null_mut(), 0) };
    }
    match read {
        Err(error) => Err(error.to_string()),
        Ok(0) => Ok(()),
        Ok(_) => Err(text),
    }
}

/// Makes the namespaces of all nodes. This process, which must have one thread, stays in separate namespaces.
pub fn make(
    cluster: &Cluster,
    separation: Separation,
    more_files: &dyn Fn(u32) -> Vec<HostFile>,
) -> Result<Vec<Space>> {
    if separation == Separation::None {
        return Ok((0..cluster.nodes).map(|_| Space::default()).collect());
    }
    host_files::enter_namespaces(separation.kinds()).context("namespaces are not permitted")?;
    if separation == Separation::Networks {
        configure("link add br0 type bridge\nlink set br0 up\nlink set lo up\n", None)?;
    }
    let own = open_namespaces(separation)?;
    let current = env::current_dir();
    let mut spaces = Vec::new();
    for node in 0..cluster.nodes {
        enter_node(cluster, separation, node, &own)?;
        let mut files = more_files(node);
        let differs = cluster.files(node);
        files.retain(|file| differs.iter().all(|other| other.path != file.path));
        files.extend(differs);
        host_files::show_here(&files)?;
        spaces.push(Space(open_namespaces(separation)?));
        for namespace in &own {
            // SAFETY: an open namespace; this process has one thread.
            let code = unsafe { libc::setns(namespace.as_raw_fd(), 0) };
            ensure!(code == 0, "returning from the namespaces of {}: {}", name(node), io::Error::last_os_error());
        }
        if let Ok(current) = &current {
            env::set_current_dir(current)?;
        }
        if separation == Separation::Networks {
            configure(&format!("link set veth{node} master br0\nlink set veth{node} up\n"), None)?;
        }
    }
    Ok(spaces)
}

/// Moves this process to new namespaces, and makes the network and the name of a node there.
fn enter_node(cluster: &Cluster, separation: Separation, node: u32, own: &[File]) -> Result<()> {
    // SAFETY: the call takes a number; this process has one thread.
    let code = unsafe { libc::unshare(separation.kinds()) };
    ensure!(code == 0, "namespaces of {}: {}", name(node), io::Error::last_os_error());
    let host = name(node);
    // SAFETY: the name has this length.
    let code = unsafe { libc::sethostname(host.as_ptr().cast(), host.len()) };
    ensure!(code == 0, "the name {host}: {}", io::Error::last_os_error());
    let Some(network) = own.first().filter(|_| separation == Separation::Networks) else { return Ok(()) };
    let bridge = format!("/proc/self/fd/{}", network.as_raw_fd());
    let mut commands = format!("link set lo up\nlink add eth0 type veth peer name veth{node} netns {bridge}\n");
    writeln!(commands, "addr add {}/16 dev eth0", cluster.address(node))?;
    for device in 0..cluster.devices {
        writeln!(commands, "addr add {}/16 dev eth0", cluster.device_address(node, device))?;
    }
    configure(&(commands + "link set eth0 up\n"), Some(network))
}

/// The namespaces of this process, the network first.
fn open_namespaces(separation: Separation) -> Result<Vec<File>> {
    let names = if separation == Separation::Networks { &["net", "uts", "mnt"][..] } else { &["uts", "mnt"] };
    let open = |name: &&str| File::open(format!("/proc/self/ns/{name}")).context("a namespace");
    names.iter().map(open).collect()
}

/// Configures the network of this process. `other` stays open, for commands that name it.
fn configure(commands: &str, other: Option<&File>) -> Result<()> {
    let mut ip = Command::new("ip");
    ip.args(["-batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let kept = other.map(|file| file.as_raw_fd());
    // SAFETY: the function makes system calls only, with a descriptor that stays open until after the start.
    unsafe {
        ip.pre_exec(move || {
            kept.map(|descriptor| libc::fcntl(descriptor, libc::F_SETFD, 0));
            keep_rights()
        })
    };
    let mut child = match ip.spawn() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => bail!("`ip` is not installed (package iproute2)"),
        started => started.context("ip")?,
    };
    // If `ip` has ended early, it says why.
    let _ = child.stdin.take().map(|mut input| input.write_all(commands.as_bytes()));
    let output = child.wait_with_output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "ip: {}", text.lines().next().unwrap_or("failed"));
    Ok(())
}

/// Lets the program that is started next keep the rights of this process over its network. Without that, a user other than
/// root would lose them: a user namespace gives them only to the process that made it.
fn keep_rights() -> io::Result<()> {
    const VERSION_3: u32 = 0x2008_0522;
    const NET_ADMIN: usize = 12;
    const SYS_ADMIN: usize = 21;
    let header = [VERSION_3, 0];
    // Effective, permitted and inheritable rights: the low words, then the high ones.
    let mut sets = [[0_u32; 3]; 2];
    // SAFETY: the structures have the layout of version 3. A failure changes nothing, and `ip` then says what it may not do.
    unsafe {
        if libc::syscall(libc::SYS_capget, header.as_ptr(), sets.as_mut_ptr()) == 0 {
            sets[0][2] |= sets[0][1] & (1 << NET_ADMIN | 1 << SYS_ADMIN);
            libc::syscall(libc::SYS_capset, header.as_ptr(), sets.as_ptr());
            for right in [NET_ADMIN, SYS_ADMIN] {
                libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_RAISE, right, 0, 0);
            }
        }
    }
    Ok(())
}
