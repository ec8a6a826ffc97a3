"""Products, reductions, rows, normalizations, moves and indices against NumPy in float64."""

import itertools
import random
from typing import Any, Callable, Dict

import numpy as np
import pytest

from operators import FLOATS, OPERATORS, Scalar, Tensor, expect, run

LAYOUTS = ("dense", "strided")
HALVES = ("f32", "f16", "bf16")


def uniform(*shape: int) -> np.ndarray:
    return np.random.uniform(-2, 2, shape)


@pytest.mark.parametrize("name,shapes", [
    ("Mm", [((5, 7), (7, 3)), ((130, 70), (70, 90)), ((0, 4), (4, 3)), ((3, 0), (0, 2))]),
    ("BatchMatMul", [((4, 5, 7), (4, 7, 3)), ((1, 5, 7), (4, 7, 3))]),
    ("Matmul", [((7,), (7,)), ((5, 7), (7,)), ((7,), (7, 3)), ((2, 1, 5, 7), (3, 7, 2)), ((300, 200), (200, 250))]),
    ("Mv", [((5, 7), (7,))]),
])
def test_products(name: str, shapes: Any) -> None:
    for (left, right), kind, layout in itertools.product(shapes, HALVES, LAYOUTS):
        other = random.choice(HALVES)
        x, y = Tensor(uniform(*left), kind, layout), Tensor(uniform(*right), other, layout)
        reference = np.matmul(x.input(), y.input())
        out = Tensor(np.zeros(reference.shape), kind, layout)
        run(name, x, y, out, 0)
        expect(out, reference, scale=4, what=f"{name} {left} {right} {kind} {other} {layout}")
        for tensor in (x, y, out):
            tensor.release()


def test_products_with_a_base() -> None:
    a, b, c = Tensor(uniform(5, 7), "f32", "strided"), Tensor(uniform(7, 3), "f32"), Tensor(uniform(3), "f32")
    out = Tensor(np.zeros((5, 3)), "f32", "strided")
    run("Addmm", c, a, b, Scalar(2.0, "f32"), Scalar(0.5, "f32"), out, 0)
    expect(out, 2 * c.input() + 0.5 * (a.input() @ b.input()))
    run("Gemm", b, a, Tensor(uniform(5), "f32"), 1.0, 0.0, 1, 1, (out2 := Tensor(np.zeros((3, 5)), "f32")), 0)
    expect(out2, b.input().T @ a.input().T)
    vec = Tensor(uniform(7), "f32")
    run("Addmv", Tensor(uniform(5), "f32"), a, vec, Scalar(1.0, "f32"), Scalar(0.0, "f32"), (out3 := Tensor(np.zeros(5), "f32")), 0)
    expect(out3, a.input() @ vec.input())


REDUCTIONS: Dict[str, Callable[..., Any]] = {
    "ReduceSum": np.sum, "Mean": np.mean, "Amax": np.max, "Amin": np.min, "All": np.all, "Any": np.any,
}


@pytest.mark.parametrize("name", sorted(REDUCTIONS))
def test_reductions(name: str) -> None:
    for kind, layout, dims, keep in itertools.product(
            OPERATORS[name].types_of("self"), LAYOUTS, ([0], [-1], [0, 2], []), (False, True)):
        if kind.startswith("c") or name in ("All", "Any") and kind not in ("bool", "f32", "i32", "u8"):
            continue
        if name == "Mean" and kind not in FLOATS:
            continue
        x = Tensor(uniform(5, 4, 6) if kind in FLOATS else np.random.randint(0, 4, (5, 4, 6)), kind, layout)
        a = x.input() if kind in FLOATS + ("bool",) else x.input().astype(np.int64)
        axes = tuple(dims) or None
        reference = REDUCTIONS[name](a, axis=axes, keepdims=keep)
        out = Tensor(np.zeros(np.shape(reference)), "bool" if name in ("All", "Any") else kind, layout)
        if name in ("ReduceSum", "Mean"):
            run(name, x, dims, keep, kind, out)
        else:
            run(name, x, dims, keep, out)
        expect(out, reference, what=f"{name} {kind} {layout} {dims} {keep}")
        x.release()
        out.release()


