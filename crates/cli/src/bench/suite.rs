//! The cases, as data. The targets are for hosts with 2 cores. Lower is better for every metric.

use super::allocation::{self, HUGE_PAGES};
use super::call::{self, BATCH, LOOP};
use super::case::{Case, CaseBody, Measure, Need, Target, Unit};
use super::checked::{self, CHECKED, UNCHECKED};
use super::instructions::{self, Path};
use super::interleave::{MEMCPY, OURS, POCL};
use super::kernel::{self, COPY, HOST_FUNCTION, KERNEL};
use super::transfer::{Method, Order, SUBMIT, Submit, Transfer};
use super::{observed, overlap};

/// Region over which small pieces are scattered: eight times the last-level cache of known hosts.
const SPREAD: usize = 256 << 20;
const PLANE_PITCH: usize = 2 << 10;
const INSTRUCTIONS: Measure = Measure::Plain(OURS, Unit::Instructions);
const AGAINST_POCL: Target = Target::unlimited(Measure::Ratio(OURS, POCL));

pub const SUITE: &[Case] = &[
    Case {
        key: "submit-64",
        title: "submit of one 64 B pinned upload on a busy stream",
        needs: &[],
        targets: &[Target::at_most(6.0, Measure::PairsOverMemcpy(OURS)), AGAINST_POCL],
        body: CaseBody::Other(call::submit),
    },
    Case {
        key: "sync-64",
        title: "submit and synchronize one 64 B copy, stream idle",
        needs: &[],
        targets: &[Target::pairs(15.0), Target::pocl(1.0 / 80.0)],
        body: CaseBody::Other(call::synchronize),
    },
    Case {
        key: "hot-1000x64",
        title: "1,000 x 64 B hot: submit and drain, per copy",
        needs: &[],
        targets: &[Target::pairs(6.0), Target::pocl(1.0 / 25.0)],
        body: CaseBody::Other(call::drain),
    },
    Case {
        key: "loop-10000x64-cold",
        title: "10,000 x 64 B scattered and cold, loop of copies, one synchronize",
        needs: &[Need::Memory(2 << 30)],
        targets: &[Target::memcpy(1.5), AGAINST_POCL],
        body: CaseBody::Transfer(Transfer::loop_of(10_000, 64, Order::Cold(SPREAD))),
    },
    Case {
        key: "pipelined-64k",
        title: "64 KiB copies, 1,024 in a row over 64 MiB",
        needs: &[],
        targets: &[Target::memcpy(1.0), AGAINST_POCL],
        body: CaseBody::Transfer(Transfer::loop_of(1024, 64 << 10, Order::Sequential)),
    },
    Case {
        key: "pipelined-1m",
        title: "1 MiB copies, 64 in a row over 64 MiB",
        needs: &[],
        targets: &[Target::memcpy(1.0), AGAINST_POCL],
        body: CaseBody::Transfer(Transfer::loop_of(64, 1 << 20, Order::Sequential)),
    },
    Case {
        key: "one-16m",
        title: "16 MiB, one copy",
        needs: &[Need::Cores(2)],
        targets: &[Target::memcpy(0.65), AGAINST_POCL],
        body: CaseBody::Transfer(Transfer::loop_of(1, 16 << 20, Order::Sequential)),
    },
    Case {
        key: "one-256m",
        title: "256 MiB, one copy",
        needs: &[Need::Cores(2), Need::Memory(2 << 30), Need::Time],
        targets: &[Target::memcpy(0.65), AGAINST_POCL],
        body: CaseBody::Transfer(Transfer::loop_of(1, 256 << 20, Order::Sequential)),
    },
    Case {
        key: "one-1g",
        title: "1 GiB, one copy",
        needs: &[Need::Cores(2), Need::Memory(7 << 30), Need::Time],
        targets: &[Target::memcpy(0.65), AGAINST_POCL],
        body: CaseBody::Transfer(Transfer::loop_of(1, 1 << 30, Order::Sequential)),
    },
    Case {
        key: "loop-10240x32k",
        title: "10,240 x 32 KiB scattered, loop of copies, one synchronize",
        needs: &[Need::Cores(2), Need::Memory(3 << 30)],
        targets: &[Target::memcpy(0.5), AGAINST_POCL],
        body: CaseBody::Transfer(Transfer::loop_of(10_240, 32 << 10, Order::Scattered)),
    },
    Case {
        key: "batch-10240x32k",
        title: "batch of 10,240 x 32 KiB scattered (KV-cache blocks), submit to synchronize",
        needs: &[Need::Cores(2), Need::Memory(3 << 30), Need::Batches],
        targets: &[
            Target::memcpy(0.45),
            Target::at_most(30.0, Measure::Plain(SUBMIT, Unit::Nanoseconds)),
            AGAINST_POCL,
        ],
        body: CaseBody::Transfer(Transfer::batch_of(10_240, 32 << 10, Order::Scattered, Submit::InPlace)),
    },
    Case {
        key: "batch-100000x4k",
        title: "batch of 100,000 x 4 KiB scattered",
        needs: &[Need::Cores(2), Need::Memory(4 << 30), Need::Batches],
        targets: &[Target::memcpy(0.5), AGAINST_POCL],
        body: CaseBody::Transfer(Transfer::batch_of(100_000, 4 << 10, Order::Scattered, Submit::Unmeasured)),
    },
    Case {
        key: "batch-10000x64-cold",
        title: "batch of 10,000 x 64 B scattered and cold; submit alone on a busy stream",
        needs: &[Need::Memory(2 << 30), Need::Batches],
        targets: &[Target::memcpy(0.9), Target::at_most(12.0, Measure::Plain(SUBMIT, Unit::Nanoseconds)), AGAINST_POCL],
        body: CaseBody::Transfer(Transfer::batch_of(10_000, 64, Order::Cold(SPREAD), Submit::Blocked)),
    },
    Case {
        key: "batch-vs-loop-64",
        title: "batch compared with a loop of aclrtMemcpyAsync, 1,000 x 64 B hot, per entry",
        needs: &[Need::Batches],
        targets: &[
            Target::at_most(1.0 / 3.0, Measure::Ratio(BATCH, LOOP)),
            Target::unlimited(Measure::Ratio(BATCH, MEMCPY)),
        ],
        body: CaseBody::Other(call::batch_against_loop),
    },
    Case {
        key: "plane-8192x1k",
        title: "2D copy of 8,192 rows x 1 KiB, pitch 2 KiB",
        needs: &[Need::Cores(2)],
        targets: &[Target::memcpy(0.7), AGAINST_POCL],
        body: CaseBody::Transfer(Transfer {
            method: Method::Plane(PLANE_PITCH),
            ..Transfer::loop_of(8192, 1 << 10, Order::Sequential)
        }),
    },
    Case {
        key: "both-ways-64m",
        title: "64 MiB up and 64 MiB down on two streams, compared with both memcpys",
        needs: &[Need::Cores(2)],
        targets: &[Target::memcpy(0.6), AGAINST_POCL],
        body: CaseBody::Other(overlap::both_ways),
    },
    Case {
        key: "on-device-64m",
        title: "64 MiB within the device",
        needs: &[Need::Cores(2)],
        targets: &[Target::unlimited(Measure::Ratio(OURS, MEMCPY)), AGAINST_POCL],
        body: CaseBody::Other(overlap::on_device),
    },
    Case {
        key: "overlap-64m",
        title: "64 MiB copied while the host works for as long, compared with memcpy plus work",
        needs: &[Need::Cores(2)],
        targets: &[Target::memcpy(0.6), AGAINST_POCL],
        body: CaseBody::Other(overlap::with_host_work),
    },
    Case {
        key: "kernel-submit",
        title: "submit of an empty kernel on a busy stream, compared with a 64 B copy",
        needs: &[],
        targets: &[Target::at_most(3.0, Measure::Ratio(KERNEL, COPY))],
        body: CaseBody::Other(kernel::submit),
    },
    Case {
        key: "kernel-sync",
        title: "submit and synchronize an empty kernel, stream idle",
        needs: &[],
        targets: &[
            Target::at_most(1000.0, Measure::Plain(KERNEL, Unit::Nanoseconds)),
            Target::unlimited(Measure::Ratio(KERNEL, HOST_FUNCTION)),
        ],
        body: CaseBody::Other(kernel::synchronize),
    },
    Case {
        key: "malloc-2m",
        title: "aclrtMalloc and aclrtFree of 2 MiB, steady state",
        needs: &[],
        targets: &[Target::pairs(80.0)],
        body: CaseBody::Other(allocation::allocate_and_free),
    },
    Case {
        key: "first-touch",
        title: "first touch of fresh device memory, compared with fresh huge pages",
        needs: &[Need::Devices(2), Need::Memory(4 << 30)],
        targets: &[Target::at_most(1.2, Measure::Ratio(OURS, HUGE_PAGES))],
        body: CaseBody::Other(allocation::first_touch),
    },
    // After the allocation cases: every stream, even a destroyed one, makes later calls of aclrtFree slightly slower.
    Case {
        key: "streams-1000x10x4k",
        title: "1,000 streams x 10 copies of 4 KiB",
        needs: &[],
        targets: &[Target::memcpy(1.2), AGAINST_POCL],
        body: CaseBody::Transfer(Transfer { streams: 1000, ..Transfer::loop_of(10_000, 4 << 10, Order::Sequential) }),
    },
    Case {
        key: "idle-100",
        title: "100 idle streams, processor time",
        needs: &[],
        targets: &[Target::at_most(0.1, Measure::Plain(OURS, Unit::Percent))],
        body: CaseBody::Other(instructions::idle),
    },
    Case {
        key: "instructions-submit-64",
        title: "instructions to submit one 64 B upload on a busy stream",
        needs: &[Need::Valgrind, Need::Time],
        targets: &[Target::at_most(300.0, INSTRUCTIONS)],
        body: CaseBody::Instructions(Path::Submit),
    },
    Case {
        key: "instructions-submit-64-idle",
        title: "instructions to submit one 64 B upload on an idle stream",
        needs: &[Need::Valgrind, Need::Time],
        targets: &[Target::unlimited(INSTRUCTIONS)],
        body: CaseBody::Instructions(Path::SubmitIdle),
    },
    Case {
        key: "instructions-sync-64",
        title: "instructions to submit and synchronize one 64 B upload",
        needs: &[Need::Valgrind, Need::Time],
        targets: &[Target::unlimited(INSTRUCTIONS)],
        body: CaseBody::Instructions(Path::SubmitAndSynchronize),
    },
    Case {
        key: "instructions-batch-64",
        title: "instructions per 64 B entry of a batch of 1,000, submit and synchronize",
        needs: &[Need::Valgrind, Need::Time, Need::Batches],
        targets: &[Target::unlimited(INSTRUCTIONS)],
        body: CaseBody::Instructions(Path::BatchEntry),
    },
    Case {
        key: "instructions-malloc-2m",
        title: "instructions of aclrtMalloc and aclrtFree of 2 MiB",
        needs: &[Need::Valgrind, Need::Time],
        targets: &[Target::unlimited(INSTRUCTIONS)],
        body: CaseBody::Instructions(Path::AllocateAndFree),
    },
    Case {
        key: "observers-off",
        title: "instructions to submit one 64 B upload with observers disabled",
        needs: &[Need::Time, Need::Valgrind],
        targets: &[Target::unlimited(INSTRUCTIONS)],
        body: CaseBody::Instructions(Path::Submit),
    },
    Case {
        key: "checked-1m",
        title: "1 MiB, one buffer that stays in the caches, under the checker",
        needs: &[],
        targets: &[
            Target::at_most(1.25, Measure::Ratio(CHECKED, MEMCPY)),
            Target::unlimited(Measure::Ratio(CHECKED, UNCHECKED)),
        ],
        body: CaseBody::Other(checked::copy_1m),
    },
    Case {
        key: "checked-pool-1m",
        title: "1 MiB out of a pool of 64 MiB, under the checker",
        needs: &[],
        targets: &[
            Target::at_most(1.25, Measure::Ratio(CHECKED, MEMCPY)),
            Target::unlimited(Measure::Ratio(CHECKED, UNCHECKED)),
        ],
        body: CaseBody::Other(checked::pool_1m),
    },
    Case {
        key: "checked-16m",
        title: "16 MiB, one copy, under the checker",
        needs: &[],
        targets: &[
            Target::at_most(1.25, Measure::Ratio(CHECKED, MEMCPY)),
            Target::unlimited(Measure::Ratio(CHECKED, UNCHECKED)),
        ],
        body: CaseBody::Other(checked::copy_16m),
    },
    Case {
        key: "checked-demo",
        title: "softacl demo under the checker, whole process",
        needs: &[Need::Batches, Need::Time],
        targets: &[Target::at_most(3.0, Measure::Ratio(CHECKED, UNCHECKED))],
        body: CaseBody::Other(checked::demo),
    },
    Case {
        key: "checked-threads-4k",
        title: "4 KiB copies on 10 threads under the checker, per copy",
        needs: &[Need::Cores(2)],
        targets: &[
            Target::at_most(700.0, Measure::Plain(observed::CHECKED, Unit::Nanoseconds)),
            Target::unlimited(Measure::Plain(observed::CHECKED_RING, Unit::Nanoseconds)),
            Target::unlimited(Measure::Ratio(observed::CHECKED, observed::PLAIN)),
        ],
        body: CaseBody::Other(observed::checked),
    },
    Case {
        key: "traced-threads-4k",
        title: "4 KiB copies on 10 threads under the tracer, per copy",
        needs: &[Need::Cores(2)],
        targets: &[
            Target::at_most(500.0, Measure::Plain(observed::TRACED, Unit::Nanoseconds)),
            Target::unlimited(Measure::Ratio(observed::TRACED, observed::PLAIN)),
        ],
        body: CaseBody::Other(observed::traced),
    },
    Case {
        key: "timed-threads-4k",
        title: "4 KiB copies on 10 threads on a virtual clock, per copy",
        needs: &[Need::Cores(2)],
        targets: &[
            // A million copies in three seconds.
            Target::at_most(3000.0, Measure::Plain(observed::TIMED, Unit::Nanoseconds)),
            Target::unlimited(Measure::Ratio(observed::TIMED, observed::PLAIN)),
        ],
        body: CaseBody::Other(observed::timed_copies),
    },
    Case {
        key: "checked-first-2g",
        title: "first copy of 2 GiB under the checker, compared with the second",
        needs: &[Need::Memory(8 << 30), Need::Time],
        targets: &[Target::at_most(1.5, Measure::Ratio(observed::FIRST, observed::SECOND))],
        body: CaseBody::Other(observed::first_copy),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_unique_and_every_case_has_a_metric() {
        for (index, case) in SUITE.iter().enumerate() {
            assert!(SUITE[..index].iter().all(|other| other.key != case.key), "{} occurs twice", case.key);
            assert!(!case.targets.is_empty(), "{} measures nothing", case.key);
        }
    }
}
