"""Products of matrices: plain, quantized, and grouped by experts."""

from typing import Any, List, Optional

import torch
from torch import Tensor

from softacl.torch.references.quantization import group_of_rows, round_to_int8, scale_values, type_of
from softacl.torch.registration import reference, require


@reference("npu_linear")
def npu_linear(input: Tensor, weight: Tensor, bias: Optional[Tensor]) -> Tensor:
    return torch.nn.functional.linear(input, weight, bias)


@reference("npu_bmmV2")
def npu_bmm(input: Tensor, mat2: Tensor, output_sizes: List[int]) -> Tensor:
    product = torch.matmul(input, mat2)
    return product.reshape(output_sizes) if len(output_sizes) > 0 else product


def product(x: Tensor, weight: Tensor) -> Tensor:
    """The product of int8 matrices, exact in int32, or of floats in float32."""
    if not x.is_floating_point() and not weight.is_floating_point():
        return torch.matmul(x.to(torch.int32), weight.to(torch.int32))
    return torch.matmul(x.float(), weight.float())


@reference("npu_quant_matmul")
def npu_quant_matmul(
    x1: Tensor,
    x2: Tensor,
    scale: Tensor,
    offset: Optional[Tensor],
    pertoken_scale: Optional[Tensor],
    bias: Optional[Tensor],
    output_dtype: Optional[int],
) -> Tensor:
    require(x1.dtype == x2.dtype == torch.int8, "npu_quant_matmul", f"of {x1.dtype} and {x2.dtype}")
    total = product(x1, x2)
    if bias is not None and bias.dtype == torch.int32:
        total = total + bias
    target = type_of(output_dtype, torch.int8, "npu_quant_matmul")
    if target == torch.int32:
        return total
    result = total.float() * scale_values(scale)
    if pertoken_scale is not None:
        result = result * pertoken_scale.float()[:, None]
    if bias is not None and bias.dtype != torch.int32:
        result = result + bias.float()
    if target == torch.int8:
        return round_to_int8(result if offset is None else result + offset.float())
    return result.to(target)


@reference("npu_weight_quant_batchmatmul")
def npu_weight_quant_batchmatmul(
    x: Tensor,
    weight: Tensor,
    antiquant_scale: Tensor,
    antiquant_offset: Optional[Tensor],
    bias: Optional[Tensor],
    antiquant_group_size: int,
    inner_precise: int,
) -> Tensor:
    require(weight.dtype == torch.int8, "npu_weight_quant_batchmatmul", f"with weights of {weight.dtype}")

    def of_rows(values: Tensor) -> Tensor:
        values = values.float()
        return values.repeat_interleave(antiquant_group_size, 0)[: weight.size(0)] if antiquant_group_size else values

    restored = weight.float() if antiquant_offset is None else weight.float() + of_rows(antiquant_offset)
    result = torch.matmul(x.float(), restored * of_rows(antiquant_scale))
    return (result if bias is None else result + bias.float()).to(x.dtype)


@reference("npu_grouped_matmul")
def npu_grouped_matmul(
    x: List[Tensor],
    weight: List[Tensor],
    bias: Optional[List[Tensor]],
    scale: Optional[List[Tensor]],
    per_token_scale: Optional[List[Tensor]],
    group_list: Any,
    split_item: Optional[int],
    group_type: Optional[int],
    group_list_type: Optional[int],
    output_dtype: Any,
) -> List[Tensor]:
    name = "npu_grouped_matmul"
    require(group_type in (None, -1, 0), name, f"with the group_type {group_type}")
    require(group_list_type in (None, 0, 1), name, f"with the group_list_type {group_list_type}")
    target = type_of(output_dtype, x[0].dtype if x[0].is_floating_point() else torch.int32, name)

    def matmul(rows: Tensor, expert: int, token_scale: Optional[Tensor]) -> Tensor:
        def of_expert(values: Optional[List[Tensor]]) -> Optional[Tensor]:
            if not values:
                return None
            return values[expert] if len(values) > 1 or len(experts) == 1 and values[0].dim() == 1 else values[0][expert]

        result = product(rows, experts[expert])
        expert_bias = of_expert(bias)
        if expert_bias is not None:
            result = result + expert_bias.to(torch.int32 if result.dtype == torch.int32 else torch.float32)
        expert_scale = of_expert(scale)
        if expert_scale is not None:
            result = result.float() * scale_values(expert_scale)
        if token_scale is not None:
            result = result * token_scale.float()[:, None]
        return result.to(target)

    experts = list(weight[0]) if len(weight) == 1 and weight[0].dim() == 3 else list(weight)
    if len(x) == len(experts) and group_list is None:
        scales = per_token_scale or [None] * len(x)
        parts = [matmul(rows, expert, scales[expert]) for expert, rows in enumerate(x)]
        return [torch.cat(parts)] if split_item in (2, 3) else parts
    require(len(x) == 1 and group_list is not None, name, f"of {len(x)} tensors with {len(experts)} weights")
    rows = x[0]
    ends = group_list if isinstance(group_list, Tensor) else torch.tensor(group_list, device=rows.device)
    if group_list_type == 1:
        ends = ends.cumsum(0)
    # The counts are values of the device, so every expert sees all rows and keeps its own.
    expert_of_row = group_of_rows(ends, rows.size(0))[:, None]
    result = torch.zeros(rows.size(0), experts[0].size(-1), dtype=target, device=rows.device)
    for expert in range(len(experts)):
        token_scale = per_token_scale[0] if per_token_scale else None
        result = torch.where(expert_of_row == expert, matmul(rows, expert, token_scale), result)
    if split_item in (2, 3):
        return [result]
    require(not isinstance(group_list, Tensor), name, "with separate results (split_item 0 or 1) and a group_list on the device")
    starts = [0, *group_list[:-1]]
    return [result[start:end] for start, end in zip(starts, group_list)]


@reference("npu_grouped_matmul.List")
def npu_grouped_matmul_list(
    x: List[Tensor],
    weight: List[Tensor],
    bias: Optional[List[Tensor]],
    scale: Optional[List[Tensor]],
    per_token_scale: Optional[List[Tensor]],
    group_list: Optional[List[int]],
    split_item: Optional[int],
    group_type: Optional[int],
    group_list_type: Optional[int],
    output_dtype: Any,
) -> List[Tensor]:
    return npu_grouped_matmul(
        x, weight, bias, scale, per_token_scale, group_list, split_item, group_type, group_list_type, output_dtype
    )
