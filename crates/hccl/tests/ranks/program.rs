//! What the ranks of a job do.

use crate::api::*;
use crate::data::Random;
use crate::job::Rank;
use crate::model::Collective;
use std::ptr::null_mut;
use std::{env, fs};

/// Collectives of a random program, and how many are in flight at a time.
const COLLECTIVES: u64 = 26;
const IN_FLIGHT: u64 = 5;
/// The seed with which a program ends with large collectives.
pub const LARGE_SEED: u64 = 2;

/// Random collectives against the model, several in flight, and a large one.
pub fn model(rank: &Rank) {
    let stream = Stream::new();
    let mut random = Random::new(rank.seed);
    let mut number = 0;
    while number < COLLECTIVES {
        let batch: Vec<_> = (number..(number + IN_FLIGHT).min(COLLECTIVES))
            .map(|number| Collective::draw(number, rank.ranks, &mut random).submit(rank, &stream))
            .collect();
        check(stream.synchronize());
        batch.iter().for_each(|one| one.verify(rank));
        number += IN_FLIGHT;
    }
    if rank.seed == LARGE_SEED {
        for is_in_place in [false, true] {
            for large in Collective::large(16 << 20, rank.ranks, is_in_place) {
                let submitted = large.submit(rank, &stream);
                check(stream.synchronize());
                submitted.verify(rank);
            }
        }
    }
}

/// Two ranks of one thread, on two streams: neither may hold what the other needs.
pub fn one_thread() {
    let mut comms = [null_mut(); 2];
    let devices = [0, 1];
    // SAFETY: both arrays have two elements.
    check(unsafe { HcclCommInitAll(2, devices.as_ptr().cast_mut(), comms.as_mut_ptr()) });
    let ranks = [0, 1].map(|rank| Rank { rank, ranks: 2, seed: 0, comm: comms[rank as usize] });
    let streams = [0, 1].map(|device| {
        use_device(device);
        Stream::new()
    });
    let mut random = Random::new(77);
    for number in 0..26 {
        let collective = Collective::draw(number, 2, &mut random);
        let submitted = [1, 0].map(|at| {
            use_device(at as i32);
            (at, collective.submit(&ranks[at], &streams[at]))
        });
        // One of the two is enough to make both go.
        use_device(0);
        check(streams[0].synchronize());
        use_device(1);
        check(streams[1].synchronize());
        submitted.iter().for_each(|(at, one)| one.verify(&ranks[*at]));
    }
    for (at, rank) in ranks.iter().enumerate() {
        use_device(at as i32);
        // SAFETY: a handle of this process.
        check(unsafe { HcclCommDestroy(rank.comm) });
        // SAFETY: any value is allowed.
        assert_eq!(unsafe { HcclCommDestroy(rank.comm) }, 1, "the handle is stale");
    }
}

