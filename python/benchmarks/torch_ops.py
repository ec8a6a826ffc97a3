"""Times operators of PyTorch on the device against the same operators on the CPU: `softacl run -- python torch_ops.py`."""

import time

import torch
import torch_npu  # noqa: F401


def measure(function, count, finish):
    function()
    finish()
    start = time.perf_counter()
    for _ in range(count):
        function()
    submitted = time.perf_counter() - start
    finish()
    return [1e6 * seconds / count for seconds in (submitted, time.perf_counter() - start)]


for name, size, count, operator in (
    ("add 64 x 64", 64, 2000, lambda x: x + x),
    ("matmul 64 x 64", 64, 2000, lambda x: x @ x),
    ("matmul 2048 x 2048", 2048, 3, lambda x: x @ x),
):
    x = torch.randn(size, size)
    device = x.npu()
    _, cpu = measure(lambda: operator(x), count, lambda: None)
    submit, done = measure(lambda: operator(device), count, torch.npu.synchronize)
    print(f"{name:<20} cpu {cpu:10.1f} us   submit {submit:10.1f} us   done {done:10.1f} us   ratio {done / cpu:5.2f}")
