"""Operators without a CPU kernel raise an exception that names them. They never return a wrong tensor."""

import torch
import torch_npu  # noqa: F401

import softacl.torch

x = torch.arange(8.0).to("npu")
refused = softacl.torch.operators("refused")
for name, call in {
    "aten::batch_norm_stats": lambda: torch.ops.aten.batch_norm_stats(x.view(2, 4), 1e-5),
}.items():
    assert name in refused, refused
    try:
        call()
    except NotImplementedError as error:
        assert name in str(error), error
    else:
        raise SystemExit(f"{name} was not refused")
assert x.cpu().tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
print(f"{len(refused)} operators refused")
