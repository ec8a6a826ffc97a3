"""Operators that compute raise an exception that names them. They never return a wrong tensor."""

import os
import subprocess
import sys

# Without its task queue, torch_npu raises in the call that failed and can continue afterwards.
os.environ["ASCEND_LAUNCH_BLOCKING"] = "1"

import torch
import torch_npu  # noqa: F401

x = torch.arange(8.0).to("npu")
refused = {
    "Add": lambda: x + x,
    "Range": lambda: torch.arange(3, device="npu"),
    "GatherV2": lambda: x.index_select(0, torch.tensor([1, 2]).npu()),
    "ReverseV2": lambda: x.flip(0),
}
for name, operator in refused.items():
    try:
        operator()
    except RuntimeError as error:
        assert name in str(error) and "207000" in str(error), error
    else:
        sys.exit(f"{name} was not refused")
assert x.cpu().tolist() == [0, 1, 2, 3, 4, 5, 6, 7]

# With the queue, the next wait raises.
program = "import torch, torch_npu; x = torch.arange(8.).npu(); y = x + x; print(y.cpu())"
del os.environ["ASCEND_LAUNCH_BLOCKING"]
ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
assert ended.returncode != 0 and "tensor(" not in ended.stdout, ended.stdout
assert "softacl computes nothing" in ended.stderr and "Add(float32[8], float32[8])" in ended.stderr, ended.stderr
print(f"{len(refused)} operators refused")
