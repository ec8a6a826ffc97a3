"""Routing of tokens to experts."""

from typing import List, Optional, Tuple

import torch
from torch import Tensor

from softacl.torch.references.quantization import quantize_rows
from softacl.torch.registration import reference, require


@reference("npu_moe_gating_top_k")
def npu_moe_gating_top_k(
    x: Tensor,
    k: int,
    bias: Optional[Tensor],
    k_group: int,
    group_count: int,
    group_select_mode: int,
    renorm: int,
    norm_type: int,
    out_flag: bool,
    routed_scaling_factor: float,
    eps: float,
) -> Tuple[Tensor, Tensor, Tensor]:
    require(renorm == 0, "npu_moe_gating_top_k", f"with renorm {renorm}")
    scores = torch.sigmoid(x.float()) if norm_type == 1 else torch.softmax(x.float(), -1)
    biased = scores if bias is None else scores + bias.float()
    if group_count > 1 and k_group < group_count:
        groups = biased.view(x.size(0), group_count, -1)
        strength = groups.amax(-1) if group_select_mode == 0 else groups.topk(2, -1).values.sum(-1)
        chosen = torch.zeros_like(strength).scatter_(1, strength.topk(k_group, -1).indices, 1.0)
        biased = groups.masked_fill(chosen[..., None] == 0, float("-inf")).flatten(1)
    # Of equal scores the lower index comes first, as in a stable sort.
    index = biased.sort(-1, descending=True, stable=True).indices[:, :k]
    weights = scores.gather(1, index)
    if norm_type == 1:
        weights = weights / (weights.sum(-1, keepdim=True) + eps)
    return (weights * routed_scaling_factor).to(x.dtype), index.to(torch.int32), scores


@reference("npu_moe_gating_top_k_softmax")
def npu_moe_gating_top_k_softmax(x: Tensor, finished: Optional[Tensor], k: int) -> Tuple[Tensor, Tensor, Tensor]:
    scores, order = torch.softmax(x.float(), -1).sort(-1, descending=True, stable=True)
    experts = order[..., :k].to(torch.int32)
    if finished is not None:
        # A row that is finished goes to an expert that does not exist.
        experts = torch.where(finished[..., None], x.size(-1), experts)
    rows = experts.numel() // k
    numbers = torch.arange(rows * k, dtype=torch.int32, device=x.device)
    return scores[..., :k].to(x.dtype), experts.to(torch.int32), numbers.view(k, rows).t().reshape(experts.shape)


@reference("npu_moe_init_routing")
def npu_moe_init_routing(x: Tensor, row_idx: Tensor, expert_idx: Tensor, active_num: int) -> Tuple[Tensor, Tensor, Tensor]:
    experts, order = expert_idx.flatten().sort(stable=True)
    rows = row_idx.flatten()[order].long()
    numbers = torch.arange(rows.numel(), dtype=torch.int32, device=x.device)
    source_to_row = torch.empty_like(numbers).index_copy_(0, rows, numbers)
    active = min(x.size(0), active_num) * expert_idx.size(1)
    return x[rows[:active] % x.size(0)], source_to_row, experts