/// Ranks that find each other by a rank table of version 1.0, or of version 1.2 with seed 1.
pub fn table(rank: u32, ranks: u32, seed: u64) {
    let parent = std::os::unix::process::parent_id();
    let path = env::temp_dir().join(format!("softacl-hccl-table-{parent}-{seed}.json"));
    if rank == 0 {
        println!("\nroot=none");
    }
    let (extra, pods, version) = match seed {
        1 => (
            r#","device_ip":"10.0.0.1","super_device_id":"1","host_port":"60001""#,
            r#","super_pod_list":[{"super_pod_id":"0","server_list":[{"server_id":"s"}]}]"#,
            "1.2",
        ),
        _ => ("", "", "1.0"),
    };
    let device = |rank: u32| format!(r#"{{"device_id":"{rank}"{extra},"rank_id":"{rank}"}}"#);
    let devices: Vec<String> = (0..ranks).map(device).collect();
    // Different for every test process, so that two at a time do not meet.
    let text = format!(
        r#"{{"status":"completed","version":"{version}","server_list":[{{"server_id":"{parent}","device":[{}]}}]{pods}}}"#,
        devices.join(",")
    );
    fs::write(&path, text).unwrap();
    let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    for seed in 0..2 {
        let mut comm = null_mut();
        // SAFETY: the path is a string, and the handle is written to a variable that lives during the call.
        check(unsafe { HcclCommInitClusterInfo(name.as_ptr(), rank, &raw mut comm) });
        model(&Rank { rank, ranks, seed, comm });
        // SAFETY: a handle of this process.
        check(unsafe { HcclCommDestroy(comm) });
    }
    let _ = fs::remove_file(path);
}

/// Sub-communicators, batches, graphs and questions.
pub fn features(rank: &Rank) {
    let Rank { rank: own, ranks, comm, .. } = *rank;
    assert_eq!(ranks, 3);
    let (mut size, mut id, mut name) = (0, 0, [0_u8; 128]);
    // SAFETY: all results are written to variables that live during the calls.
    unsafe {
        check(HcclGetRankSize(comm, &raw mut size));
        check(HcclGetRankId(comm, &raw mut id));
        check(HcclGetCommName(comm, name.as_mut_ptr().cast()));
    }
    assert_eq!((size, id), (ranks, own));
    sub_communicator(rank);
    batch(rank);
    graph(rank);
}

fn sub_communicator(rank: &Rank) {
    let mut members = [2_u32, 0];
    let mut parent = rank.comm;
    let mut sub = null_mut();
    let position = members.iter().position(|member| *member == rank.rank);
    // SAFETY: the arrays live during the calls.
    let code = unsafe {
        match position {
            Some(at) => HcclCreateSubCommConfig(
                &raw mut parent,
                2,
                members.as_mut_ptr(),
                7,
                at as u32,
                null_mut(),
                &raw mut sub,
            ),
            None => HcclCreateSubCommConfig(&raw mut parent, 0, null_mut(), 0xffff_ffff, 0, null_mut(), &raw mut sub),
        }
    };
    check(code);
    let Some(at) = position else { return };
    model(&Rank { rank: at as u32, ranks: 2, seed: 5, comm: sub });
    // SAFETY: a handle of this process.
    check(unsafe { HcclCommDestroy(sub) });
}

/// Everyone sends to everyone, itself included, in one batch, with receives first.
fn batch(rank: &Rank) {
    const COUNT: usize = 5000;
    let stream = Stream::new();
    let value = |from: u32, to: u32| (10 * from + to + 1) as u8;
    let item = |direction: i32, buffer: &Buffer, remote_rank: u32| hccl::types::SendRecvItem {
        direction,
        buffer: buffer.pointer,
        count: COUNT as u64,
        data_type: 7,
        remote_rank,
    };
    let others = 0..rank.ranks;
    let sent: Vec<Buffer> = others.clone().map(|to| Buffer::new(&[value(rank.rank, to); COUNT])).collect();
    let received: Vec<Buffer> = others.clone().map(|_| Buffer::new(&[0; COUNT])).collect();
    let mut items: Vec<_> = others.clone().map(|from| item(1, &received[from as usize], from)).collect();
    items.extend(others.clone().map(|to| item(0, &sent[to as usize], to)));
    // SAFETY: the items live during the call, the buffers until the stream was waited for.
    check(unsafe { HcclBatchSendRecv(items.as_mut_ptr(), items.len() as u32, rank.comm, stream.0) });
    check(stream.synchronize());
    for from in others {
        assert_eq!(received[from as usize].bytes(), [value(from, rank.rank); COUNT]);
    }
}

/// A captured all-reduce runs as often as its graph, and calls between the runs do not disturb it.
fn graph(rank: &Rank) {
    const COUNT: usize = 20_000;
    let stream = Stream::new();
    let cells = Buffer::new(&[1_i32; COUNT].map(i32::to_le_bytes).concat());
    let mut graph = null_mut();
    // SAFETY: the buffer lives until the stream was waited for.
    unsafe {
        check(aclmdlRICaptureBegin(stream.0, 2));
        check(HcclAllReduce(cells.pointer, cells.pointer, COUNT as u64, 2, 0, rank.comm, stream.0));
        check(aclmdlRICaptureEnd(stream.0, &raw mut graph));
        check(aclmdlRIExecuteAsync(graph, stream.0));
        check(aclmdlRIExecuteAsync(graph, stream.0));
        check(HcclAllReduce(cells.pointer, cells.pointer, COUNT as u64, 2, 0, rank.comm, stream.0));
        check(aclmdlRIExecuteAsync(graph, stream.0));
        check(stream.synchronize());
        check(aclmdlRIDestroy(graph));
    }
    assert_eq!(cells.bytes(), [81_i32; COUNT].map(i32::to_le_bytes).concat());
}
