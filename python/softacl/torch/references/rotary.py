"""Rotary position embeddings."""

from typing import Tuple

import torch
from torch import Tensor

from softacl.torch.registration import reference, require


def rotate(x: Tensor, mode: str) -> Tensor:
    """Turns every pair of elements by a quarter: of the two halves, or of neighbors."""
    if mode == "half":
        first, second = x.chunk(2, -1)
        return torch.cat([-second, first], -1)
    require(mode == "interleave", "rotary embeddings", f"with the rotary_mode {mode!r}")
    return torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)


def embed(x: Tensor, cos: Tensor, sin: Tensor, mode: str = "half") -> Tensor:
    x32 = x.float()
    return (x32 * cos.float() + rotate(x32, mode) * sin.float()).to(x.dtype)


@reference("npu_rotary_mul")
def npu_rotary_mul(input: Tensor, r1: Tensor, r2: Tensor, rotary_mode: str) -> Tensor:
    return embed(input, r1, r2, rotary_mode)


@reference("npu_apply_rotary_pos_emb")
def npu_apply_rotary_pos_emb(
    query: Tensor, key: Tensor, cos: Tensor, sin: Tensor, layout: str, rotary_mode: str
) -> Tuple[Tensor, Tensor]:
    require(layout in ("BSND", "BSH", "BNSD", "SBND", "TND", "1"), "npu_apply_rotary_pos_emb", f"in the layout {layout!r}")
    return embed(query, cos, sin, rotary_mode), embed(key, cos, sin, rotary_mode)


def deinterleave(x: Tensor) -> Tensor:
    """Moves the elements of even index to the first half and those of odd index to the second."""
    return torch.cat([x[..., ::2], x[..., 1::2]], -1)


@reference("npu_interleave_rope")
def npu_interleave_rope(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    return embed(deinterleave(x), cos, sin)


def rotary_embedding(
    positions: Tensor, query: Tensor, key: Tensor, head_size: int, cos_sin_cache: Tensor, is_neox_style: bool
) -> None:
    cos, sin = cos_sin_cache[positions.flatten().long()].float().chunk(2, -1)
    rotary_size = 2 * cos.size(-1)
    if is_neox_style:
        cos, sin = torch.cat([cos, cos], -1), torch.cat([sin, sin], -1)
    else:
        cos, sin = cos.repeat_interleave(2, -1), sin.repeat_interleave(2, -1)
    mode = "half" if is_neox_style else "interleave"
    for tensor in (query, key):
        heads = tensor.view(positions.numel(), -1, head_size)[..., :rotary_size]
        heads.copy_(embed(heads, cos[:, None], sin[:, None], mode))
