"""Convolutions, poolings, resizes, rotary embedding, attention, triangular systems and quantized weights against NumPy."""

import itertools
from typing import Any, List, Sequence

import numpy as np
import pytest

from operators import Failed, Tensor, expect, prepare, run

LAYOUTS = ("dense", "strided")
HALVES = ("f32", "f16", "bf16")


def uniform(*shape: int) -> np.ndarray:
    return np.random.uniform(-1, 1, shape)


def convolve(x: np.ndarray, w: np.ndarray, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], groups: int) -> np.ndarray:
    """A convolution by its definition, in any number of dimensions."""
    spatial = x.ndim - 2
    padded = np.pad(x, [(0, 0), (0, 0)] + [(p, p) for p in padding])
    size = [(padded.shape[2 + i] - dilation[i] * (w.shape[2 + i] - 1) - 1) // stride[i] + 1 for i in range(spatial)]
    out = np.zeros([x.shape[0], w.shape[0]] + size)
    per = w.shape[0] // groups
    for place in itertools.product(*map(range, size)):
        window = padded[(slice(None), slice(None)) + tuple(
            slice(place[i] * stride[i], place[i] * stride[i] + dilation[i] * (w.shape[2 + i] - 1) + 1, dilation[i]) for i in range(spatial))]
        for group in range(groups):
            part = window[:, group * w.shape[1]:(group + 1) * w.shape[1]]
            kernel = w[group * per:(group + 1) * per]
            out[(slice(None), slice(group * per, (group + 1) * per)) + place] = np.tensordot(
                part, kernel, (list(range(1, x.ndim)), list(range(1, x.ndim))))
    return out


@pytest.mark.parametrize("kind", HALVES)
def test_convolutions(kind: str) -> None:
    cases: List[Any] = [
        ((2, 4, 9), (6, 4, 3), [2], [1], [1], 1), ((2, 4, 7, 8), (6, 2, 3, 2), [1, 2], [1, 0], [2, 1], 2),
        ((1, 3, 5, 4, 6), (2, 3, 2, 2, 3), [1, 1, 2], [0, 1, 1], [1, 1, 1], 1),
    ]
    for (shape, kernel, stride, padding, dilation, groups), layout in itertools.product(cases, LAYOUTS):
        x, w, b = Tensor(uniform(*shape), kind, layout), Tensor(uniform(*kernel), kind, layout), Tensor(uniform(kernel[0]), kind)
        reference = convolve(x.input(), w.input(), stride, padding, dilation, groups)
        reference += b.input().reshape([1, -1] + [1] * (len(shape) - 2))
        out = Tensor(np.zeros(reference.shape), kind, layout)
        run("Convolution", x, w, b, stride, padding, dilation, False, [0] * len(stride), groups, out, 0)
        expect(out, reference, scale=4)
        for tensor in (x, w, b, out):
            tensor.release()
    # Transposed: the gradient of a convolution, by its definition.
    x, w = Tensor(uniform(2, 4, 5), kind), Tensor(uniform(4, 3, 3), kind)
    full = np.zeros((2, 3, 11))
    for i in range(5):
        full[:, :, 2 * i:2 * i + 3] += np.einsum("nc,cok->nok", x.input()[:, :, i], w.input())
    out = Tensor(np.zeros((2, 3, 9)), kind)
    run("Convolution", x, w, None, [2], [1], [1], True, [0], 1, out, 0)
    expect(out, full[:, :, 1:-1], scale=4)


def test_pools_and_resizes() -> None:
    for kind, layout in itertools.product(HALVES, LAYOUTS):
        x = Tensor(uniform(2, 3, 6, 8), kind, layout)
        a = x.input()
        blocks = a.reshape(2, 3, 3, 2, 4, 2)
        out = Tensor(np.zeros((2, 3, 3, 4)), kind, layout)
        run("AvgPool2d", x, [2], [], [0], False, True, 0, 0, out)
        expect(out, blocks.mean((3, 5)))
        run("MaxPool", x, [2, 2], [2, 2], 0, [0, 0], [1], 0, out)
        expect(out, blocks.max((3, 5)))
        for counts in (True, False):
            wide = Tensor(np.zeros((2, 3, 4, 5)), kind, layout)
            run("AvgPool2d", x, [2], [2], [1], False, counts, 0, 0, wide)
            padded = np.pad(a, ((0, 0), (0, 0), (1, 1), (1, 1)))
            ones = np.pad(np.ones_like(a), ((0, 0), (0, 0), (1, 1), (1, 1)))
            sums, counted = (v.reshape(2, 3, 4, 2, 5, 2).sum((3, 5)) for v in (padded, ones))
            expect(wide, sums / (4 if counts else counted))
            wide.release()
        columns = Tensor(np.zeros((2, 12, 35)), kind, layout)
        run("Im2col", x, [2, 2], [1, 1], [0, 0], [1, 1], columns)
        windows = np.lib.stride_tricks.sliding_window_view(a, (2, 2), (2, 3))
        expect(columns, windows.transpose(0, 1, 4, 5, 2, 3).reshape(2, 12, 35))
        large = Tensor(np.zeros((2, 3, 12, 24)), kind, layout)
        run("UpsampleNearest2d", x, [12, 24], large)
        expect(large, a.repeat(2, 2).repeat(3, 3))
        for tensor in (x, out, columns, large):
            tensor.release()


def test_rotary_embedding() -> None:
    for kind, layout in itertools.product(HALVES, LAYOUTS):
        x, cos, sin = Tensor(uniform(2, 5, 3, 8), kind, layout), Tensor(uniform(1, 5, 1, 8), kind, layout), Tensor(uniform(1, 5, 1, 8), kind)
        a, c, s = x.input(), cos.input(), sin.input()
        out = Tensor(np.zeros(a.shape), kind, layout)
        run("RotaryPositionEmbedding", x, cos, sin, 0, out)
        expect(out, a * c + np.concatenate([-a[..., 4:], a[..., :4]], -1) * s, scale=2)
        run("RotaryPositionEmbedding", x, cos, sin, 1, out)
        expect(out, a * c + np.stack([-a[..., 1::2], a[..., ::2]], -1).reshape(a.shape) * s, scale=2)


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float, bias: Any) -> np.ndarray:
    """Heads first: (batch, heads, rows, width)."""
    repeat = q.shape[1] // k.shape[1]
    k, v = k.repeat(repeat, 1), v.repeat(repeat, 1)
    scores = scale * q @ k.swapaxes(-1, -2) + bias
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    return scores / scores.sum(-1, keepdims=True) @ v