def test_more_reductions() -> None:
    for kind, layout in itertools.product(HALVES, LAYOUTS):
        x = Tensor(uniform(6, 5, 7), kind, layout)
        a = x.input()
        for p in (2.0, 1.0, float("inf"), 3.0):
            out = Tensor(np.zeros((6, 1, 7)), kind, layout)
            run("Norm", x, Scalar(p, "f32"), [1], True, out)
            expect(out, np.linalg.norm(a, ord=p, axis=1, keepdims=True), what=f"Norm {p}")
            out.release()
        out, index = Tensor(np.zeros((6, 7)), kind, layout), Tensor(np.zeros((6, 7)), "i64", layout)
        run("MaxDim", x, 1, False, out, index)
        expect(out, a.max(axis=1))
        expect(index, a.argmax(axis=1))
        for name, reference in (("Std", a.std(axis=1, ddof=1)), ("VarCorrection", a.var(axis=1, ddof=1))):
            run(name, x, [1], 1, False, out)
            expect(out, reference, what=name)
        run("LogSumExp", x, [1], False, out)
        expect(out, np.log(np.exp(a).sum(axis=1)))
        for tensor in (x, out, index):
            tensor.release()
    empty, out = Tensor(np.zeros((0, 3)), "f32"), Tensor(np.ones(3), "f32")
    run("ReduceSum", empty, [0], False, "f32", out)
    expect(out, np.zeros(3))


