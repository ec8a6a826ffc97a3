"""Distributed training on the unmodified `torch_npu`: collectives, groups, DDP and FSDP with the backend hccl.

    softacl run --devices 4 -- python -m torch.distributed.run --standalone --nproc-per-node 4 distributed.py [lost]

Every rank computes what the collectives must return, and trains the model a second time, on the CPU with the batches of
all ranks: gradients, and so weights, must be equal within the rounding of sums in another order. With `lost`, the last
rank ends without a word, and the others must get an error in bounded time.
"""

import os
import sys
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch_npu  # noqa: F401  (registers the device "npu" and the backend "hccl")

# Sums of float32 in another order.
TOLERANCE = 1e-5
STEPS, ROWS = 4, 6
# A lost rank is noticed in milliseconds. The limit is that of a machine that does many other things.
SECONDS_TO_NOTICE = 60


def assert_close(found, expected, tolerance=TOLERANCE):
    found = found.detach().cpu()
    assert found.dtype == expected.dtype and found.shape == expected.shape, (found.dtype, found.shape, expected.dtype, expected.shape)
    assert torch.allclose(found, expected, atol=tolerance, rtol=tolerance), (found, expected)


def part(rank, count=4):
    """What a rank contributes: numbers that name the rank and the place."""
    return torch.arange(count, dtype=torch.float32) + 10 * rank


def parts(size, count=4):
    return torch.stack([part(rank, count) for rank in range(size)])


def test_reductions(rank, size):
    for operation, expected in (
        (dist.ReduceOp.SUM, parts(size).sum(0)),
        (dist.ReduceOp.AVG, parts(size).mean(0)),
        (dist.ReduceOp.MAX, parts(size).amax(0)),
        (dist.ReduceOp.MIN, parts(size).amin(0)),
        (dist.ReduceOp.PRODUCT, parts(size).prod(0)),
    ):
        x = part(rank).npu()
        dist.all_reduce(x, operation)
        assert_close(x, expected)
    for dtype in (torch.float16, torch.bfloat16, torch.int32, torch.int64, torch.int8):
        x = torch.full((5,), rank + 1).to(dtype).npu()
        dist.all_reduce(x)
        assert_close(x, torch.full((5,), size * (size + 1) // 2).to(dtype))
    x = part(rank).npu()
    dist.reduce(x, size - 1)
    if rank == size - 1:
        assert_close(x, parts(size).sum(0))
    x = torch.zeros(4).npu()
    dist.reduce_scatter(x, [row.npu() + rank for row in parts(size)])
    assert_close(x, size * part(rank) + sum(range(size)))
    x = torch.zeros(4).npu()
    dist.reduce_scatter_tensor(x, (parts(size).flatten() + rank).npu())
    assert_close(x, size * part(rank) + sum(range(size)))


def test_gathers(rank, size):
    x = part(rank).npu() if rank == 1 else torch.zeros(4).npu()
    dist.broadcast(x, 1)
    assert_close(x, part(1))
    found = [torch.zeros(4).npu() for _ in range(size)]
    dist.all_gather(found, part(rank).npu())
    assert_close(torch.stack(found), parts(size))
    found = torch.zeros(size * 4).npu()
    dist.all_gather_into_tensor(found, part(rank).npu())
    assert_close(found, parts(size).flatten())
    found = [torch.zeros(4).npu() for _ in range(size)] if rank == 0 else None
    dist.gather(part(rank).npu(), found, 0)
    if rank == 0:
        assert_close(torch.stack(found), parts(size))
    x = torch.zeros(4).npu()
    dist.scatter(x, [row.npu() for row in parts(size)] if rank == 0 else None, 0)
    assert_close(x, part(rank))
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": rank, "text": "x" * rank})
    assert objects == [{"rank": each, "text": "x" * each} for each in range(size)], objects
    objects = ["from zero", 7] if rank == 0 else [None, None]
    dist.broadcast_object_list(objects, 0)
    assert objects == ["from zero", 7], objects


def test_exchanges(rank, size):
    found = [torch.zeros(4).npu() for _ in range(size)]
    dist.all_to_all(found, [(part(rank) + 100 * to).npu() for to in range(size)])
    assert_close(torch.stack(found), parts(size) + 100 * rank)
    found = torch.zeros(size * 4).npu()
    dist.all_to_all_single(found, torch.cat([part(rank) + 100 * to for to in range(size)]).npu())
    assert_close(found, (parts(size) + 100 * rank).flatten())
    # Rank r sends r + 1 numbers to each.
    found = torch.zeros(sum(range(1, size + 1))).npu()
    sent = torch.cat([part(rank, rank + 1) + 100 * to for to in range(size)]).npu()
    dist.all_to_all_single(found, sent, [each + 1 for each in range(size)], [rank + 1] * size)
    assert_close(found, torch.cat([part(each, each + 1) + 100 * rank for each in range(size)]))


def test_transfers(rank, size):
    x = part(rank).npu()
    after, before = (rank + 1) % size, (rank - 1) % size
    found = torch.zeros(4).npu()
    if rank % 2 == 0:
        dist.send(x, after)
        dist.recv(found, before)
    else:
        dist.recv(found, before)
        dist.send(x, after)
    assert_close(found, part(before))
    found = torch.zeros(4).npu()
    operations = [dist.P2POp(dist.isend, x, after), dist.P2POp(dist.irecv, found, before)]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    assert_close(found, part(before))
    dist.barrier()


def test_work_is_asynchronous(rank, size):
    x = part(rank).npu()
    work = dist.all_reduce(x, async_op=True)
    y = part(rank).npu() * 2  # on the current stream, at the same time
    work.wait()
    assert_close(x + y, parts(size).sum(0) + 2 * part(rank))


def test_subgroups(rank, size):
    members = [0, size - 1]
    group = dist.new_group(members)
    if rank in members:
        x = part(rank).npu()
        dist.all_reduce(x, group=group)
        assert_close(x, parts(size)[members].sum(0))
        dist.barrier(group)
        dist.destroy_process_group(group)
    x = part(rank).npu()
    dist.all_reduce(x)
    assert_close(x, parts(size).sum(0))


def model():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4))