def fused(q: Tensor, k: Tensor, v: Tensor, out: Tensor, heads: int, kv_heads: int, layout: str, bias: Any = None,
          mask: Any = None, lengths: Any = None, table: Any = None, block: int = 0, sparse: int = 0) -> None:
    run("FusedInferAttentionScoreV2", q, [k], [v], bias, mask, None, lengths, None, None, None, None, None, None, None, table,
        None, None, None, None, None, None, None, None, None, heads, 0.5, 65535, 65535, layout, kv_heads, sparse, 0, block, 0,
        False, 0, 0, out, None)


def test_attention() -> None:
    for kind in ("f16", "bf16"):
        q, k, v = Tensor(uniform(2, 4, 6, 8), kind, "strided"), Tensor(uniform(2, 7, 2, 8), kind), Tensor(uniform(2, 7, 2, 8), kind, "strided")
        q = Tensor(q.input().transpose(0, 2, 1, 3), kind, "strided")
        a, b, c = (t.input().transpose(0, 2, 1, 3) for t in (q, k, v))
        bias, out = Tensor(uniform(1, 4, 6, 7), kind), Tensor(np.zeros((2, 6, 4, 8)), kind, "strided")
        fused(q, k, v, out, 4, 2, "BSND", bias)
        expect(out, attention(a, b, c, 0.5, bias.input()).transpose(0, 2, 1, 3), scale=2)
        hidden = np.random.randint(0, 2, (6, 7)).astype(bool)
        hidden[:, 0] = False
        fused(q, k, v, out, 4, 2, "BSND", None, Tensor(hidden, "bool"))
        expect(out, attention(a, b, c, 0.5, np.where(hidden, -np.inf, 0)).transpose(0, 2, 1, 3), scale=2)
        fused(q, k, v, out, 4, 2, "BSND", None, Tensor(np.ones((8, 8)), "bool"), sparse=3)
        causal = np.where(np.arange(7)[None] > np.arange(6)[:, None] + 1, -np.inf, 0)
        expect(out, attention(a, b, c, 0.5, causal).transpose(0, 2, 1, 3), scale=2)
        fused(q, k, v, out, 4, 2, "BSND", lengths=[3, 7])
        short = attention(a[:1], b[:1, :, :3], c[:1, :, :3], 0.5, 0)
        expect(out, np.concatenate([short, attention(a[1:], b[1:], c[1:], 0.5, 0)]).transpose(0, 2, 1, 3), scale=2)
        # Blocks of 4 rows, in any order.
        blocks = np.random.permutation(6)[:4].reshape(2, 2)
        cache = [uniform(6, 4, 16) for _ in range(2)]
        one, other = (Tensor(values, kind) for values in cache)
        fused(q, one, other, out, 4, 2, "BSND", lengths=[5, 7], table=Tensor(blocks, "i32"), block=4)
        expected = []
        for at, length in enumerate((5, 7)):
            rows = [t.input()[blocks[at]].reshape(8, 2, 8)[:length].transpose(1, 0, 2)[None] for t in (one, other)]
            expected.append(attention(a[at:at + 1], rows[0], rows[1], 0.5, 0))
        expect(out, np.concatenate(expected).transpose(0, 2, 1, 3), scale=2)


