"""What is not supported raises an exception that names it: operators without a CPU kernel, the profiler, other versions."""

import torch
import torch_npu

import softacl.torch
from softacl.torch import extension

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

try:
    torch_npu.profiler.profile()
except NotImplementedError as error:
    assert "softacl trace" in str(error), error
else:
    raise SystemExit("the profiler was not refused")

for module, version in ((torch, "2.11.0+cpu"), (torch_npu, "2.9.0.post1")):
    supported = module.__version__
    module.__version__ = version
    try:
        extension.build()
    except RuntimeError as error:
        assert f"{module.__name__} {version}" in str(error) and "pip install torch==2.10.0" in str(error), error
    else:
        raise SystemExit(f"{module.__name__} {version} was not refused")
    module.__version__ = supported
extension.build()
print("other versions are refused")