def batch(step, rank):
    generator = torch.Generator().manual_seed(100 * step + rank)
    return torch.randn(ROWS, 8, generator=generator), torch.randn(ROWS, 4, generator=generator)


def train(module, optimizer, batches, device):
    """Trains some steps. Returns the losses."""
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(module(x.to(device)), y.to(device))
        loss.backward()
        optimizer.step()
        losses.append(loss.detach().cpu())
    return torch.stack(losses)


def one_process(size):
    """The weights that one process gets on the CPU, with the batches of all ranks."""
    module = model()
    batches = [[torch.cat(each) for each in zip(*(batch(step, rank) for rank in range(size)))] for step in range(STEPS)]
    losses = train(module, torch.optim.AdamW(module.parameters(), 1e-2), batches, "cpu")
    return module.state_dict(), losses


def compare_with_one_process(rank, size, losses, weights):
    expected, all_losses = one_process(size)
    losses = losses.npu()
    dist.all_reduce(losses, dist.ReduceOp.AVG)
    assert_close(losses, all_losses)
    assert weights.keys() == expected.keys(), (weights.keys(), expected.keys())
    for name, weight in expected.items():
        assert_close(weights[name], weight, 10 * TOLERANCE)  # Adam divides by small numbers


def test_ddp(rank, size):
    module = nn.parallel.DistributedDataParallel(model().npu(), device_ids=[torch.npu.current_device()])
    losses = train(module, torch.optim.AdamW(module.parameters(), 1e-2), [batch(step, rank) for step in range(STEPS)], "npu")
    compare_with_one_process(rank, size, losses, module.module.state_dict())


def test_fsdp(rank, size):
    from torch.distributed.fsdp import FullyShardedDataParallel as Sharded

    module = Sharded(model().npu(), device_id=torch.npu.current_device(), use_orig_params=True)
    losses = train(module, torch.optim.AdamW(module.parameters(), 1e-2), [batch(step, rank) for step in range(STEPS)], "npu")
    with Sharded.summon_full_params(module):
        compare_with_one_process(rank, size, losses, module.state_dict())


def test_fsdp_by_parameter(rank, size):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    module = fully_shard(model().npu(), mesh=init_device_mesh("npu", (size,)))
    losses = train(module, torch.optim.AdamW(module.parameters(), 1e-2), [batch(step, rank) for step in range(STEPS)], "npu")
    compare_with_one_process(rank, size, losses, {name: each.full_tensor() for name, each in module.state_dict().items()})


def lose_a_rank(rank, size):
    x = part(rank).npu()
    dist.all_reduce(x)
    torch.npu.synchronize()
    dist.barrier()
    if rank == size - 1:
        # With 0, so that torchrun does not end the others.
        os._exit(0)
    start = time.monotonic()
    try:
        dist.all_reduce(x)
        torch.npu.synchronize()
    except RuntimeError as error:
        seconds = time.monotonic() - start
        assert seconds < SECONDS_TO_NOTICE, seconds
        print(f"rank {rank}: the loss of a rank is an error: {str(error).splitlines()[0]}", flush=True)
        # The process group waits for its communicators, which are broken.
        os._exit(0)
    raise AssertionError("the collective of a lost rank succeeded")


def main():
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("hccl")
    if sys.argv[1:] == ["lost"]:
        lose_a_rank(rank, size)
    names = sys.argv[1:] or [name for name in globals() if name.startswith("test")]
    for name in names:
        start = time.time()
        globals()[name](rank, size)
        if os.environ.get("VERBOSE"):
            print(f"rank {rank} {name:<40} {time.time() - start:6.2f} s", flush=True)
    dist.destroy_process_group()
    assert not dist.is_initialized()
    print(f"rank {rank} of {size}: {len(names)} tests passed", flush=True)


if __name__ == "__main__":
    main()
