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
