"""Activations: GELU and SiLU in their variants, gated units, the masked softmax."""

from typing import Tuple

import torch
from torch import Tensor
from torch.nn import functional

from softacl.torch.registration import reference, require


@reference("npu_swiglu")
def npu_swiglu(input: Tensor, dim: int) -> Tensor:
    gate, value = input.float().chunk(2, dim)
    return (functional.silu(gate) * value).to(input.dtype)


@reference("npu_gelu")
def npu_gelu(input: Tensor, approximate: str) -> Tensor:
    return functional.gelu(input.float(), approximate=approximate).to(input.dtype)


@reference("npu_fast_gelu")
@reference("fast_gelu")
def npu_fast_gelu(input: Tensor) -> Tensor:
    x = input.float()
    return (x * torch.sigmoid(1.702 * x)).to(input.dtype)


@reference("npu_gelu_mul")
def npu_gelu_mul(input: Tensor, approximate: str) -> Tensor:
    gate, value = input.float().chunk(2, -1)
    return (functional.gelu(gate, approximate=approximate) * value).to(input.dtype)


@reference("npu_geglu")
def npu_geglu(input: Tensor, dim: int, approximate: int, activate_left: bool) -> Tuple[Tensor, Tensor]:
    left, right = input.float().chunk(2, dim)
    gate, value = (left, right) if activate_left else (right, left)
    gate = functional.gelu(gate, approximate="tanh" if approximate == 1 else "none")
    return (value * gate).to(input.dtype), gate.to(input.dtype)


@reference("npu_silu")
def npu_silu(input: Tensor) -> Tensor:
    return functional.silu(input.float()).to(input.dtype)


@reference("npu_silu_")
def npu_silu_(input: Tensor) -> Tensor:
    return input.copy_(functional.silu(input.float()))


@reference("npu_mish")
def npu_mish(input: Tensor) -> Tensor:
    return functional.mish(input.float()).to(input.dtype)


@reference("npu_scaled_masked_softmax")
def npu_scaled_masked_softmax(x: Tensor, mask: Tensor, scale: float, fixed_triu_mask: bool) -> Tensor:
    if fixed_triu_mask:
        require(x.size(-1) == x.size(-2), "npu_scaled_masked_softmax", "with a triangular mask that is not square")
        mask = torch.ones(x.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
    # A row without any visible element becomes uniform, as with the large negative number of the chip.
    return torch.softmax((x.float() * scale).masked_fill(mask.bool(), -10000.0), -1).to(x.dtype)
