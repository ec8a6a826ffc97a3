"""Operators of PyTorch itself that have no CPU kernel because the CPU does without them."""

from typing import Any, List, Optional, Tuple

import torch
from torch import Tensor

from softacl.torch.registration import reference


@reference("aten::_thnn_fused_lstm_cell")
def lstm_cell(
    input_gates: Tensor, hidden_gates: Tensor, cx: Tensor, input_bias: Optional[Tensor], hidden_bias: Optional[Tensor]
) -> Tuple[Tensor, Tensor, Tensor]:
    gates = input_gates + hidden_gates
    for bias in (input_bias, hidden_bias):
        if bias is not None:
            gates = gates + bias
    input_gate, forget_gate, cell_gate, output_gate = gates.chunk(4, 1)
    cell = torch.sigmoid(forget_gate) * cx + torch.sigmoid(input_gate) * torch.tanh(cell_gate)
    return torch.sigmoid(output_gate) * torch.tanh(cell), cell, gates


@reference("aten::_thnn_fused_gru_cell")
def gru_cell(
    input_gates: Tensor, hidden_gates: Tensor, hx: Tensor, input_bias: Optional[Tensor], hidden_bias: Optional[Tensor]
) -> Tuple[Tensor, Tensor]:
    if input_bias is not None:
        input_gates = input_gates + input_bias
    if hidden_bias is not None:
        hidden_gates = hidden_gates + hidden_bias
    input_reset, input_update, input_new = input_gates.chunk(3, 1)
    hidden_reset, hidden_update, hidden_new = hidden_gates.chunk(3, 1)
    reset = torch.sigmoid(input_reset + hidden_reset)
    update = torch.sigmoid(input_update + hidden_update)
    new = torch.tanh(input_new + reset * hidden_new)
    return (hx - new) * update + new, torch.cat([reset, update, new, hx, hidden_new], 1)


@reference("aten::_masked_scale")
def masked_scale(self: Tensor, mask: Tensor, scale: float) -> Tensor:
    return self * mask * scale


@reference("aten::mm.dtype")
def mm_to(self: Tensor, mat2: Tensor, out_dtype: Any) -> Tensor:
    return torch.mm(self.to(out_dtype), mat2.to(out_dtype))


@reference("aten::bmm.dtype")
def bmm_to(self: Tensor, mat2: Tensor, out_dtype: Any) -> Tensor:
    return torch.bmm(self.to(out_dtype), mat2.to(out_dtype))


@reference("aten::addmm.dtype")
def addmm_to(self: Tensor, mat1: Tensor, mat2: Tensor, out_dtype: Any, beta: float, alpha: float) -> Tensor:
    return torch.addmm(self.to(out_dtype), mat1.to(out_dtype), mat2.to(out_dtype), beta=beta, alpha=alpha)


@reference("aten::_conv_depthwise2d")
def conv_depthwise2d(
    self: Tensor,
    weight: Tensor,
    kernel_size: List[int],
    bias: Optional[Tensor],
    stride: List[int],
    padding: List[int],
    dilation: List[int],
) -> Tensor:
    return torch.conv2d(self, weight, bias, stride, padding, dilation, groups=self.size(1))