def softmax(a: np.ndarray, axis: int) -> np.ndarray:
    e = np.exp(a - a.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def test_rows() -> None:
    for kind, layout, dim in itertools.product(HALVES + ("f64",), LAYOUTS, (0, 1, -1)):
        x = Tensor(uniform(6, 5, 40), kind, layout)
        a = x.input()
        out = Tensor(np.zeros(a.shape), kind, layout)
        run("Softmax", x, dim, out)
        expect(out, softmax(a, dim))
        run("LogSoftmax", x, dim, out)
        expect(out, np.log(softmax(a, dim)))
        run("Cumsum", x, dim, kind, out)
        expect(out, np.cumsum(a, axis=dim), scale=4)
        if kind != "f64":
            index = Tensor(np.zeros(a.shape), "i64", layout)
            run("Argsort", x, dim, False, index)
            expect(index, np.argsort(a, axis=dim, kind="stable"))
            run("Sort", x, True, dim, True, out, index)
            expect(out, -np.sort(-a, axis=dim))
            index.release()
        best = Tensor(np.zeros(np.max(a, axis=dim).shape), "i64", layout)
        run("ArgMax", x, dim, False, best)
        expect(best, a.argmax(axis=dim))
        for tensor in (x, out, best):
            tensor.release()
    x, values, index = Tensor(uniform(4, 9), "f32"), Tensor(np.zeros((4, 3)), "f32"), Tensor(np.zeros((4, 3)), "i64")
    run("Topk", x, 3, 1, True, True, values, index)
    expect(values, -np.sort(-x.input(), axis=1)[:, :3])
    features, labels = Tensor(uniform(5, 8), "f32"), Tensor(softmax(uniform(5, 8), 1), "f32")
    loss, gradient = Tensor(np.zeros(5), "f32"), Tensor(np.zeros((5, 8)), "f32")
    run("SoftmaxCrossEntropyWithLogits", features, labels, loss, gradient)
    s = softmax(features.input(), 1)
    expect(loss, -(labels.input() * np.log(s)).sum(axis=1))
    expect(gradient, s - labels.input())


def test_norms() -> None:
    for kind, layout in itertools.product(HALVES, LAYOUTS):
        x, y, gamma, beta = (Tensor(uniform(*s), kind, layout) for s in ((3, 4, 32), (3, 4, 32), (32,), (32,)))
        a, b, g = x.input(), y.input(), gamma.input()
        out, rstd, total = Tensor(np.zeros(a.shape), kind, layout), Tensor(np.zeros((3, 4, 1)), "f32"), Tensor(np.zeros(a.shape), kind)
        inverse = 1 / np.sqrt((a**2).mean(-1, keepdims=True) + 1e-6)
        run("RmsNorm", x, gamma, 1e-6, out, rstd)
        expect(out, a * inverse * g, scale=2)
        expect(rstd, inverse)
        run("AddRmsNorm", x, y, gamma, 1e-6, out, rstd, total)
        expect(total, a + b)
        s = total.read()
        expect(out, s / np.sqrt((s**2).mean(-1, keepdims=True) + 1e-6) * g, scale=2)
        mean, deviation = Tensor(np.zeros((3, 4, 1)), kind), Tensor(np.zeros((3, 4, 1)), kind)
        run("LayerNorm", x, [32], gamma, beta, 1e-5, out, mean, deviation)
        m, v = a.mean(-1, keepdims=True), a.var(-1, keepdims=True)
        expect(out, (a - m) / np.sqrt(v + 1e-5) * g + beta.input(), scale=2)
        expect(mean, m, scale=2)
        for tensor in (x, y, gamma, beta, out, rstd, total, mean, deviation):
            tensor.release()
    x = Tensor(uniform(2, 6, 5), "f32", "strided")
    out, mean, deviation = Tensor(np.zeros((2, 6, 5)), "f32"), Tensor(np.zeros((2, 3)), "f32"), Tensor(np.zeros((2, 3)), "f32")
    run("GroupNorm", x, None, None, 2, 6, 5, 3, 1e-5, out, mean, deviation)
    groups = x.input().reshape(2, 3, 10)
    normal = (groups - groups.mean(-1, keepdims=True)) / np.sqrt(groups.var(-1, keepdims=True) + 1e-5)
    expect(out, normal.reshape(2, 6, 5))


def test_gates() -> None:
    for kind, layout, dim in itertools.product(HALVES, LAYOUTS, (0, -1)):
        x = Tensor(uniform(6, 5, 8), kind, layout)
        first, second = np.split(x.input(), 2, axis=dim)
        out, other = Tensor(np.zeros(first.shape), kind, layout), Tensor(np.zeros(first.shape), kind, layout)
        run("SwiGlu", x, dim, out)
        expect(out, first / (1 + np.exp(-first)) * second)
        run("Glu", x, dim, out)
        expect(out, first / (1 + np.exp(-second)))
        run("GeGluV3", x, dim, 1, True, out, other)
        gelu = 0.5 * first * (1 + np.tanh(np.sqrt(2 / np.pi) * (first + 0.044715 * first**3)))
        expect(out, gelu * second)
        expect(other, gelu)
        for tensor in (x, out, other):
            tensor.release()


def test_moves() -> None:
    for kind, layout in itertools.product(("f32", "f16", "i8", "i64", "bool"), LAYOUTS):
        x = Tensor(np.random.randint(0, 2, (3, 4, 5)) if kind == "bool" else np.random.randint(0, 50, (3, 4, 5)), kind, layout)
        a = x.input()
        value = Scalar(1, "i32")
        cases = [
            ("Permute", ([2, 0, 1],), a.transpose(2, 0, 1)), ("Repeat", ([2, 1, 3, 2],), np.tile(a, (2, 1, 3, 2))),
            ("Slice", (1, 1, -1, 2), a[:, 1:-1:2]), ("Slice", (2, -3, 99, 1), a[:, :, -3:]), ("Slice", (0, 2, 1, 1), a[2:1]),
            ("SliceV2", ([1, 0], [3, 4], [0, 2], [1, 2]), a[1:3, :, 0:4:2]),
            ("Roll", ([1, -2], [0, 2]), np.roll(a, (1, -2), (0, 2))), ("Tril", (1,), np.tril(a, 1)), ("Triu", (-1,), np.triu(a, -1)),
            ("ConstantPadNd", ([1, 2, 0, -1], value), np.pad(a, ((0, 0), (0, 0), (1, 2)), constant_values=1)[:, :-1]),
            ("ReflectionPad1d", ([2, 3],), np.pad(a, ((0, 0), (0, 0), (2, 3)), "reflect")),
            ("RepeatInterleaveIntWithDim", (2, 1, 8), np.repeat(a, 2, axis=1)),
        ]
        for name, arguments, reference in cases:
            if kind not in (OPERATORS[name].types_of("self") or [kind]) and kind not in OPERATORS[name].types_of("x"):
                continue
            out = Tensor(np.zeros(reference.shape), kind, layout)
            run(name, x, *arguments, out)
            expect(out, reference, what=f"{name} {kind} {layout} {arguments}")
            out.release()
        out = Tensor(np.zeros((3, 9, 5)), kind, layout)
        y = Tensor(a, kind, layout)
        z = Tensor(a[:, :1], kind)
        run("Cat", [x, y, z], 1, out)
        expect(out, np.concatenate([a, a, a[:, :1]], 1))
    x, y = Tensor(uniform(4, 1), "f16", "strided"), Tensor(np.zeros((2, 4, 5)), "f32", "strided")
    run("InplaceCopy", y, x)
    expect(y, np.broadcast_to(x.input(), (2, 4, 5)))
    out = Tensor(np.zeros(7), "f32")
    run("Arange", Scalar(1, "i64"), Scalar(8, "i64"), Scalar(1, "i64"), out)
    expect(out, np.arange(1.0, 8))


def test_indices() -> None:
    for kind, index_kind, layout in itertools.product(("f32", "f16", "i8", "i64"), ("i32", "i64"), LAYOUTS):
        x, index = Tensor(np.random.randint(0, 50, (5, 6, 4)), kind, layout), Tensor(np.array([2, 0, 5, 2]), index_kind, layout)
        a, i = x.input(), index.input()
        out = Tensor(np.zeros((5, 4, 4)), kind, layout)
        run("IndexSelect", x, 1, index, out)
        expect(out, a[:, i])
        matrix = Tensor(np.array([[1, 0, 2], [4, 4, 3]]), index_kind, layout)
        wide = Tensor(np.zeros((2, 3, 6, 4)), kind, layout)
        run("GatherV2", x, 0, matrix, wide)
        expect(wide, a[matrix.input()])
        target, source = Tensor(np.zeros((5, 6, 4)), kind, layout), Tensor(np.random.randint(0, 9, (5, 3, 4)), kind, layout)
        rows = Tensor(np.array([4, 0, 3]), index_kind)
        run("InplaceIndexCopy", target, 1, rows, source)
        reference = np.zeros((5, 6, 4))
        reference[:, [4, 0, 3]] = source.input()
        expect(target, reference)
        for tensor in (x, index, out, matrix, wide, target, source, rows):
            tensor.release()
    x, index = Tensor(uniform(4, 5), "f32"), Tensor(np.random.randint(0, 4, (2, 5)), "i64")
    out = Tensor(np.zeros((2, 5)), "f32")
    run("Gather", x, 0, index, out)
    expect(out, np.take_along_axis(x.input(), index.input(), 0))
    source, out = Tensor(uniform(2, 5), "f32"), Tensor(np.zeros((4, 5)), "f32")
    run("ScatterAdd", x, 0, index, source, out)
    reference = x.input().copy()
    np.add.at(reference, (index.input(), np.arange(5)[None].repeat(2, 0)), source.input())
    expect(out, reference)
    x = Tensor(uniform(4, 5), "f32")
    run("InplaceIndexFillTensor", x, 1, [0, 3], Scalar(9.0, "f32"))
    reference = x.input().copy()
    reference[:, [0, 3]] = 9
    expect(x, reference)
