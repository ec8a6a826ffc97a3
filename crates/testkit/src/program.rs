//! Random programs: operations with abstract numbers, which the world maps to existing objects at run time.
//!
//! Any part of a program is therefore a valid program, as shrinking requires.

use fastrand::Rng;

/// One operation. The numbers select streams, buffers, offsets and sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiCall {
    AllocateDevice {
        size: u32,
    },
    AllocatePinned {
        size: u32,
    },
    AllocatePageable {
        size: u32,
    },
    Free {
        buffer: u32,
        wait: bool,
    },
    CreateStream,
    DestroyStream {
        stream: u32,
    },
    Copy {
        target: u32,
        source: u32,
        at: u32,
        len: u32,
    },
    CopyAsync {
        target: u32,
        source: u32,
        at: u32,
        len: u32,
        stream: u32,
    },
    /// A copy of kind 5, whose source changes right after the call.
    CopyStaged {
        target: u32,
        source: u32,
        at: u32,
        len: u32,
        stream: u32,
    },
    CopyPlane {
        target: u32,
        source: u32,
        at: u32,
        width: u32,
        height: u32,
        stream: u32,
    },
    CopyBatch {
        target: u32,
        source: u32,
        at: u32,
        entries: u32,
        len: u32,
        stream: u32,
        blocking: bool,
    },
    CopyDescribed {
        target: u32,
        source: u32,
        at: u32,
        len: u32,
        stream: u32,
    },
    CopyWithOffset {
        target: u32,
        source: u32,
        at: u32,
        len: u32,
        stream: u32,
    },
    Fill {
        target: u32,
        at: u32,
        len: u32,
        byte: u8,
    },
    FillAsync {
        target: u32,
        at: u32,
        len: u32,
        byte: u8,
        stream: u32,
    },
    FillWords {
        target: u32,
        at: u32,
        len: u32,
        word: u32,
        stream: u32,
    },
    Reduce {
        target: u32,
        source: u32,
        at: u32,
        len: u32,
        kind: u32,
        stream: u32,
    },
    /// A graph: steps that are captured on one or two streams and launched several times.
    Graph {
        seed: u32,
        steps: u32,
        runs: u32,
        stream: u32,
        side: u32,
    },
    /// One stream signals another, with a notify or a value in memory. With `first` the wait is submitted before the
    /// signal.
    Signal {
        from: u32,
        to: u32,
        kind: u32,
        first: bool,
    },
    /// Device memory from a pool, allocated in stream order.
    AllocateFromPool {
        size: u32,
        stream: u32,
    },
    /// Device memory at a reserved address.
    AllocateMapped {
        granules: u32,
    },
    /// A host function that adds 1 to every byte of a range of host memory.
    HostFunction {
        target: u32,
        at: u32,
        len: u32,
        stream: u32,
    },
    /// A kernel that adds the bytes of one range to those of another.
    Kernel {
        target: u32,
        source: u32,
        at: u32,
        len: u32,
        stream: u32,
    },
    /// The program writes host memory directly.
    HostWrite {
        target: u32,
        at: u32,
        len: u32,
        byte: u8,
    },
    Record {
        event: u32,
        stream: u32,
    },
    Wait {
        event: u32,
        stream: u32,
    },
    Synchronize {
        stream: u32,
    },
    SynchronizeEvent {
        event: u32,
    },
    SynchronizeDevice,
    Query {
        stream: u32,
    },
    /// A call that must be refused with a certain code and change nothing.
    InvalidCall {
        which: u32,
        target: u32,
        source: u32,
        stream: u32,
    },
    /// Memory of the other device.
    AllocatePeer {
        size: u32,
    },
    /// A copy between the two devices.
    CopyPeer {
        target: u32,
        source: u32,
        at: u32,
        len: u32,
        stream: u32,
        blocking: bool,
    },
    /// Makes failed tasks stop the context of the stream from now on.
    StopOnFailure {
        stream: u32,
    },
    /// Checks the health of the device and repairs it.
    Repair,
    /// Changes a byte on the machine but not in the model. Never generated; tests the comparison.
    Corrupt {
        target: u32,
    },
    /// Waits for everything and compares all buffers with the model.
    Verify,
}

/// A list of operations for one thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    pub operations: Vec<ApiCall>,
}

impl Program {
    /// Generates a program with two streams from a seed.
    pub fn random(seed: u64, length: usize) -> Program {
        Program::with_streams(seed, length, 2)
    }

    /// Generates a program that starts with `streams` streams.
    pub fn with_streams(seed: u64, length: usize, streams: usize) -> Program {
        let mut rng = Rng::with_seed(seed);
        let mut operations = vec![
            ApiCall::AllocateDevice { size: 5000 },
            ApiCall::AllocatePinned { size: 5000 },
            ApiCall::AllocatePageable { size: 5000 },
        ];
        operations.extend(std::iter::repeat_n(ApiCall::CreateStream, streams));
        // A separate generator, so that recorded seeds keep their programs from before graphs existed.
        let mut graphs = Rng::with_seed(!seed);
        // A separate generator for operations that were added after graphs.
        let mut later = Rng::with_seed(seed ^ 0x5eed_0f5e_ed0f_5eed);
        // And one for kernels.
        let mut kernels = Rng::with_seed(seed ^ 0x4e12_4e15_4e12_4e15);
        for _ in 0..length {
            operations.push(operation(&mut rng));
            if graphs.u32(0..25) == 0 {
                operations.push(graph(&mut graphs));
            }
            if later.u32(0..12) == 0 {
                operations.push(later_operation(&mut later));
            }
            if kernels.u32(0..10) == 0 {
                operations.push(kernel(&mut kernels));
            }
        }
        operations.push(ApiCall::Verify);
        Program { operations }
    }

