"""Types and layouts of memory.

A tensor stays in the plain format ND whatever format is requested: the tiled formats of the chip hold the same values in
another order, which only the chip's own kernels see.
"""

from typing import Any, List

from torch import Tensor

import torch
from softacl.torch.references.quantization import type_of
from softacl.torch.registration import reference


@reference("npu_format_cast")
@reference("_npu_format_cast")
def npu_format_cast(input: Tensor, acl_format: int) -> Tensor:
    return input.clone()


@reference("npu_format_cast_.acl_format")
def npu_format_cast_in_place(input: Tensor, acl_format: int) -> Tensor:
    return input


@reference("npu_dtype_cast")
def npu_dtype_cast(input: Tensor, dtype: Any) -> Tensor:
    return input.to(type_of(dtype, None, "npu_dtype_cast"))


@reference("_npu_dtype_cast")
def npu_dtype_cast_to(input: Tensor, dtype: Any) -> Tensor:
    return input.to(type_of(dtype, None, "_npu_dtype_cast"))


@reference("npu_transpose")
def npu_transpose(input: Tensor, perm: List[int], require_contiguous: bool) -> Tensor:
    result = input.permute(perm)
    return result.contiguous() if require_contiguous else result.clone()


@reference("npu_one_hot")
def npu_one_hot(input: Tensor, depth: int, on_value: float, off_value: float) -> Tensor:
    classes = torch.arange(depth, device=input.device)
    is_on = input[..., None] == classes
    return torch.where(is_on, float(on_value), float(off_value)).float()
