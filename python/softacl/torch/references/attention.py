"""Attention: for training (npu_fusion_attention) and for inference, with padded, packed and paged sequences.

Masks are true, or not zero, where an element is hidden.
"""

from typing import Any, List, Optional, Tuple

import torch
from torch import Tensor

from softacl.torch.registration import reference, require

# Arguments with this value or more do not limit the tokens that are visible.
_UNLIMITED = 2**31 - 1


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scale: float,
    hidden: Optional[Tensor] = None,
    bias: Optional[Tensor] = None,
    dropout: float = 0.0,
) -> Tuple[Tensor, Tensor, Tensor]:
    """Attention over [..., heads, tokens, size] in float32. Returns the result, and maximum and sum of the softmax."""
    groups = query.size(-3) // key.size(-3)
    if groups > 1:
        key, value = key.repeat_interleave(groups, -3), value.repeat_interleave(groups, -3)
    scores = torch.matmul(query.float(), key.float().transpose(-1, -2)) * scale
    if bias is not None:
        scores = scores + bias.float()
    if hidden is not None:
        scores = scores.masked_fill(hidden, float("-inf"))
    largest = scores.detach().amax(-1, keepdim=True)
    # A row without visible tokens has the result zero.
    weights = torch.exp(scores - largest.clamp(min=torch.finfo(torch.float32).min))
    total = weights.sum(-1, keepdim=True)
    weights = weights / total.clamp(min=torch.finfo(torch.float32).tiny)
    if dropout > 0:
        weights = torch.nn.functional.dropout(weights, dropout)
    return torch.matmul(weights, value.float()), largest, total


def hidden_by(
    mode: int, queries: int, keys: int, mask: Optional[Tensor], before: int, after: int, device: torch.device, name: str
) -> Optional[Tensor]:
    """The hidden elements of one sequence in a sparse mode, or None if all are visible."""
    rows = torch.arange(queries, device=device)[:, None]
    columns = torch.arange(keys, device=device)[None]
    if mode in (0, 1):
        hidden = None if mask is None else mask[..., :queries, :keys].bool()
        if mode == 0 and mask is not None and (before < _UNLIMITED or after < _UNLIMITED):
            hidden = hidden | (columns < rows - before) | (columns > rows + after)
        return hidden
    require(mode in (2, 3, 4), name, f"with sparse_mode {mode}")
    if mode == 2:
        return columns > rows
    rows = rows + (keys - queries)
    return columns > rows if mode == 3 else (columns < rows - before) | (columns > rows + after)


def to_heads(x: Tensor, layout: str, heads: int) -> Tensor:
    """A tensor in the layout [batch, heads, tokens, size]."""
    if layout == "BNSD":
        return x
    if layout == "BSND":
        return x.transpose(1, 2)
    if layout == "SBH":
        x = x.transpose(0, 1)
    return x.reshape(x.size(0), x.size(1), heads, -1).transpose(1, 2)


def from_heads(x: Tensor, layout: str) -> Tensor:
    if layout == "BNSD":
        return x
    x = x.transpose(1, 2)
    if layout == "BSND":
        return x.contiguous()
    x = x.flatten(2)
    return x.transpose(0, 1).contiguous() if layout == "SBH" else x


def part_of(mask: Optional[Tensor], sequence: int) -> Optional[Tensor]:
    """The part of a mask or a bias that belongs to one sequence: [tokens, tokens] or [heads, tokens, tokens]."""
    if mask is None or mask.dim() == 2:
        return mask
    return mask[sequence if mask.size(0) > 1 else 0]