    /// Generates a program for two devices with fault rules.
    pub fn with_faults(seed: u64, length: usize, streams: usize) -> Program {
        let base = Program::with_streams(seed, length, streams);
        let mut rng = Rng::with_seed(seed ^ 0xfa17_0000_fa17);
        let mut operations = Vec::new();
        for (at, operation) in base.operations.into_iter().enumerate() {
            operations.push(operation);
            if at == 2 {
                operations.push(ApiCall::AllocatePeer { size: 5000 });
            }
            if at > 2 && rng.u32(0..8) == 0 {
                operations.push(fault_operation(&mut rng));
            }
        }
        operations.push(ApiCall::Verify);
        Program { operations }
    }
}

/// Generates an operation for programs with two devices and fault rules.
fn fault_operation(rng: &mut Rng) -> ApiCall {
    match rng.u32(0..40) {
        0..=3 => ApiCall::AllocatePeer { size: size(rng) },
        4 => ApiCall::StopOnFailure { stream: rng.u32(..) },
        5..=6 => ApiCall::Repair,
        _ => ApiCall::CopyPeer {
            target: rng.u32(..),
            source: rng.u32(..),
            at: rng.u32(..),
            len: length(rng),
            stream: rng.u32(..),
            blocking: rng.u32(0..4) == 0,
        },
    }
}

fn operation(rng: &mut Rng) -> ApiCall {
    use ApiCall::*;
    let (target, source, stream, event) = (rng.u32(..), rng.u32(..), rng.u32(..), rng.u32(..));
    let (at, byte) = (rng.u32(..), rng.u8(..));
    let len = length(rng);
    match rng.u32(0..100) {
        0..=3 => AllocateDevice { size: size(rng) },
        4..=6 => AllocatePinned { size: size(rng) },
        7 => AllocatePageable { size: size(rng) },
        8..=10 => Free { buffer: target, wait: rng.bool() },
        11..=12 => CreateStream,
        13 => DestroyStream { stream },
        14..=18 => Copy { target, source, at, len },
        19..=38 => CopyAsync { target, source, at, len, stream },
        39..=42 => CopyStaged { target, source, at, len, stream },
        43..=46 => CopyPlane { target, source, at, width: len % 300 + 1, height: rng.u32(1..20), stream },
        47..=53 => CopyBatch {
            target,
            source,
            at,
            entries: rng.u32(1..40),
            len: len % 500 + 1,
            stream,
            blocking: rng.u8(..) < 50,
        },
        54..=57 => CopyDescribed { target, source, at, len, stream },
        58..=59 => CopyWithOffset { target, source, at, len, stream },
        60 => Fill { target, at, len, byte },
        61..=63 => FillAsync { target, at, len, byte, stream },
        64..=65 => FillWords { target, at, len, word: rng.u32(..), stream },
        66..=69 => Reduce { target, source, at, len, kind: rng.u32(..), stream },
        70..=73 => HostFunction { target, at, len, stream },
        74..=77 => HostWrite { target, at, len, byte },
        78..=82 => Record { event, stream },
        83..=87 => Wait { event, stream },
        88..=90 => Synchronize { stream },
        91 => SynchronizeEvent { event },
        92 => SynchronizeDevice,
        93..=94 => Query { stream },
        95..=98 => InvalidCall { which: rng.u32(..), target, source, stream },
        _ => Verify,
    }
}

/// Generates one of the operations that were added after graphs.
fn later_operation(rng: &mut Rng) -> ApiCall {
    match rng.u32(0..10) {
        0..=5 => ApiCall::Signal { from: rng.u32(..), to: rng.u32(..), kind: rng.u32(..), first: rng.bool() },
        6..=8 => ApiCall::AllocateFromPool { size: size(rng), stream: rng.u32(..) },
        _ => ApiCall::AllocateMapped { granules: rng.u32(1..3) },
    }
}

fn kernel(rng: &mut Rng) -> ApiCall {
    let (target, source, at, stream) = (rng.u32(..), rng.u32(..), rng.u32(..), rng.u32(..));
    ApiCall::Kernel { target, source, at, len: length(rng), stream }
}

fn graph(rng: &mut Rng) -> ApiCall {
    ApiCall::Graph {
        seed: rng.u32(..),
        steps: rng.u32(0..12),
        runs: rng.u32(0..5),
        stream: rng.u32(..),
        side: rng.u32(..),
    }
}

/// Sizes of buffers: mostly small, sometimes large enough to be shared between threads.
fn size(rng: &mut Rng) -> u32 {
    match rng.u32(0..20) {
        0 => 3 << 20,
        1..=3 => rng.u32(60_000..300_000),
        _ => rng.u32(1..20_000),
    }
}

/// Lengths of accesses; the world reduces them to the size of the buffer.
fn length(rng: &mut Rng) -> u32 {
    match rng.u32(0..10) {
        0 => u32::MAX,
        1..=3 => rng.u32(1..200_000),
        _ => rng.u32(1..4000),
    }
}
