"""Overwrites a pinned tensor while its copy to the device is in flight. The bug is intended.

`cargo xtask test-torch` runs it under the checker, which must prove H1 and name the line. With the argument
`wait` the program waits for the copy first, and nothing may be proven.
"""

import sys

import torch
import torch_npu  # noqa: F401

staging = torch.empty(1 << 16, dtype=torch.uint8, pin_memory=True)
blocks = []
for index in range(2):
    staging.fill_(index + 1)  # in the second iteration, the first copy may not have run yet
    blocks.append(staging.to("npu", non_blocking=True))
    if "wait" in sys.argv:
        torch.npu.current_stream().synchronize()
torch.npu.synchronize()
print([int(block[0].item()) for block in blocks])