@reference("npu_fusion_attention")
def npu_fusion_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    head_num: int,
    input_layout: str,
    pse: Optional[Tensor],
    atten_mask: Optional[Tensor],
    scale: float,
    keep_prob: float,
    pre_tockens: int,
    next_tockens: int,
    inner_precise: int,
    actual_seq_qlen: Optional[List[int]],
    actual_seq_kvlen: Optional[List[int]],
    sparse_mode: int,
    gen_mask_parallel: bool,
    sync: bool,
) -> Tuple[Tensor, Tensor, Tensor, Tensor, int, int, int]:
    name = "npu_fusion_attention"
    empty = torch.empty(0, dtype=torch.float32, device=query.device)

    def attention_of(q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor], bias: Optional[Tensor]) -> Tuple[Tensor, ...]:
        hidden = hidden_by(sparse_mode, q.size(-2), k.size(-2), mask, pre_tockens, next_tockens, q.device, name)
        return attend(q, k, v, scale, hidden, bias, 1 - keep_prob)

    if input_layout == "TND":
        require(bool(actual_seq_qlen) and bool(actual_seq_kvlen), name, "in TND without sequence lengths")
        parts = []
        for index, (q, k, v) in enumerate(sequences(query, key, value, actual_seq_qlen, actual_seq_kvlen)):
            parts.append(attention_of(q, k, v, part_of(atten_mask, index), None))
        require(pse is None, name, "in TND with pse")
        result, largest, total = (torch.cat([part[at].transpose(0, 1) for part in parts]) for at in range(3))
    else:
        require(input_layout in ("BNSD", "BSND", "BSH", "SBH"), name, f"in the layout {input_layout!r}")
        q = to_heads(query, input_layout, head_num)
        kv_heads = head_num if key.dim() == 4 else key.size(-1) * head_num // query.size(-1)
        k, v = to_heads(key, input_layout, kv_heads), to_heads(value, input_layout, kv_heads)
        result, largest, total = attention_of(q, k, v, atten_mask, pse)
        result = from_heads(result, input_layout)
    # The chip repeats maximum and sum eight times.
    repeats = [1] * (largest.dim() - 1) + [8]
    return result.to(query.dtype), largest.repeat(repeats), total.detach().repeat(repeats), empty, 0, 0, 0


def sequences(query: Tensor, key: Tensor, value: Tensor, query_ends: List[int], key_ends: List[int]) -> Any:
    """The sequences of packed tensors [tokens, heads, size], each as [heads, tokens, size]."""
    starts = zip([0, *query_ends[:-1]], query_ends, [0, *key_ends[:-1]], key_ends)
    for q0, q1, k0, k1 in starts:
        yield query[q0:q1].transpose(0, 1), key[k0:k1].transpose(0, 1), value[k0:k1].transpose(0, 1)


