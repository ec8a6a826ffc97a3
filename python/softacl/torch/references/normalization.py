"""Normalization: RMSNorm with its fused additions and quantizations, DeepNorm, GroupNorm."""

from typing import List, Optional, Tuple

import torch
from torch import Tensor

from softacl.torch.references.quantization import quantize_rows, round_to_int8
from softacl.torch.registration import reference, require


def rms_norm(x: Tensor, gamma: Tensor, epsilon: float) -> Tuple[Tensor, Tensor]:
    """The normalized float32 values, and the reciprocal of the root mean square."""
    dims = list(range(x.dim() - gamma.dim(), x.dim()))
    x = x.float()
    rstd = torch.rsqrt(x.pow(2).mean(dims, keepdim=True) + epsilon)
    return x * rstd * gamma.float(), rstd


@reference("npu_rms_norm")
def npu_rms_norm(input: Tensor, gamma: Tensor, epsilon: float) -> Tuple[Tensor, Tensor]:
    y, rstd = rms_norm(input, gamma, epsilon)
    return y.to(input.dtype), rstd


@reference("npu_gemma_rms_norm")
def npu_gemma_rms_norm(input: Tensor, gamma: Tensor, epsilon: float) -> Tuple[Tensor, Tensor]:
    y, rstd = rms_norm(input, 1 + gamma.float(), epsilon)
    return y.to(input.dtype), rstd


@reference("npu_add_rms_norm")
def npu_add_rms_norm(x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float) -> Tuple[Tensor, Tensor, Tensor]:
    total = x1.float() + x2.float()
    y, rstd = rms_norm(total, gamma, epsilon)
    return y.to(x1.dtype), rstd, total.to(x1.dtype)


@reference("npu_add_rms_norm_quant")
def npu_add_rms_norm_quant(
    x1: Tensor,
    x2: Tensor,
    gamma: Tensor,
    scales1: Tensor,
    zero_points1: Optional[Tensor],
    beta: Optional[Tensor],
    scales2: Optional[Tensor],
    zero_points2: Optional[Tensor],
    epsilon: float,
    div_mode: bool,
) -> Tuple[Tensor, Tensor, Tensor]:
    total = x1.float() + x2.float()
    y, _ = rms_norm(total, gamma, epsilon)
    if beta is not None:
        y = y + beta.float()

    def quantized(scales: Optional[Tensor], zero_points: Optional[Tensor]) -> Tensor:
        if scales is None:
            return torch.zeros_like(y, dtype=torch.int8)
        scaled = y / scales.float() if div_mode else y * scales.float()
        return round_to_int8(scaled if zero_points is None else scaled + zero_points.float())

    return quantized(scales1, zero_points1), quantized(scales2, zero_points2), total.to(x1.dtype)


@reference("npu_add_rms_norm_dynamic_quant")
def npu_add_rms_norm_dynamic_quant(
    x1: Tensor,
    x2: Tensor,
    gamma: Tensor,
    smooth_scale1: Optional[Tensor],
    smooth_scale2: Optional[Tensor],
    beta: Optional[Tensor],
    epsilon: float,
    output_mask: List[bool],
) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    require(list(output_mask) in ([], [True, True]), "npu_add_rms_norm_dynamic_quant", "with an output_mask")
    total = x1.float() + x2.float()
    y, _ = rms_norm(total, gamma, epsilon)
    if beta is not None:
        y = y + beta.float()
    first, first_scale = quantize_rows(y, smooth_scale1)
    second, second_scale = quantize_rows(y, smooth_scale2)
    return first, second, total.to(x1.dtype), first_scale, second_scale


@reference("npu_deep_norm")
def npu_deep_norm(
    x: Tensor, gx: Tensor, beta: Tensor, gamma: Tensor, alpha: float, epsilon: float
) -> Tuple[Tensor, Tensor, Tensor]:
    total = x.float() * alpha + gx.float()
    dims = list(range(x.dim() - gamma.dim(), x.dim()))
    mean = total.mean(dims, keepdim=True)
    rstd = torch.rsqrt((total - mean).pow(2).mean(dims, keepdim=True) + epsilon)
    return mean, rstd, ((total - mean) * rstd * gamma.float() + beta.float()).to(x.dtype)


def group_norm(
    x: Tensor, groups: int, weight: Optional[Tensor], bias: Optional[Tensor], eps: float
) -> Tuple[Tensor, Tensor, Tensor]:
    """The normalized float32 values, and mean and reciprocal deviation of each group."""
    rows = x.float().reshape(x.size(0), groups, -1)
    mean = rows.mean(-1)
    rstd = torch.rsqrt(rows.var(-1, unbiased=False) + eps)
    y = ((rows - mean[..., None]) * rstd[..., None]).reshape(x.shape)
    shape = [1, -1] + [1] * (x.dim() - 2)
    if weight is not None:
        y = y * weight.float().reshape(shape)
    if bias is not None:
        y = y + bias.float().reshape(shape)
    return y, mean, rstd


@reference("npu_group_norm_silu")
def npu_group_norm_silu(
    input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], group: int, eps: float
) -> Tuple[Tensor, Tensor, Tensor]:
    y, mean, rstd = group_norm(input, group, weight, bias, eps)
    return torch.nn.functional.silu(y).to(input.dtype), mean.to(input.dtype), rstd.to(input.dtype)


@reference("npu_group_norm_swish")
def npu_group_norm_swish(
    input: Tensor, num_groups: int, weight: Tensor, bias: Tensor, eps: float, swish_scale: float
) -> Tuple[Tensor, Tensor, Tensor]:
    y, mean, rstd = group_norm(input, num_groups, weight, bias, eps)
    return (y * torch.sigmoid(swish_scale * y)).to(input.dtype), mean, rstd
