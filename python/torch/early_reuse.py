"""Wrong on purpose: a pinned tensor is overwritten while its copy to the device is in flight.

`cargo xtask test-torch` runs it under the checker, which must prove H1 and name the line. With `wait` as an
argument the program waits first, and nothing may be proven.
"""

import sys

import torch
import torch_npu  # noqa: F401

staging = torch.empty(1 << 16, dtype=torch.uint8, pin_memory=True)
blocks = []
for number in range(2):
    staging.fill_(number + 1)  # the second time, the first copy may not have run
    blocks.append(staging.to("npu", non_blocking=True))
    if "wait" in sys.argv:
        torch.npu.current_stream().synchronize()
torch.npu.synchronize()
print([int(block[0].item()) for block in blocks])