def pages(cache: Tensor, blocks: Tensor, length: int, heads: int) -> Tensor:
    """The first tokens of a sequence from a paged cache, as [heads, tokens, size]."""
    if cache.dim() == 4 and cache.size(1) == heads and cache.size(2) != heads:
        cache = cache.transpose(1, 2)  # [blocks, heads, tokens, size]
    size = cache.size(1)
    used = cache[blocks[: -(-length // size)].long()].flatten(0, 1)[:length]
    return used.reshape(length, heads, -1).transpose(0, 1)


@reference("npu_fused_infer_attention_score")
def npu_fused_infer_attention_score(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    pse_shift: Optional[Tensor],
    atten_mask: Optional[Tensor],
    actual_seq_lengths: Optional[List[int]],
    actual_seq_lengths_kv: Optional[List[int]],
    block_table: Optional[Tensor],
    query_rope: Optional[Tensor],
    key_rope: Optional[Tensor],
    num_heads: int,
    scale: float,
    pre_tokens: int,
    next_tokens: int,
    input_layout: str,
    num_key_value_heads: int,
    sparse_mode: int,
    inner_precise: int,
    block_size: int,
    softmax_lse_flag: bool,
) -> Tuple[Tensor, Tensor]:
    name = "npu_fused_infer_attention_score"
    layout, _, target = input_layout.partition("_")
    kv_heads = num_key_value_heads or num_heads
    if query_rope is not None and layout != "BSH":
        query = torch.cat([query, query_rope], -1)
    if key_rope is not None and layout != "BSH":
        key = torch.cat([key, key_rope], -1)
    require(layout in ("BSH", "BSND", "BNSD", "TND"), name, f"in the layout {input_layout!r}")
    require(query_rope is None or layout != "BSH", name, "in BSH with query_rope")
    if layout == "TND":
        require(bool(actual_seq_lengths), name, "in TND without actual_seq_lengths")
        ends = list(actual_seq_lengths)
        q_list = [query[start:end].transpose(0, 1) for start, end in zip([0, *ends[:-1]], ends)]
    else:
        q_heads = to_heads(query, layout, num_heads)
        lengths = list(actual_seq_lengths or [q_heads.size(2)])
        lengths = lengths * q_heads.size(0) if len(lengths) == 1 else lengths
        # A decode step counts one query, whatever the lengths say.
        q_list = [rows[:, : min(length, rows.size(1)) if rows.size(1) > 1 else 1] for rows, length in zip(q_heads, lengths)]
    results, sums = [], []
    for index, q in enumerate(q_list):
        k, v = keys_of(index, key, value, layout, kv_heads, actual_seq_lengths_kv, block_table)
        mask = part_of(atten_mask, index)
        hidden = hidden_by(sparse_mode, q.size(1), k.size(1), mask, pre_tokens, next_tokens, q.device, name)
        result, largest, total = attend(q, k, v, scale, hidden, part_of(pse_shift, index))
        results.append(result)
        sums.append(largest + total.log())
    lse = torch.zeros(1, dtype=torch.float32, device=query.device)
    if layout == "TND":
        if softmax_lse_flag:
            lse = torch.cat([each.transpose(0, 1) for each in sums])
        result = torch.cat([each.transpose(0, 1) for each in results])
        require(target in ("", "TND"), name, f"in the layout {input_layout!r}")
        return result.to(query.dtype), lse
    tokens = q_heads.size(2)

    def stacked(parts: List[Tensor]) -> Tensor:
        return torch.stack([torch.nn.functional.pad(part, (0, 0, 0, tokens - part.size(1))) for part in parts])

    if softmax_lse_flag:
        lse = stacked(sums)
    require(target in ("", "BSND", "BNSD"), name, f"in the layout {input_layout!r}")
    return from_heads(stacked(results), target or layout).to(query.dtype), lse


def keys_of(
    index: int,
    key: Tensor,
    value: Tensor,
    layout: str,
    heads: int,
    lengths: Optional[List[int]],
    block_table: Optional[Tensor],
) -> Tuple[Tensor, Tensor]:
    """Keys and values of one sequence, as [heads, tokens, size]."""
    if block_table is not None:
        require(bool(lengths), "paged attention", "without actual_seq_lengths_kv")
        length = lengths[index if len(lengths) > 1 else 0]
        return pages(key, block_table[index], length, heads), pages(value, block_table[index], length, heads)
    if layout == "TND":
        require(bool(lengths), "packed attention", "without actual_seq_lengths_kv")
        start, end = (lengths[index - 1] if index > 0 else 0), lengths[index]
        return key[start:end].transpose(0, 1), value[start:end].transpose(0, 1)
    keys, values = to_heads(key, layout, heads)[index], to_heads(value, layout, heads)[index]
    length = keys.size(1) if not lengths else lengths[index if len(lengths) > 1 else 0]
    return keys[:, :length], values[:, :length]


@reference("npu_prompt_flash_attention")
def npu_prompt_flash_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    atten_mask: Optional[Tensor],
    pse_shift: Optional[Tensor],
    actual_seq_lengths: Optional[List[int]],
    num_heads: int,
    scale_value: float,
    pre_tokens: int,
    next_tokens: int,
    input_layout: str,
    num_key_value_heads: int,
    actual_seq_lengths_kv: Optional[List[int]],
    sparse_mode: int,
) -> Tensor:
    return npu_fused_infer_attention_score(
        query, key, value, pse_shift, atten_mask, actual_seq_lengths, actual_seq_lengths_kv, None, None, None, num_heads,
        scale_value, pre_tokens, next_tokens, input_layout, num_key_value_heads, sparse_mode, 0, 0, False,
    )[0]  # fmt: skip


@reference("npu_incre_flash_attention")
def npu_incre_flash_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    atten_mask: Optional[Tensor],
    pse_shift: Optional[Tensor],
    actual_seq_lengths: Optional[List[int]],
    block_table: Optional[Tensor],
    num_heads: int,
    scale_value: float,
    input_layout: str,
    num_key_value_heads: int,
    block_size: int,
    inner_precise: int,
) -> Tensor:
    # The lengths are those of the keys; there is one query for each sequence.
    return npu_fused_infer_attention_score(
        query, key, value, pse_shift, atten_mask, None, actual_seq_lengths, block_table, None, None, num_heads,
        scale_value, _UNLIMITED, _UNLIMITED, input_layout, num_key_value_heads, 0, 0, block_size, False,
    )[0]  # fmt: skip


def paged_attention(
    query: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    num_kv_heads: int,
    num_heads: int,
    scale_value: float,
    block_table: Tensor,
    context_lens: Tensor,
    out: Tensor,
) -> None:
    """One query token for each sequence, with lengths that may be on the device."""
    tables = block_table.long().clamp(min=0)
    key, value = (cache[tables].flatten(1, 2).transpose(1, 2) for cache in (key_cache, value_cache))
    columns = torch.arange(key.size(2), device=query.device)
    hidden = columns[None] >= context_lens.to(query.device)[:, None]
    heads = query.reshape(query.size(0), num_heads, 1, -1)
    result, _, _ = attend(heads, key, value, scale_value, hidden[:, None, None])
    out.copy_(result.reshape(out.shape))
