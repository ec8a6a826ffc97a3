//! Making and ending communicators.

use crate::communicator::{Handle, find, remove};
use crate::config::Config;
use crate::failure::{Failure, HcclResult};
use crate::group_calls::{self, Join};
use crate::program;
use crate::rank_table::{RankTable, fingerprint};
use crate::runtime::runtime;
use crate::status::enter;
use crate::types::ROOT_INFO_LEN;
use softacl_carrier::host::{Distance, HOST_LEN, Host};
use softacl_carrier::meeting::{Attendance, Meeting, SegmentKey};
use std::collections::HashMap;
use std::env;
use std::ffi::{OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::Ordering;
use std::sync::{LazyLock, Mutex, PoisonError};

/// First bytes of a root info.
const ROOT_MAGIC: &[u8; 16] = b"softacl-hccl-2\0\0";
/// Maximum length of a path.
const MAX_PATH: usize = 4096;
/// Rank ids of a sub-communicator to which the rank does not belong.
const NO_MEMBER: u64 = 0xffff_ffff;

/// Where the host is in a root info.
const ROOT_HOST: usize = 32;

fn encode(key: SegmentKey) -> Vec<u8> {
    let mut bytes = ROOT_MAGIC.to_vec();
    bytes.extend(key.process.to_le_bytes());
    bytes.extend(key.descriptor.to_le_bytes());
    bytes.extend(key.nonce.to_le_bytes());
    bytes.extend(Host::own().to_bytes());
    bytes.resize(ROOT_INFO_LEN, 0);
    bytes
}

fn decode(bytes: &[u8]) -> Option<(SegmentKey, Host)> {
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let nonce = u64::from_le_bytes(bytes.get(24..ROOT_HOST)?.try_into().ok()?);
    let key = SegmentKey { process: word(16)?, descriptor: word(20)?, nonce };
    let host = Host::from_bytes(bytes.get(ROOT_HOST..ROOT_HOST + HOST_LEN)?.try_into().ok()?);
    bytes.starts_with(ROOT_MAGIC).then_some((key, host))
}

/// The meeting of a root info: the one that this process convened, or that of another process.
fn meeting(root: *const c_void) -> Result<Meeting, Failure> {
    let bytes = program::read::<u8>(root.cast(), ROOT_INFO_LEN, "rootInfo")?;
    let malformed = || Failure::Parameter("rootInfo was not made by HcclGetRootInfo of this softacl".to_owned());
    let (key, host) = decode(&bytes).ok_or_else(malformed)?;
    let own = Host::own();
    match own.distance(&host) {
        Some(Distance::Machine) => Err(Failure::Unsupported(format!(
            "rootInfo comes from host {}, and this rank runs on {}: ranks of different hosts do not find each other yet",
            host.name(),
            own.name()
        ))),
        Some(Distance::Namespace) => Err(Failure::Unsupported(format!(
            "rootInfo comes from another PID namespace of this host ({}): ranks in different containers find each other \
             only if the containers share their processes, for example with `docker run --pid=host`",
            host.name()
        ))),
        None => Ok(Meeting::by_key(key)?),
    }
}

/// Takes the place of a rank in a meeting.
fn attend(meeting: Meeting, rank: u32, ranks: u32) -> Result<Attendance, Failure> {
    Ok(meeting.attend(rank, ranks, runtime()?.device()?)?)
}

fn join_root(ranks: u32, root: *const c_void, rank: u32, config: Config, target: *mut Handle) -> Result<(), Failure> {
    if target.is_null() {
        return Err(Failure::null("comm"));
    }
    runtime()?.device()?;
    let meeting = meeting(root)?;
    let name = config.name.clone().unwrap_or_else(|| format!("{:016x}", meeting.key().nonce));
    let attendance = attend(meeting, rank, ranks)?;
    group_calls::join(Join::new(attendance, name, config, false, target))
}

fn root_info(root: *mut c_void) -> Result<(), Failure> {
    runtime()?.device()?;
    let meeting = Meeting::convene("hccl")?;
    program::write_bytes(root, &encode(meeting.key()), "rootInfo")?;
    group_calls::keep_open(meeting);
    Ok(())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclGetRootInfo(root: *mut c_void) -> HcclResult {
    enter("HcclGetRootInfo", || root_info(root))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclGetRootInfoScalable(root: *mut c_void) -> HcclResult {
    enter("HcclGetRootInfoScalable", || root_info(root))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclCommInitRootInfo(
    ranks: u32,
    root: *const c_void,
    rank: u32,
    comm: *mut Handle,
) -> HcclResult {
    enter("HcclCommInitRootInfo", || join_root(ranks, root, rank, Config::from_environment(), comm))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclCommInitRootInfoConfig(
    ranks: u32,
    root: *const c_void,
    rank: u32,
    config: *const c_void,
    comm: *mut Handle,
) -> HcclResult {
    enter("HcclCommInitRootInfoConfig", || {
        if config.is_null() {
            return Err(Failure::null("config"));
        }
        join_root(ranks, root, rank, Config::read(config)?, comm)
    })
}

/// Several roots spread the load of connecting many ranks, which meet here in one place: the first root.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclCommInitRootInfoScalable(
    ranks: u32,
    roots: u32,
    root_list: *const c_void,
    rank: u32,
    _external_roots: u32,
    config: *const c_void,
    comm: *mut Handle,
) -> HcclResult {
    enter("HcclCommInitRootInfoScalable", || {
        if roots == 0 {
            return Err(Failure::Parameter("nRoot is 0".to_owned()));
        }
        join_root(ranks, root_list, rank, Config::read(config)?, comm)
    })
}

/// A number that the ranks of one job have in common, and usually no other job that uses the same table at the same time:
/// launchers give every rank the port of the job, and the job's id.
fn job_fingerprint() -> u64 {
    let values = ["MASTER_PORT", "TORCHELASTIC_RUN_ID"].map(|name| env::var_os(name).unwrap_or_default());
    fingerprint(values.join(OsStr::new("/")).as_bytes())
}

fn join_cluster(path: *const c_char, rank: u32, config: Config, target: *mut Handle) -> Result<(), Failure> {
    /// How often this process has joined a table, as a rank: the next time is another communicator.
    static JOINED: LazyLock<Mutex<HashMap<(u64, u32), u64>>> = LazyLock::new(Mutex::default);
    if target.is_null() {
        return Err(Failure::null("comm"));
    }
    runtime()?.device()?;
    let table = RankTable::load(&program::text(path, MAX_PATH, "clusterInfo")?)?;
    if rank >= table.ranks {
        return Err(Failure::Parameter(format!(
            "rank {rank} is not in the rank table, which has {} ranks",
            table.ranks
        )));
    }
    let number = {
        let mut joined = JOINED.lock().unwrap_or_else(PoisonError::into_inner);
        let times = joined.entry((table.fingerprint, rank)).or_default();
        *times += 1;
        *times
    };
    let name = format!("table-{:016x}-{:016x}-{number}", table.fingerprint, job_fingerprint());
    let meeting = match rank {
        0 => Meeting::convene(&name)?,
        _ => Meeting::by_name(&name, None, config.connect_timeout)?,
    };
    let attendance = attend(meeting, rank, table.ranks)?;
    let name = config.name.clone().unwrap_or(name);
    group_calls::join(Join::new(attendance, name, config, false, target))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclCommInitClusterInfo(path: *const c_char, rank: u32, comm: *mut Handle) -> HcclResult {
    enter("HcclCommInitClusterInfo", || join_cluster(path, rank, Config::from_environment(), comm))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclCommInitClusterInfoConfig(
    path: *const c_char,
    rank: u32,
    config: *mut c_void,
    comm: *mut Handle,
) -> HcclResult {
    enter("HcclCommInitClusterInfoConfig", || {
        if config.is_null() {
            return Err(Failure::null("config"));
        }
        join_cluster(path, rank, Config::read(config)?, comm)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclCommInitAll(count: u32, devices: *mut i32, comms: *mut Handle) -> HcclResult {
    enter("HcclCommInitAll", || {
        if count == 0 || comms.is_null() {
            return Err(if count == 0 { Failure::Parameter("ndev is 0".to_owned()) } else { Failure::null("comms") });
        }
        let list = program::read::<i32>(devices.cast_const(), count as usize, "devices")?;
        if let Some(device) =
            list.iter().enumerate().find_map(|(at, device)| list[..at].contains(device).then_some(device))
        {
            return Err(Failure::Parameter(format!("device {device} occurs twice")));
        }
        let convened = Meeting::convene("hccl")?;
        let key = convened.key();
        let mut joins = Vec::new();
        for (rank, device) in list.into_iter().enumerate() {
            let (rank, device) = (rank as u32, device as u32);
            let config = Config::from_environment();
            let attendance = Meeting::by_key(key)?.attend(rank, count, device)?;
            let target = comms.wrapping_add(rank as usize);
            joins.push(Join::new(attendance, format!("{:016x}", key.nonce), config, false, target));
        }
        drop(convened);
        joins.into_iter().try_for_each(group_calls::join)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclCreateSubCommConfig(
    comm: *mut Handle,
    count: u32,
    rank_ids: *mut u32,
    id: u64,
    rank: u32,
    config: *mut c_void,
    sub: *mut Handle,
) -> HcclResult {
    enter("HcclCreateSubCommConfig", || {
        let parent = find(program::read::<usize>(comm.cast_const().cast(), 1, "comm")?[0] as Handle)?;
        if parent.is_sub {
            return Err(Failure::Unsupported(format!("{} is a sub-communicator: it cannot be divided", parent.name)));
        }
        if rank_ids.is_null() && id == NO_MEMBER {
            return Ok(());
        }
        if sub.is_null() {
            return Err(Failure::null("subComm"));
        }
        let config = Config::read(config)?;
        let ranks = parent.group.ranks();
        if count == 0 || count > ranks || rank >= count {
            return Err(Failure::Parameter(format!(
                "rank {rank} of {count} is not possible in a communicator of {ranks}"
            )));
        }
        let ids = program::read::<u32>(rank_ids.cast_const(), count as usize, "rankIds")?;
        if ids[rank as usize] != parent.group.rank() || ids.iter().any(|id| *id >= ranks) {
            let own = parent.group.rank();
            return Err(Failure::Parameter(format!("rankIds {ids:?} do not have rank {own} at position {rank}")));
        }
        let name = config.name.clone().unwrap_or_else(|| format!("{}_sub_{id}", parent.name));
        // All members know these numbers, and no other communicator has them.
        let place = format!("sub-{:016x}-{id:x}-{:x}", parent.group.nonce(), ids[0]);
        let meeting = match rank {
            0 => Meeting::convene(&place)?,
            _ => Meeting::by_name(&place, Some(parent.group.process(ids[0])), config.connect_timeout)?,
        };
        let attendance = attend(meeting, rank, count)?;
        group_calls::join(Join::new(attendance, name, config, true, sub))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn HcclCommDestroy(comm: Handle) -> HcclResult {
    enter("HcclCommDestroy", || {
        let communicator = find(comm)?;
        if communicator.runs.load(Ordering::Acquire) > 0 && communicator.failure().is_none() {
            return Err(Failure::Again(format!("an operator of {} runs: try again later", communicator.name)));
        }
        // Other ranks that still wait for this one see that it has left.
        communicator.group.leave();
        remove(comm);
        Ok(())
    })
}
