"""Computes and copies on two streams. Without `fixed`, an order between them is missing; the bug is intended.

`cargo xtask test-torch` runs every case under the checker, which must prove a race, and with `fixed`, where nothing may
be proven.
"""

import sys

import torch
import torch_npu  # noqa: F401

case, is_fixed = sys.argv[1], "fixed" in sys.argv
side = torch.npu.Stream()
main = torch.npu.current_stream()
x = torch.randn(1 << 14).npu()
host = torch.empty(1 << 14, pin_memory=True)
torch.npu.synchronize()
if case == "offload":
    y = x * 2
    if is_fixed:
        side.wait_stream(main)
    with torch.npu.stream(side):
        host.copy_(y, non_blocking=True)
elif case == "onload":
    y = torch.empty_like(x)
    torch.npu.synchronize()
    with torch.npu.stream(side):
        y.copy_(host, non_blocking=True)
    if is_fixed:
        main.wait_stream(side)
    z = y + 1
elif case == "training":
    # The loader refills one pinned batch while the copy of the previous one may not have run.
    model = torch.nn.Linear(64, 1).npu()
    batch = torch.empty(64, 64, pin_memory=True)
    copied = torch.npu.Event()
    for step in range(3):
        if is_fixed and step > 0:
            copied.synchronize()
        batch.fill_(step)
        device = batch.to("npu", non_blocking=True)
        copied.record()
        model(device).sum().backward()
elif case == "decode":
    # A decode loop writes the blocks of a cache; a side stream offloads each block that is full.
    cache = torch.zeros(4, 1 << 12, device="npu")
    saved = torch.empty(4, 1 << 12, pin_memory=True)
    torch.npu.synchronize()
    for block in range(4):
        cache[block].copy_(x[: 1 << 12] * block)
        if is_fixed:
            side.wait_stream(main)
        with torch.npu.stream(side):
            saved[block].copy_(cache[block], non_blocking=True)
elif case == "reuse":
    y = torch.zeros_like(x)
    torch.npu.synchronize()
    side.wait_stream(main)
    with torch.npu.stream(side):
        z = y + 1
    if is_fixed:
        y.record_stream(side)
    # The allocator gives the memory to the next tensor of the main stream, unless it knows of the other stream.
    del y
    again = torch.full_like(x, 3)
torch.npu.synchronize()
print("done")