def test_attention_of_prompts_and_tokens() -> None:
    """The other entries of the same engine, in all layouts of the heads."""
    for kind, layout in itertools.product(("f16", "bf16"), LAYOUTS):
        q, k, v = (uniform(2, *s) for s in ((6, 4, 8), (7, 2, 8), (7, 2, 8)))
        for order in ("BSND", "BNSD", "BSH"):
            def arranged(a: np.ndarray, order: str = order) -> np.ndarray:
                return {"BSND": a, "BNSD": a.transpose(0, 2, 1, 3), "BSH": a.reshape(2, a.shape[1], -1)}[order]

            query, key, value = (Tensor(arranged(a), kind, layout) for a in (q, k, v))
            rounded = [Tensor(a, kind).input().transpose(0, 2, 1, 3) for a in (q, k, v)]
            out = Tensor(np.zeros(arranged(q).shape), kind, layout)
            run("PromptFlashAttentionV3", query, key, value, None, None, None, None, None, None, None, None, None,
                4, 0.5, 65535, 65535, order, 2, 0, 0, out)
            reference = arranged(attention(*rounded, 0.5, 0).transpose(0, 2, 1, 3))
            expect(out, reference, scale=2, what=f"Prompt {kind} {order}")
            run("FusedInferAttentionScoreV3", query, [key], [value], *[None] * 24, 4, 0.5, 65535, 65535, order, 2, 0, 0, 0, 0,
                False, 0, 0, out, None)
            expect(out, reference, scale=2, what=f"Fused {kind} {order}")
            token = Tensor(arranged(q[:, :1]), kind, layout)
            out = Tensor(np.zeros(arranged(q[:, :1]).shape), kind, layout)
            lengths = [3, 7]
            run("IncreFlashAttentionV4", token, [key], [value], None, None, lengths, *[None] * 9, 4, 0.5, order, 2, 0, 0, out)
            parts = [attention(rounded[0][at:at + 1, :, :1], *(a[at:at + 1, :, :lengths[at]] for a in rounded[1:]), 0.5, 0) for at in range(2)]
            expect(out, arranged(np.concatenate(parts).transpose(0, 2, 1, 3)), scale=2, what=f"Incre {kind} {order}")


def test_triangular_systems() -> None:
    for upper, transpose, unit in itertools.product((False, True), repeat=3):
        a = uniform(2, 5, 5) + 3 * np.eye(5)
        matrix, right = Tensor(a, "f32", "strided"), Tensor(uniform(2, 5, 3), "f32")
        x, copy = Tensor(np.zeros((2, 5, 3)), "f32"), Tensor(np.zeros((2, 5, 5)), "f32")
        run("TriangularSolve", right, matrix, upper, transpose, unit, x, copy)
        triangle = np.triu(matrix.input()) if upper else np.tril(matrix.input())
        expect(copy, triangle)
        if unit:
            triangle = triangle * (1 - np.eye(5)) + np.eye(5)
        expect(x, np.linalg.solve(triangle.swapaxes(1, 2) if transpose else triangle, right.input()), scale=10)


def test_quantized_weights() -> None:
    x, w = Tensor(uniform(3, 96), "f16"), Tensor(np.random.randint(-127, 128, (96, 5)), "i8", "strided")
    scale, bias = Tensor(uniform(3, 5) * 0.01, "f16"), Tensor(uniform(5), "f16")
    y = Tensor(np.zeros((3, 5)), "f16")
    run("WeightQuantBatchMatmulV2", x, w, scale, None, None, None, bias, 32, y)
    expect(y, x.input() @ (w.input() * scale.input().repeat(32, 0)) + bias.input(), scale=3)
    with pytest.raises(Failed) as failed:
        prepare("WeightQuantBatchMatmulV2", x, w, scale, None, None, None, None, 33, y)
    assert failed.value.code == 161002 and "33" in failed.value.message


def test_missing_operators_are_refused_by_name() -> None:
    with pytest.raises(Failed) as failed:
        prepare("Sleep", 1)
    assert failed.value.code == 361001 and "aclnnSleep" in failed.value.message and "docs/aclnn.md" in failed.value.message
