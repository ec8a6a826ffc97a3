"""Quantization to int8 and back."""

from typing import Any, Optional, Tuple

import torch
from torch import Tensor
from torch.nn import functional

from softacl.torch.registration import reference, require

# The numbers of torch.dtype values in schemas that declare a type as an integer.
_TYPES = {
    0: torch.uint8,
    1: torch.int8,
    3: torch.int32,
    5: torch.float16,
    6: torch.float32,
    12: torch.int8,
    13: torch.uint8,
    14: torch.int32,
    15: torch.bfloat16,
}


def type_of(number: Any, default: Optional[torch.dtype], name: str) -> torch.dtype:
    """The type that an argument names, as a number or as a torch.dtype."""
    if number is None and default is not None:
        return default
    if isinstance(number, torch.dtype):
        return number
    require(number in _TYPES, name, f"with the type number {number}")
    return _TYPES[number]


def round_to_int8(x: Tensor) -> Tensor:
    return x.round().clamp(-128, 127).to(torch.int8)


def quantize_rows(x: Tensor, smooth: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
    """Quantizes each row by its largest magnitude. Returns the int8 values and the scale of each row."""
    x = x.float() if smooth is None else x.float() * smooth.float()
    scale = x.abs().amax(-1) / 127
    # A row of zeros has the scale zero and stays zero.
    return round_to_int8((x / scale[..., None]).nan_to_num(0.0)), scale


def group_of_rows(ends: Tensor, count: int) -> Tensor:
    """The group of each row, from the ends of the groups."""
    rows = torch.arange(count, device=ends.device, dtype=ends.dtype)
    return torch.searchsorted(ends.contiguous(), rows, right=True)


@reference("npu_quantize")
def npu_quantize(
    input: Tensor, scales: Tensor, zero_points: Optional[Tensor], dtype: int, axis: int, div_mode: bool
) -> Tensor:
    target = type_of(dtype, None, "npu_quantize")
    require(target in (torch.int8, torch.uint8, torch.int32), "npu_quantize", f"to {target}")
    if not div_mode:
        axis = -2 if axis == -2 else -1

    def along_axis(values: Tensor) -> Tensor:
        if values.dim() != 1:
            return values.float()
        shape = [1] * input.dim()
        shape[axis] = -1
        return values.float().reshape(shape)

    x = input.float() / along_axis(scales) if div_mode else input.float() * along_axis(scales)
    if zero_points is not None:
        x = x + along_axis(zero_points)
    # The largest float32 below 2**31 is 2**31 - 128.
    low, high = (-(2**31), 2**31 - 128) if target == torch.int32 else (torch.iinfo(target).min, torch.iinfo(target).max)
    return x.round().clamp(low, high).to(target)


@reference("npu_dynamic_quant")
def npu_dynamic_quant(
    input: Tensor, smooth_scales: Optional[Tensor], group_index: Optional[Tensor], dst_type: Optional[int], quant_mode: str
) -> Tuple[Tensor, Tensor]:
    require(type_of(dst_type, torch.int8, "npu_dynamic_quant") == torch.int8, "npu_dynamic_quant", "to types other than int8")
    require(quant_mode == "pertoken", "npu_dynamic_quant", f"with the quant_mode {quant_mode!r}")
    if smooth_scales is not None and group_index is not None:
        rows = group_of_rows(group_index, input.numel() // input.size(-1))
        smooth_scales = smooth_scales[rows].reshape(input.shape)
    return quantize_rows(input, smooth_scales)


@reference("npu_anti_quant")
def npu_anti_quant(x: Tensor, scale: Tensor, offset: Optional[Tensor], dst_dtype: Optional[int]) -> Tensor:
    require(x.dtype == torch.int8, "npu_anti_quant", f"of {x.dtype}")
    shifted = x.float() if offset is None else x.float() + offset.float()
    return (shifted * scale.float()).to(type_of(dst_dtype, torch.float16, "npu_anti_quant"))


@reference("npu_trans_quant_param")
def npu_trans_quant_param(scale: Tensor) -> Tensor:
    # The bits of each float, as the lower half of an integer of 64 bits.
    return scale.float().contiguous().view(torch.int32).to(torch.int64) & 0xFFFFFFFF


def scale_values(scale: Tensor) -> Tensor:
    """Scales as floats, also those of npu_trans_quant_param."""
    if scale.dtype == torch.int64:
        return scale.to(torch.int32).view(torch.float32)
    return scale.float()


@reference("npu_dequant_swiglu_quant")
def npu_dequant_swiglu_quant(
    x: Tensor,
    weight_scale: Optional[Tensor],
    activation_scale: Optional[Tensor],
    bias: Optional[Tensor],
    quant_scale: Optional[Tensor],
    group_index: Optional[Tensor],
    activate_left: bool,
    quant_mode: int,
) -> Tuple[Tensor, Tensor]:
    require(quant_mode == 1, "npu_dequant_swiglu_quant", "with static quantization (quant_mode 0)")
    values = x.float()
    if bias is not None:
        values = values + bias.float()
    rows = None
    if group_index is not None:
        groups = group_index.numel()
        rows = group_of_rows(group_index.cumsum(0), x.size(0)).clamp(max=groups - 1)

    def of_group(scales: Tensor) -> Tensor:
        return scales.float() if rows is None or scales.dim() == 1 else scales.float()[rows]

    if weight_scale is not None:
        values = values * of_group(weight_scale)
    if activation_scale is not None:
        values = values * activation_scale.float().reshape(-1, 1)
    left, right = values.chunk(2, -1)
    gate, value = (left, right) if activate_left else (right, left)
    return quantize_rows(functional.silu(gate) * value, None if quant_scale is None else of_group(quant_scale))


@reference("npu_swiglu_quant")
def npu_swiglu_quant(
    x: Tensor, smooth_scales: Optional[Tensor], activate_left: bool, quant_mode: int
) -> Tuple[Tensor, Tensor]:
    require(quant_mode == 1, "npu_swiglu_quant", "with static quantization (quant_mode 0)")
    require(smooth_scales is None or smooth_scales.dim() == 1, "npu_swiglu_quant", "with smooth_scales of groups")
    left, right = x.float().chunk(2, -1)
    gate, value = (left, right) if activate_left else (right, left)
    return quantize_rows(functional.silu(gate) * value, smooth_scales)
