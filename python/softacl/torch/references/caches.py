"""Writes into caches of keys and values, and the operators of the library ATB that serving engines call."""

from typing import Any, Callable, Tuple

import torch
import torch_npu
from torch import Tensor

from softacl.torch.references.attention import paged_attention
from softacl.torch.references.quantization import round_to_int8
from softacl.torch.references.normalization import rms_norm
from softacl.torch.references.rotary import deinterleave, embed, rotary_embedding
from softacl.torch.registration import reference, register, require


def write_slots(cache: Tensor, slots: Tensor, rows: Tensor) -> None:
    """Writes rows to slots of a cache [blocks, tokens, ...]. Rows with a negative slot are padding."""
    flat = cache.view(-1, *cache.shape[2:])
    slots, rows = slots.flatten().long(), rows.reshape(-1, *cache.shape[2:]).to(cache.dtype)
    is_used = slots >= 0
    # Padding repeats a row that is used, since its slot may not be touched; without any, slot 0 keeps its values.
    used = is_used.to(torch.int32).argmax(0, keepdim=True)
    shape = [-1] + [1] * (rows.dim() - 1)
    rows = torch.where(is_used.view(shape), rows, rows[used])
    slots = torch.where(is_used, slots, slots[used])
    rows = torch.where((slots >= 0).view(shape), rows, flat[:1])
    flat.index_copy_(0, slots.clamp(min=0), rows)


def reshape_and_cache(key: Tensor, value: Tensor, key_cache: Tensor, value_cache: Tensor, slot_indices: Tensor) -> None:
    write_slots(key_cache, slot_indices, key)
    write_slots(value_cache, slot_indices, value)


def reshape_and_cache_siso(key: Tensor, key_cache: Tensor, slot_indices: Tensor) -> None:
    write_slots(key_cache, slot_indices, key)


@reference("npu_scatter_pa_kv_cache")
def npu_scatter_pa_kv_cache(
    key: Tensor, value: Tensor, key_cache: Tensor, value_cache: Tensor, slot_mapping: Tensor, cache_mode: Any
) -> None:
    require(cache_mode == "Norm", "npu_scatter_pa_kv_cache", f"with the cache_mode {cache_mode!r}")
    reshape_and_cache(key, value, key_cache, value_cache, slot_mapping)


@reference("npu_scatter_nd_update")
def npu_scatter_nd_update(input: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    return npu_scatter_nd_update_(input.clone(), indices, updates)


@reference("npu_scatter_nd_update_")
def npu_scatter_nd_update_(input: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    return input.index_put_(tuple(indices.long().unbind(-1)), updates.to(input.dtype))


@reference("npu_kv_rmsnorm_rope_cache")
def npu_kv_rmsnorm_rope_cache(
    kv: Tensor,
    gamma: Tensor,
    cos: Tensor,
    sin: Tensor,
    index: Tensor,
    k_cache: Tensor,
    ckv_cache: Tensor,
    epsilon: float,
    cache_mode: str,
    is_output_kv: bool,
) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    require(cache_mode in ("Norm", "PA", "PA_BNSD"), "npu_kv_rmsnorm_rope_cache", f"with the cache_mode {cache_mode!r}")
    latent, rope = kv.split([gamma.numel(), kv.size(-1) - gamma.numel()], -1)
    latent = rms_norm(latent, gamma, epsilon)[0].to(kv.dtype)
    rope = embed(deinterleave(rope), cos, sin)
    for cache, rows in ((k_cache, rope), (ckv_cache, latent)):
        rows = rows.transpose(1, 2)  # [batch, tokens, heads, size]
        if cache_mode == "Norm":
            # [batch, heads, tokens, size]; the index has the token of each row.
            slots = index.long().view(rows.size(0), rows.size(1), 1, 1)
            cache.scatter_(2, slots.transpose(1, 2).expand(*rows.transpose(1, 2).shape), rows.transpose(1, 2).to(cache.dtype))
        else:
            write_slots(cache, index, rows)
    return k_cache, ckv_cache, rope, latent


def quantize_per_tensor(x: Tensor, scale: Tensor, zero_point: Tensor, y: Tensor) -> None:
    y.copy_(round_to_int8(x.float() / scale.float() + zero_point.float()))


def matmul_add_fp32(x: Tensor, weight: Tensor, C: Tensor) -> None:
    C.add_(torch.matmul(x.float().transpose(-1, -2), weight.float()))


# The extension of torch_npu with these operators loads only next to the library ATB, so they are declared here.
_ATB = {
    "_npu_reshape_and_cache": (
        "(Tensor key, Tensor value, Tensor(a!) key_cache, Tensor(b!) value_cache, Tensor slot_indices) -> ()",
        reshape_and_cache,
    ),
    "_npu_reshape_and_cache_siso": ("(Tensor key, Tensor(a!) key_cache, Tensor slot_indices) -> ()", reshape_and_cache_siso),
    "_npu_rotary_embedding": (
        "(Tensor positions, Tensor(a!) query, Tensor(b!) key, int head_size, Tensor cos_sin_cache, "
        "bool is_neox_style) -> ()",
        rotary_embedding,
    ),
    "_npu_paged_attention": (
        "(Tensor query, Tensor key_cache, Tensor value_cache, int num_kv_heads, int num_heads, float scale_value, "
        "Tensor block_table, Tensor context_lens, Tensor(a!) out, *, Tensor? workspace=None) -> ()",
        paged_attention,
    ),
    "_npu_quantize_per_tensor": ("(Tensor x, Tensor scale, Tensor zero_point, Tensor(a!) y) -> ()", quantize_per_tensor),
    "_npu_matmul_add_fp32": ("(Tensor x, Tensor weight, Tensor(a!) C) -> ()", matmul_add_fp32),
}
_declared = torch.library.Library("atb", "FRAGMENT")


def _provide(name: str, schema: str, function: Callable[..., Any]) -> None:
    if not hasattr(torch.ops.atb, name):
        _declared.define(name + schema)
    register(f"atb::{name}", function)
    setattr(torch_npu, name, getattr(torch.ops.atb, name))


for _name, (_schema, _function) in _ATB.items():
    _provide(_name, _schema, _function)
