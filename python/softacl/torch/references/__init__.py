"""Operators of torch_npu that inference and training stacks call, composed of operators of PyTorch.

One file for each family. They compute in float32 and convert the result to the type that torch_npu documents.
"""

from softacl.torch.references import (  # noqa: F401
    activations,
    attention,
    caches,
    core,
    layouts,
    matrices,
    normalization,
    quantization,
    rotary,
    routing,
)
