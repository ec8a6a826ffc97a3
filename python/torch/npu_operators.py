"""Tests of the operators of torch_npu that are written in Python (python/softacl/torch/references).

Expected values come from other formulas: operators of torch.nn.functional, complex numbers, loops over Python numbers.
"""

import os
import pathlib
import re
import struct
import sys
import time

import torch
import torch_npu
from torch.nn import functional

import softacl.torch


def random_tensor(*shape, seed=1, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def random_int8(*shape, seed=1):
    return torch.randint(-128, 128, shape, generator=torch.Generator().manual_seed(seed), dtype=torch.int8)


def assert_close(found, expected, tolerance=1e-5):
    found = found.cpu()
    assert found.dtype == expected.dtype and found.shape == expected.shape, (found.dtype, found.shape, expected.dtype, expected.shape)
    assert torch.allclose(found, expected, atol=tolerance, rtol=tolerance), (found, expected)


def test_norms():
    for dtype, tolerance in ((torch.float32, 1e-5), (torch.bfloat16, 2e-2), (torch.float16, 2e-3)):
        x, y, gamma = random_tensor(3, 5, 16, dtype=dtype), random_tensor(3, 5, 16, seed=2, dtype=dtype), random_tensor(16, seed=3, dtype=dtype)
        expected = functional.rms_norm(x.float(), (16,), gamma.float(), 1e-6)
        found, rstd = torch_npu.npu_rms_norm(x.npu(), gamma.npu())
        assert_close(found, expected.to(dtype), tolerance)
        assert_close(rstd, 1 / (x.float().square().mean(-1, keepdim=True) + 1e-6).sqrt(), 1e-4)
        found, _, total = torch_npu.npu_add_rms_norm(x.npu(), y.npu(), gamma.npu())
        assert_close(total, x + y, tolerance)
        assert_close(found, functional.rms_norm(x.float() + y.float(), (16,), gamma.float(), 1e-6).to(dtype), tolerance)
    x, y, gamma, beta = random_tensor(4, 16), random_tensor(4, 16, seed=2), random_tensor(16, seed=3), random_tensor(16, seed=4)
    assert_close(torch_npu.npu_gemma_rms_norm(x.npu(), gamma.npu())[0], functional.rms_norm(x, (16,), 1 + gamma, 1e-6))
    deep = torch_npu.npu_deep_norm(x.npu(), y.npu(), beta.npu(), gamma.npu(), 0.3, 1e-6)[2]
    assert_close(deep, functional.layer_norm(0.3 * x + y, (16,), gamma, beta, 1e-6))
    image = random_tensor(2, 16, 4, 4)
    found = torch_npu.npu_group_norm_silu(image.npu(), gamma.npu(), beta.npu(), 4, 1e-5)[0]
    assert_close(found, functional.silu(functional.group_norm(image, 4, gamma, beta, 1e-5)))


def test_gradients_of_fused_operators():
    def gradients(device, operator):
        x, gamma = random_tensor(4, 16).to(device).requires_grad_(), random_tensor(16, seed=2).to(device).requires_grad_()
        result = operator(x, gamma)
        result.backward(random_tensor(*result.shape, seed=5).to(device))
        return [tensor.grad.cpu() for tensor in (x, gamma) if tensor.grad is not None]

    for found, expected in (
        (lambda x, g: torch_npu.npu_rms_norm(x, g)[0], lambda x, g: functional.rms_norm(x, (16,), g, 1e-6)),
        (lambda x, g: torch_npu.npu_swiglu(x), lambda x, g: functional.silu(x[:, :8]) * x[:, 8:]),
        (lambda x, g: torch_npu.npu_gelu(x, approximate="tanh"), lambda x, g: functional.gelu(x, approximate="tanh")),
    ):
        pairs = list(zip(gradients("npu", found), gradients("cpu", expected)))
        assert pairs
        for one, other in pairs:
            assert_close(one, other, 1e-4)


def test_activations():
    x = random_tensor(6, 32)
    device = x.npu()
    assert_close(torch_npu.npu_swiglu(device), functional.silu(x[:, :16]) * x[:, 16:])
    for fast in (torch_npu.npu_fast_gelu, torch.ops.npu.fast_gelu):
        assert_close(fast(device), x / (1 + torch.exp(-1.702 * x)))
    assert_close(torch_npu.npu_silu(device), functional.silu(x))
    assert_close(torch_npu.npu_mish(device), functional.mish(x))
    assert_close(torch_npu.npu_gelu_mul(device), functional.gelu(x[:, :16]) * x[:, 16:])
    found, gate = torch_npu.npu_geglu(device)
    assert_close(gate, functional.gelu(x[:, 16:], approximate="tanh"))
    assert_close(found, x[:, :16] * functional.gelu(x[:, 16:], approximate="tanh"))
    mask = torch.ones(8, 8).triu(1).bool()
    scores = random_tensor(2, 3, 8, 8)
    assert_close(torch_npu.npu_scaled_masked_softmax(scores.npu(), mask.npu(), 0.5), torch.softmax((0.5 * scores).masked_fill(mask, -1e9), -1))


def test_rotary_embeddings_turn_complex_numbers():
    x, angle = random_tensor(2, 5, 3, 8), random_tensor(1, 5, 1, 4, seed=2)
    turned = torch.view_as_complex(x.reshape(2, 5, 3, 4, 2).contiguous()) * torch.polar(torch.ones_like(angle), angle)
    expected = torch.view_as_real(turned).flatten(-2)
    cos, sin = angle.cos().repeat_interleave(2, -1), angle.sin().repeat_interleave(2, -1)
    assert_close(torch_npu.npu_rotary_mul(x.npu(), cos.npu(), sin.npu(), "interleave"), expected)
    # The same pairs, stored in two halves.
    halves, expected_halves = (torch.cat([each[..., ::2], each[..., 1::2]], -1) for each in (x, expected))
    cos, sin = torch.cat([angle.cos()] * 2, -1), torch.cat([angle.sin()] * 2, -1)
    assert_close(torch_npu.npu_rotary_mul(halves.npu(), cos.npu(), sin.npu()), expected_halves)
    query, key = torch_npu.npu_apply_rotary_pos_emb(halves.npu(), (2 * halves).npu(), cos.npu(), sin.npu())
    assert_close(query, expected_halves)
    assert_close(key, 2 * expected_halves)
    positions = torch.tensor([3, 0, 4, 1, 2])
    table = torch.cat([angle[0, :, 0].cos(), angle[0, :, 0].sin()], -1)
    query, key = halves[0].reshape(5, 24), 2 * halves[0].reshape(5, 24)
    device_query, device_key = query[positions].npu(), key[positions].npu()
    torch_npu._npu_rotary_embedding(positions.npu(), device_query, device_key, 8, table.npu(), True)
    assert_close(device_query, expected_halves[0].reshape(5, 24)[positions])
    assert_close(device_key, 2 * expected_halves[0].reshape(5, 24)[positions])


def test_quantization():
    x, scale = random_tensor(4, 16), random_tensor(16, seed=2).abs() + 0.1
    found = torch_npu.npu_quantize(x.npu(), scale.npu(), None, torch.qint8, -1, False)
    assert_close(found, torch.tensor([[max(-128, min(127, round(a))) for a in row] for row in (x * scale).tolist()], dtype=torch.int8))
    found, row_scale = torch_npu.npu_dynamic_quant(x.npu())
    assert_close(row_scale, x.abs().max(1).values / 127)
    assert (found.cpu().float() * row_scale.cpu()[:, None] - x).abs().max() <= row_scale.cpu().max() / 2 + 1e-6
    restored = torch_npu.npu_anti_quant(found, torch.tensor([0.5]).npu())
    assert_close(restored, (found.cpu().float() * 0.5).half())


def test_products_of_quantized_matrices_are_exact():
    x, weight, scale = random_int8(5, 700), random_int8(700, 6, seed=2), random_tensor(6).abs() / 1000
    total = torch.tensor([[sum(a * b for a, b in zip(row, column)) for column in weight.t().tolist()] for row in x.tolist()])
    found = torch_npu.npu_quant_matmul(x.npu(), weight.npu(), scale.npu(), output_dtype=torch.float16)
    assert_close(found, (total * scale).half(), 1e-3)
    rows = random_tensor(5, seed=3).abs()
    found = torch_npu.npu_quant_matmul(x.npu(), weight.npu(), scale.npu(), pertoken_scale=rows.npu(), output_dtype=torch.bfloat16)
    assert_close(found, (total * scale * rows[:, None]).bfloat16(), 1e-2)
    y = random_tensor(5, 700)
    found = torch_npu.npu_weight_quant_batchmatmul(y.npu(), weight.npu(), scale.npu())
    assert_close(found, y @ (weight.float() * scale), 1e-4)


def test_grouped_products():
    x, weights, counts = random_tensor(10, 8), random_tensor(3, 8, 4, seed=2), [4, 0, 6]
    expected, start = [], 0
    for expert, count in enumerate(counts):
        expected.append(x[start : start + count] @ weights[expert])
        start += count
    expected = torch.cat(expected)
    for group_list, kind in ((torch.tensor([4, 4, 10]), 0), (torch.tensor(counts), 1)):
        found = torch_npu.npu_grouped_matmul(
            [x.npu()], [weights.npu()], group_list=group_list.npu(), split_item=2, group_type=0, group_list_type=kind
        )
        assert_close(found[0], expected)
    found = torch_npu.npu_grouped_matmul([x[:4].npu(), x[4:].npu()], [weights[0].npu(), weights[2].npu()], group_type=-1)
    assert_close(torch.cat([each.cpu() for each in found]), expected)
    assert_close(torch_npu.npu_linear(x.npu(), weights[0].t().npu()), x @ weights[0])


def attention(query, key, value, **options):
    return functional.scaled_dot_product_attention(query, key, value, enable_gqa=True, **options)


def test_attention_for_training():
    query, key, value = (random_tensor(2, 4, 6, 8, seed=seed) for seed in (1, 2, 3))
    hidden = torch.ones(6, 6).triu(1).bool()
    expected = attention(query, key, value, is_causal=True)
    for layout, change in (("BNSD", lambda x: x), ("BSND", lambda x: x.transpose(1, 2)), ("BSH", lambda x: x.transpose(1, 2).flatten(2))):
        inputs = [change(each).contiguous().npu().requires_grad_() for each in (query, key, value)]
        found = torch_npu.npu_fusion_attention(*inputs, 4, layout, atten_mask=hidden.npu(), scale=8**-0.5)[0]
        assert_close(found.detach(), change(expected), 1e-5)
        found.sum().backward()
        host = [each.clone().requires_grad_() for each in (query, key, value)]
        attention(*host, is_causal=True).sum().backward()
        for one, other in zip(inputs, host):
            assert_close(one.grad, change(other.grad), 1e-4)


def test_attention_for_inference():
    query, key, value = random_tensor(2, 4, 6, 8), random_tensor(2, 2, 6, 8, seed=2), random_tensor(2, 2, 6, 8, seed=3)
    options = {"num_heads": 4, "num_key_value_heads": 2, "scale": 8**-0.5}
    found, _ = torch_npu.npu_fused_infer_attention_score(query.npu(), key.npu(), value.npu(), input_layout="BNSD", **options)
    assert_close(found, attention(query, key, value))
    mask = torch.ones(2048, 2048).triu(1).bool().npu()
    found, lse = torch_npu.npu_fused_infer_attention_score(
        query.npu(), key.npu(), value.npu(), input_layout="BNSD", sparse_mode=3, atten_mask=mask, softmax_lse_flag=True, **options
    )
    assert_close(found, attention(query, key, value, is_causal=True))
    scores = (query @ key.repeat_interleave(2, 1).transpose(2, 3)) * 8**-0.5
    assert_close(lse, scores.masked_fill(torch.ones(6, 6).triu(1).bool(), -1e9).logsumexp(-1, keepdim=True))
    found = torch_npu.npu_prompt_flash_attention(
        query.npu(), key.npu(), value.npu(), num_heads=4, num_key_value_heads=2, scale_value=8**-0.5, input_layout="BNSD"
    )
    assert_close(found, attention(query, key, value))


def test_packed_and_paged_attention():
    lengths, pages = [3, 5], torch.tensor([[2, 0], [1, 3]], dtype=torch.int32)
    queries = [random_tensor(length, 4, 8, seed=length) for length in lengths]
    keys, values = ([random_tensor(length, 2, 8, seed=seed + length) for length in lengths] for seed in (10, 20))
    expected = torch.cat([
        attention(q.transpose(0, 1)[None], k.transpose(0, 1)[None], v.transpose(0, 1)[None], is_causal=True)[0].transpose(0, 1)
        for q, k, v in zip(queries, keys, values)
    ])  # fmt: skip
    key_cache, value_cache = torch.full((4, 4, 2, 8), 9.0).npu(), torch.full((4, 4, 2, 8), 9.0).npu()
    slots = [int(pages[row, token // 4]) * 4 + token % 4 for row, length in enumerate(lengths) for token in range(length)]
    # The last token is padding.
    padded = torch.tensor([*slots, -1], dtype=torch.int32).npu()
    rows = [torch.cat([*each, torch.full((1, 2, 8), 5.0)]).npu() for each in (keys, values)]
    torch_npu._npu_reshape_and_cache(*rows, key_cache, value_cache, padded)
    flat = torch.full((16, 2, 8), 9.0)
    flat[torch.tensor(slots)] = torch.cat(keys)
    assert_close(key_cache, flat.view(4, 4, 2, 8))
    mask = torch.ones(2048, 2048).triu(1).bool().npu()
    options = {"num_heads": 4, "num_key_value_heads": 2, "scale": 8**-0.5, "input_layout": "TND", "sparse_mode": 3, "atten_mask": mask}
    found, _ = torch_npu.npu_fused_infer_attention_score(
        torch.cat(queries).npu(), torch.cat(keys).npu(), torch.cat(values).npu(),
        actual_seq_lengths=[3, 8], actual_seq_lengths_kv=[3, 8], **options,
    )  # fmt: skip
    assert_close(found, expected)
    found, _ = torch_npu.npu_fused_infer_attention_score(
        torch.cat(queries).npu(), key_cache.flatten(2), value_cache.flatten(2), actual_seq_lengths=[3, 8],
        actual_seq_lengths_kv=lengths, block_table=pages.npu(), block_size=4, **options,
    )  # fmt: skip
    assert_close(found, expected)
    out = torch.empty(2, 4, 8).npu()
    last = torch.stack([query[-1] for query in queries])
    torch_npu._npu_paged_attention(last.npu(), key_cache, value_cache, 2, 4, 8**-0.5, pages.npu(), torch.tensor(lengths), out)
    assert_close(out, expected[[2, 7]])
    found = torch_npu.npu_incre_flash_attention(
        last.reshape(2, 1, 32).npu(), key_cache.flatten(2), value_cache.flatten(2), actual_seq_lengths=lengths,
        block_table=pages.npu(), block_size=4, num_heads=4, num_key_value_heads=2, scale_value=8**-0.5,
    )  # fmt: skip
    assert_close(found, expected[[2, 7]].reshape(2, 1, 32))


def test_routing():
    logits, k = random_tensor(5, 6), 2
    weights, experts, rows = torch_npu.npu_moe_gating_top_k_softmax(logits.npu(), k=k)
    expected = torch.softmax(logits, -1).topk(k)
    assert_close(weights, expected.values)
    assert experts.cpu().tolist() == expected.indices.tolist() and experts.dtype == torch.int32
    assert rows.cpu().tolist() == [[row, row + 5] for row in range(5)]
    x = random_tensor(5, 4, seed=3)
    expanded, source_to_row, sorted_experts = torch_npu.npu_moe_init_routing(x.npu(), rows, experts, 5)
    pairs = sorted(((expert, row, slot) for row, both in enumerate(expected.indices.tolist()) for slot, expert in enumerate(both)), key=lambda each: each[0])
    assert sorted_experts.cpu().tolist() == [expert for expert, _, _ in pairs]
    assert_close(expanded, x[[row for _, row, _ in pairs]])
    tokens = torch_npu.npu_moe_compute_expert_tokens(sorted_experts, 6)
    assert tokens.cpu().tolist() == [sum(expert <= limit for expert, _, _ in pairs) for limit in range(6)]
    # Experts that multiply by their number.
    scaled = expanded * (sorted_experts[:, None] + 1)
    found = torch_npu.npu_moe_finalize_routing(scaled, None, None, None, weights, source_to_row, experts)
    assert_close(found, (x[:, None] * (expected.indices[..., None] + 1) * expected.values[..., None]).sum(1))
    permuted, indices = torch_npu.npu_moe_token_permute(x.npu(), experts.long())
    assert_close(permuted, x[[row for _, row, _ in pairs]])
    found = torch_npu.npu_moe_token_unpermute(permuted, indices, probs=weights)
    assert_close(found, x * expected.values.sum(1, keepdim=True))
    expanded, rows, counts, _ = torch_npu.npu_moe_init_routing_v2(
        x.npu(), experts, active_num=10, expert_num=6, expert_tokens_num_type=1, expert_tokens_num_flag=True, active_expert_range=[0, 6]
    )
    assert_close(expanded, x[[row for _, row, _ in pairs]])
    assert counts.cpu().tolist() == [sum(expert == each for expert, _, _ in pairs) for each in range(6)]
    scores, bias = torch.sigmoid(random_tensor(3, 8)), random_tensor(8, seed=4)
    weights, experts, _ = torch_npu.npu_moe_gating_top_k(random_tensor(3, 8).npu(), 2, bias=bias.npu(), k_group=1, group_count=2, norm_type=1)
    for row in range(3):
        biased = (scores[row] + bias).tolist()
        group = 0 if max(biased[:4]) >= max(biased[4:]) else 1
        best = sorted(range(4 * group, 4 * group + 4), key=lambda at: -biased[at])[:2]
        assert experts[row].cpu().tolist() == best
        assert_close(weights[row], scores[row][best] / scores[row][best].sum())


def test_top_k_top_p_cuts_the_tail():
    logits = torch.tensor([[1.0, 4.0, 2.0, 3.0]])
    found = torch_npu.npu_top_k_top_p(logits.npu(), None, torch.tensor([2], dtype=torch.int32).npu())
    assert found.cpu().tolist() == [[float("-inf"), 4.0, float("-inf"), 3.0]]
    found = torch_npu.npu_top_k_top_p(logits.npu(), torch.tensor([0.5]).npu(), None)
    assert found.cpu().tolist() == [[float("-inf"), 4.0, float("-inf"), float("-inf")]]


def test_updates_at_indices():
    x, updates = random_tensor(5, 3), random_tensor(2, 3, seed=2)
    device = x.npu()
    updated = torch_npu.npu_scatter_nd_update(device, torch.tensor([[4], [1]]).npu(), updates.npu())
    assert_close(device, x)
    torch_npu.npu_scatter_nd_update_(device, torch.tensor([[4], [1]]).npu(), updates.npu())
    x[[4, 1]] = updates
    assert_close(device, x)
    assert_close(updated, x)
    kv, gamma = random_tensor(2, 1, 1, 12), random_tensor(8, seed=2)
    angle = random_tensor(2, 1, 1, 2, seed=3)
    cos, sin = torch.cat([angle.cos()] * 2, -1), torch.cat([angle.sin()] * 2, -1)
    rope_cache, latent_cache = torch.zeros(3, 4, 1, 4).npu(), torch.zeros(3, 4, 1, 8).npu()
    torch_npu.npu_kv_rmsnorm_rope_cache(
        kv.npu(), gamma.npu(), cos.npu(), sin.npu(), torch.tensor([9, 2]).npu(), rope_cache, latent_cache, cache_mode="PA"
    )
    latent = functional.rms_norm(kv[..., :8], (8,), gamma, 1e-5)
    turned = torch.view_as_complex(kv[..., 8:].reshape(2, 1, 1, 2, 2).contiguous()) * torch.polar(torch.ones_like(angle), angle)
    for row, slot in ((0, 9), (1, 2)):
        assert_close(latent_cache.view(12, 8)[slot], latent[row].flatten())
        assert_close(rope_cache.view(12, 4)[slot], torch.cat([turned[row].real, turned[row].imag], -1).flatten())


def test_formats_keep_values():
    x = random_tensor(32, 32)
    assert_close(torch_npu.npu_format_cast(x.npu(), 29), x)
    device = x.npu()
    for cast in (torch_npu.npu_format_cast_, torch.ops.npu._npu_format_cast):
        assert_close(cast(device, 29), x)
    assert_close(torch_npu.npu_dtype_cast(x.npu(), torch.float16), x.half())
    assert_close(torch.ops.npu._npu_dtype_cast(x.npu(), torch.float16), x.half())
    assert_close(torch_npu.npu_transpose(x.npu(), [1, 0]), x.t().contiguous())


def quantized_rows(x):
    """Rows of int8 by Python numbers, and the scale of each."""
    scales = [max(abs(value) for value in row) / 127 for row in x.tolist()]
    return torch.tensor([[round(value / scale) for value in row] for row, scale in zip(x.tolist(), scales)]), torch.tensor(scales)


def assert_quantized(found, scale, expected):
    """Compares values of int8 with those before rounding; a sum in another order may round to the next number."""
    rows, scales = quantized_rows(expected)
    assert found.dtype == torch.int8 and (found.cpu() - rows).abs().max() <= 1, (found, rows)
    assert_close(scale, scales)


def test_norms_that_quantize():
    x, y, gamma, beta = random_tensor(4, 16), random_tensor(4, 16, seed=2), random_tensor(16, seed=3), random_tensor(16, seed=4)
    smooth, scales, points = (random_tensor(16, seed=seed).abs() + 0.1 for seed in (5, 6, 7))
    expected = functional.rms_norm(x + y, (16,), gamma, 1e-6) + beta
    inputs = [each.npu() for each in (x, y, gamma)]
    first, second, total, first_scale, second_scale = torch_npu.npu_add_rms_norm_dynamic_quant(
        *inputs, smooth_scale1=smooth.npu(), beta=beta.npu(), output_mask=[True, True]
    )
    assert_close(total, x + y)
    assert_quantized(first, first_scale, expected * smooth)
    assert_quantized(second, second_scale, expected)
    first, second, total = torch_npu.npu_add_rms_norm_quant(
        *inputs, scales.npu(), points.npu(), beta=beta.npu(), scales2=scales.npu(), div_mode=True
    )
    assert_close(total, x + y)
    for found, values in ((first, expected / scales + points), (second, expected / scales)):
        assert found.dtype == torch.int8 and (found.cpu() - values.round().clamp(-128, 127)).abs().max() <= 1


def test_activations_that_quantize():
    x, smooth = random_tensor(4, 16), random_tensor(8, seed=2).abs() + 0.1
    left, right = x.chunk(2, 1)
    found, scale = torch_npu.npu_swiglu_quant(x.npu(), smooth_scales=smooth.npu(), activate_left=True, quant_mode=1)
    assert_quantized(found, scale, functional.silu(left) * right * smooth)
    numbers, weight, rows = torch.randint(-999, 999, (4, 16), dtype=torch.int32), random_tensor(16, seed=3).abs() / 99, random_tensor(4, seed=4).abs()
    left, right = (numbers * weight * rows[:, None]).chunk(2, 1)
    found, scale = torch_npu.npu_dequant_swiglu_quant(
        numbers.npu(), weight_scale=weight.npu(), activation_scale=rows.npu(), quant_scale=smooth.npu(), activate_left=False, quant_mode=1
    )
    assert_quantized(found, scale, functional.silu(right) * left * smooth)
    out = torch.empty(4, 16, dtype=torch.int8).npu()
    torch_npu._npu_quantize_per_tensor(x.npu(), torch.tensor([0.5]).npu(), torch.tensor([3.0]).npu(), out)
    assert_close(out, (x * 2 + 3).round().clamp(-128, 127).to(torch.int8))


def test_parameters_of_quantization_are_bits():
    scale = random_tensor(5).abs()
    bits = [int.from_bytes(struct.pack("<f", value), "little") for value in scale.tolist()]
    parameters = torch_npu.npu_trans_quant_param(scale.npu())
    assert_close(parameters, torch.tensor(bits))
    x, weight = random_int8(3, 8), random_int8(8, 5, seed=2)
    found = torch_npu.npu_quant_matmul(x.npu(), weight.npu(), parameters, output_dtype=torch.float16)
    assert_close(found, ((x.float() @ weight.float()) * scale).half(), 1e-3)


def test_small_operators():
    x, gamma, beta = random_tensor(2, 8, 3, 3), random_tensor(8, seed=2), random_tensor(8, seed=3)
    y = functional.group_norm(x, 2, gamma, beta, 1e-5)
    found, mean, _ = torch_npu.npu_group_norm_swish(x.npu(), 2, gamma.npu(), beta.npu(), eps=1e-5, swish_scale=1.5)
    assert_close(found, y * torch.sigmoid(1.5 * y))
    assert_close(mean, x.reshape(2, 2, -1).mean(-1))
    a, b = random_tensor(2, 3, 4), random_tensor(2, 4, 5, seed=2)
    assert_close(torch_npu.npu_bmmV2(a.npu(), b.npu(), []), torch.einsum("bij,bjk->bik", a, b))
    device = x.npu()
    torch_npu.npu_silu_(device)
    assert_close(device, functional.silu(x))
    found = torch_npu.npu_one_hot(torch.tensor([2, 0, 1]).npu(), depth=4, on_value=3, off_value=-1)
    assert_close(found, functional.one_hot(torch.tensor([2, 0, 1]), 4).float() * 4 - 1)
    weight, total = random_tensor(6, 5), torch.ones(4, 5)
    device = total.npu()
    torch_npu._npu_matmul_add_fp32(random_tensor(6, 4, seed=2).npu(), weight.npu(), device)
    assert_close(device, 1 + torch.einsum("ki,kj->ij", random_tensor(6, 4, seed=2), weight))


def test_interleaved_positions_turn_complex_numbers():
    x, angle = random_tensor(2, 3, 1, 8), random_tensor(2, 1, 1, 4, seed=2)
    turned = torch.view_as_complex(x.reshape(2, 3, 1, 4, 2).contiguous()) * torch.polar(torch.ones_like(angle), angle)
    cos, sin = torch.cat([angle.cos()] * 2, -1), torch.cat([angle.sin()] * 2, -1)
    found = torch_npu.npu_interleave_rope(x.npu(), cos.npu(), sin.npu())
    assert_close(found, torch.cat([turned.real, turned.imag], -1))


def test_paged_writes():
    keys, values = random_tensor(3, 2, 4), random_tensor(3, 2, 4, seed=2)
    key_cache, value_cache = torch.zeros(2, 4, 2, 4).npu(), torch.zeros(2, 4, 2, 4).npu()
    slots = [6, 1, -1]
    torch_npu.npu_scatter_pa_kv_cache(
        keys.npu(), values.npu(), key_cache, value_cache, torch.tensor(slots, dtype=torch.int32).npu(), cache_mode="Norm"
    )
    for rows, cache in ((keys, key_cache), (values, value_cache)):
        expected = torch.zeros(8, 2, 4)
        expected[slots[:2]] = rows[:2]
        assert_close(cache, expected.view(2, 4, 2, 4))


def test_products_with_another_type():
    a, b, c = random_tensor(2, 3, 4, dtype=torch.float16), random_tensor(2, 4, 5, seed=2, dtype=torch.float16), random_tensor(3, 5, dtype=torch.float16)
    product = torch.einsum("bij,bjk->bik", a.double(), b.double()).float()
    operators = torch.ops.aten
    assert_close(operators.bmm.dtype(a.npu(), b.npu(), torch.float32), product)
    assert_close(operators.mm.dtype(a[0].npu(), b[0].npu(), torch.float32), product[0])
    found = operators.addmm.dtype(c.npu(), a[0].npu(), b[0].npu(), torch.float32, beta=2, alpha=3)
    assert_close(found, 2 * c.float() + 3 * product[0])


def test_operators_without_a_cpu_kernel():
    """The cells are aten::_thnn_fused_lstm_cell and aten::_thnn_fused_gru_cell."""
    operators = torch.ops.aten
    for kind in (torch.nn.LSTM, torch.nn.GRU):
        torch.manual_seed(1)
        layer, x = kind(4, 3), random_tensor(5, 2, 4)
        expected = layer(x)[0].detach()
        assert_close(layer.npu()(x.npu())[0].detach(), expected)
    x, mask = random_tensor(4, 5), random_tensor(4, 5, seed=2) > 0
    assert_close(operators._masked_scale(x.npu(), mask.npu(), 2.5), torch.where(mask, x * 2.5, 0.0))
    image, weight = random_tensor(1, 3, 6, 6), random_tensor(3, 1, 3, 3, seed=2)
    found = operators._conv_depthwise2d(image.npu(), weight.npu(), [3, 3], None, [1, 1], [1, 1], [1, 1])
    assert_close(found, functional.conv2d(image, weight, padding=1, groups=3))


def test_every_registered_operator_is_tested():
    text = pathlib.Path(__file__).read_text()
    names = [name.split("::")[1] for name in softacl.torch.operators("registered") if not name.startswith("mine::")]
    # An overload is named with its operator, or called by way of it.
    missing = [name for name in names if not re.search(rf"\b{re.escape(name.removesuffix('.List').removesuffix('.acl_format'))}\b", text)]
    assert len(names) > 50 and not missing, missing


def test_operators_in_a_graph():
    x, gamma = random_tensor(4, 16).npu(), torch.ones(16).npu()
    cache, slots = torch.zeros(2, 4, 16).npu(), torch.tensor([5, 0, 1, -1]).npu()
    torch.npu.synchronize()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        y = torch_npu.npu_rms_norm(x, gamma)[0]
        torch_npu._npu_reshape_and_cache_siso(y, cache, slots)
    for seed in (3, 4, 5):
        x.copy_(random_tensor(4, 16, seed=seed))
        graph.replay()
        expected = functional.rms_norm(random_tensor(4, 16, seed=seed), (16,), eps=1e-6)
        assert_close(cache.view(8, 16)[[5, 0, 1]], expected[:3])


def test_projects_register_their_own():
    torch.library.define("mine::scale", "(Tensor x, float factor=2.0, int mode=0) -> Tensor")
    softacl.torch.register("mine::scale", lambda x, factor: x * factor)
    x = random_tensor(4)
    assert_close(torch.ops.mine.scale(x.npu(), 3.0), x * 3)
    leaf = x.npu().requires_grad_()
    torch.ops.mine.scale(leaf).sum().backward()
    assert_close(leaf.grad, torch.full((4,), 2.0))
    for call, error, words in (
        (lambda: torch.ops.mine.scale(x.npu(), 3.0, 1), NotImplementedError, "mine::scale with the argument mode"),
        (lambda: softacl.torch.register("mine::absent", lambda x: x), ValueError, "no operator mine::absent"),
        (lambda: softacl.torch.register("mine::scale", lambda y: y), ValueError, "has no argument y"),
        (lambda: torch_npu.npu_moe_init_routing_v2(x.npu()[:, None], torch.zeros(4, 1, dtype=torch.int32).npu(), drop_pad_mode=1), NotImplementedError, "drop_pad_mode"),
    ):
        try:
            call()
        except error as raised:
            assert words in str(raised), raised
        else:
            raise AssertionError(f"expected {error.__name__}: {words}")


def main():
    names = sys.argv[1:] or [name for name in globals() if name.startswith("test")]
    for name in names:
        start = time.time()
        globals()[name]()
        if os.environ.get("VERBOSE"):
            print(f"{name:<56} {time.time() - start:6.2f} s", flush=True)
    print(f"{len(names)} tests passed")


if __name__ == "__main__":
    main()