@reference("npu_moe_init_routing_v2")
def npu_moe_init_routing_v2(
    x: Tensor,
    expert_idx: Tensor,
    scale: Optional[Tensor],
    active_num: int,
    expert_capacity: int,
    expert_num: int,
    drop_pad_mode: int,
    expert_tokens_num_type: int,
    expert_tokens_num_flag: bool,
    quant_mode: int,
    active_expert_range: List[int],
    row_idx_type: int,
) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    name = "npu_moe_init_routing_v2"
    require(drop_pad_mode == 0, name, "with drop_pad_mode 1")
    require(expert_tokens_num_type in (0, 1), name, "with expert_tokens_num_type 2 (key_value)")
    require(quant_mode in (-1, 1), name, "with static quantization (quant_mode 0)")
    first, last = active_expert_range if len(active_expert_range) == 2 else (0, expert_num)
    tokens, k = expert_idx.shape
    flat = expert_idx.flatten()
    is_active = (flat >= first) & (flat < last)
    # Tokens of other experts sort behind all others.
    experts, order = torch.where(is_active, flat, expert_num).sort(stable=True)
    expanded = x[order // k]
    is_valid = experts < expert_num
    row_scale = torch.empty(tokens * k, dtype=torch.float32, device=x.device)
    if quant_mode == 1:
        smooth = None if scale is None else scale[(experts - first).clamp(0, last - first - 1).long()]
        expanded, row_scale = quantize_rows(expanded, smooth)
    elif scale is not None:
        row_scale = scale.float()[order // k]
    numbers = torch.arange(tokens * k, dtype=torch.int32, device=x.device)
    if row_idx_type == 1:
        rows = torch.where(is_valid, order.to(torch.int32), -1)
    else:
        rows = torch.empty_like(numbers).index_copy_(0, order, torch.where(is_valid, numbers, -1))
    numbers_of_experts = torch.arange(first, last, device=x.device)
    counts = (flat[None] == numbers_of_experts[:, None]).sum(1)
    return expanded, rows.to(torch.int32), counts if expert_tokens_num_type == 1 else counts.cumsum(0), row_scale


@reference("npu_moe_finalize_routing")
def npu_moe_finalize_routing(
    expanded_permuted_rows: Tensor,
    skip1: Optional[Tensor],
    skip2: Optional[Tensor],
    bias: Optional[Tensor],
    scales: Optional[Tensor],
    expanded_src_to_dst_row: Tensor,
    export_for_source_row: Optional[Tensor],
    drop_pad_mode: Optional[int],
) -> Tensor:
    name = "npu_moe_finalize_routing"
    require(drop_pad_mode in (None, 0, 2), name, f"with drop_pad_mode {drop_pad_mode}")
    k = 1 if scales is None else scales.size(1)
    count = expanded_src_to_dst_row.numel() // k
    index = expanded_src_to_dst_row.long()
    # Row (i, k): in columns in mode 0, in rows in mode 2.
    index = index.view(count, k) if drop_pad_mode == 2 else index.view(k, count).t()
    rows = expanded_permuted_rows.float()[index.clamp(min=0)]
    rows = rows.masked_fill((index < 0)[..., None], 0.0)
    if bias is not None:
        rows = rows + bias.float()[export_for_source_row.long()]
    if scales is not None:
        rows = rows * scales.float()[..., None]
    result = rows.sum(1)
    for skip in (skip1, skip2):
        if skip is not None:
            result = result + skip.float()
    return result.to(expanded_permuted_rows.dtype)


@reference("npu_moe_compute_expert_tokens")
def npu_moe_compute_expert_tokens(sorted_expert_for_source_row: Tensor, num_expert: int) -> Tensor:
    experts = torch.arange(num_expert, device=sorted_expert_for_source_row.device)
    is_before = sorted_expert_for_source_row[None] <= experts[:, None]
    return is_before.sum(1).to(sorted_expert_for_source_row.dtype)


@reference("npu_moe_token_permute")
def npu_moe_token_permute(
    tokens: Tensor, indices: Tensor, num_out_tokens: Optional[int], padded_mode: bool
) -> Tuple[Tensor, Tensor]:
    require(not padded_mode, "npu_moe_token_permute", "in padded_mode")
    k = 1 if indices.dim() == 1 else indices.size(1)
    order = indices.flatten().argsort(stable=True)
    numbers = torch.arange(order.numel(), dtype=torch.int32, device=tokens.device)
    sorted_indices = torch.empty_like(numbers).index_copy_(0, order, numbers)
    kept = order[:num_out_tokens] if num_out_tokens else order
    return tokens[kept // k], sorted_indices


@reference("npu_moe_token_unpermute")
def npu_moe_token_unpermute(
    permuted_tokens: Tensor, sorted_indices: Tensor, probs: Optional[Tensor], padded_mode: bool
) -> Tensor:
    require(not padded_mode, "npu_moe_token_unpermute", "in padded_mode")
    rows = permuted_tokens.float()[sorted_indices.long()]
    k = 1 if probs is None else probs.size(1)
    rows = rows.view(-1, k, rows.size(-1))
    if probs is not None:
        rows = rows * probs.float()[..., None]
    return rows.sum(1).to(permuted_tokens.dtype)


@reference("npu_top_k_top_p")
def npu_top_k_top_p(logits: Tensor, p: Optional[Tensor], k: Optional[Tensor]) -> Tensor:
    values, order = logits.float().sort(-1, stable=True)
    if k is not None:
        least = values.gather(1, (values.size(1) - k.long())[:, None])
        values = values.masked_fill(values < least, float("-inf"))
    if p is not None:
        is_cut = torch.softmax(values, -1).cumsum(-1) <= 1 - p.float()[:, None]
        is_last = torch.arange(values.size(1), device=logits.device) == values.size(1) - 1
        values = values.masked_fill(is_cut & ~is_last, float("-inf"))
    return torch.empty_like(values).scatter_(1, order, values).to(logits.dtype)
