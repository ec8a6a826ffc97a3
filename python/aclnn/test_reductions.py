"""Reductions, running extremes and products with a base, against NumPy in float64."""

import itertools
from typing import Any, Callable, Dict

import numpy as np
import pytest

from operators import COMPLEX, FLOATS, OPERATORS, Failed, Scalar, Tensor, expect, prepare, run
from test_elementwise import sample
from test_inplace import wide

LAYOUTS = ("dense", "strided")
HALVES = ("f32", "f16", "bf16")
EXTREMES: Dict[str, Callable[..., Any]] = {"Max": np.max, "Min": np.min}


@pytest.mark.parametrize("name", sorted(EXTREMES))
def test_extremes(name: str) -> None:
    for kind, layout in itertools.product([k for k in OPERATORS[name].types_of("self") if k not in COMPLEX], LAYOUTS):
        x, out = Tensor(sample(kind, (5, 4, 6), special=False), kind, layout), Tensor(np.array(0), kind)
        run(name, x, out)
        expect(out, EXTREMES[name](x.input()), what=f"{name} {kind} {layout}")
        for dim, keep in itertools.product((0, -1), (False, True)):
            if kind not in OPERATORS[name + "Dim"].types_of("self"):
                continue
            values = EXTREMES[name](x.input(), axis=dim, keepdims=keep)
            out, index = Tensor(np.zeros(values.shape), kind, layout), Tensor(np.zeros(values.shape), "i32", layout)
            run(name + "Dim", x, dim, keep, out, index)
            expect(out, values, what=f"{name}Dim {kind} {layout} {dim} {keep}")
            arg = np.argmax if name == "Max" else np.argmin
            expect(index, arg(x.input(), axis=dim, keepdims=keep), what=f"{name}Dim {kind} {layout} {dim} {keep}")
            if kind in OPERATORS["Arg" + name].types_of("self"):
                index = Tensor(np.zeros(values.shape), "i64", layout)
                run("Arg" + name, x, dim, keep, index)
                expect(index, arg(x.input(), axis=dim, keepdims=keep), what=f"Arg{name} {kind}")
    x, out, index = Tensor(np.array([[1.0, np.nan, 3.0]]), "f32"), Tensor(np.zeros(1), "f32"), Tensor(np.zeros(1), "i32")
    run(name + "Dim", x, 1, False, out, index)
    expect(out, np.array([np.nan]))
    expect(index, np.array([1]))
    with pytest.raises(Failed) as failed:
        prepare(name, Tensor(np.zeros((0, 3)), "f32"), Tensor(np.array(0.0), "f32"))
    assert failed.value.code == 161002


def test_products_of_elements() -> None:
    for kind, layout in itertools.product([k for k in OPERATORS["Prod"].types_of("self") if k not in COMPLEX], LAYOUTS):
        x = Tensor(np.random.uniform(0.5, 1.5, (4, 3)) if kind in FLOATS else np.random.randint(0, 3, (4, 3)), kind, layout)
        out_kind = "i64" if kind == "bool" else kind
        a, out = wide(x.input(), kind), Tensor(np.array(0), out_kind)
        run("Prod", x, out_kind, out)
        expect(out, np.prod(a), what=f"{kind} {layout}")
        if kind not in OPERATORS["ProdDim"].types_of("self"):
            continue
        for dim, keep in itertools.product((0, -1), (False, True)):
            reference = np.prod(a, axis=dim, keepdims=keep)
            out = Tensor(np.zeros(reference.shape), out_kind, layout)
            run("ProdDim", x, dim, keep, out_kind, out)
            expect(out, reference, what=f"ProdDim {kind} {layout} {dim}")
    empty, out = Tensor(np.zeros((0, 3)), "f32"), Tensor(np.zeros(3), "f32")
    run("ProdDim", empty, 0, False, "f32", out)
    expect(out, np.ones(3))


def test_statistics() -> None:
    for kind, layout, keep in itertools.product(HALVES, LAYOUTS, (False, True)):
        x = Tensor(np.random.uniform(-2, 2, (6, 5, 7)), kind, layout)
        a = x.input()
        for dims, correction in (([1], 1), ([0, 2], 0), (None, 1)):
            axes = None if dims is None else tuple(dims)
            mean, deviation = a.mean(axis=axes, keepdims=keep), a.std(axis=axes, ddof=correction, keepdims=keep)
            one, other = (Tensor(np.zeros(np.shape(mean)), kind, layout) for _ in range(2))
            run("StdMeanCorrection", x, dims, correction, keep, one, other)
            expect(one, deviation, what=f"{kind} {dims}")
            expect(other, mean, what=f"{kind} {dims}")
            run("VarMean", x, dims, correction, keep, one, other)
            expect(one, deviation**2, what=f"{kind} {dims}")
            expect(other, mean, what=f"{kind} {dims}")
        out = Tensor(np.zeros(a.sum(1, keepdims=keep).shape), kind, layout)
        for order in (0.0, 1.0, 2.0, 3.5, np.inf, -np.inf):
            run("LinalgVectorNorm", x, Scalar(order, "f32"), [1], keep, kind, out)
            expect(out, np.linalg.norm(a, ord=order, axis=1, keepdims=keep), scale=2, what=f"{order}")
        values = np.where(np.random.rand(6, 5, 7) < 0.2, np.nan, a)
        x = Tensor(values, kind, layout)
        run("ReduceNansum", x, [1], keep, kind, out)
        expect(out, np.nansum(x.input(), axis=1, keepdims=keep), scale=2)


def test_running_extremes_and_sums() -> None:
    for kind, layout, dim in itertools.product(("f32", "f16", "i32", "u8"), LAYOUTS, (0, -1)):
        x = Tensor(sample(kind, (6, 9), special=False), kind, layout)
        a = x.input()
        for name, accumulate in (("Cummax", np.maximum), ("Cummin", np.minimum)):
            values, index = Tensor(np.zeros((6, 9)), kind, layout), Tensor(np.zeros((6, 9)), "i64", layout)
            run(name, x, dim, values, index)
            reference = accumulate.accumulate(a, axis=dim)
            expect(values, reference, what=f"{name} {kind} {layout}")
            # Which of equal elements is named is free; that it holds the value is not.
            assert (np.take_along_axis(a, index.read(), dim) == reference).all()
        for exclusive, reverse in itertools.product((False, True), repeat=2):
            flipped = np.flip(wide(a, kind), dim) if reverse else wide(a, kind)
            sums = np.cumsum(flipped, axis=dim)
            sums = sums - flipped if exclusive else sums
            out = Tensor(np.zeros((6, 9)), kind, layout)
            run("CumsumV2", x, dim, exclusive, reverse, out)
            expect(out, np.flip(sums, dim) if reverse else sums, scale=3, what=f"CumsumV2 {kind} {exclusive} {reverse}")


def test_products() -> None:
    for kind, layout in itertools.product(HALVES, LAYOUTS):
        base, one, other = (Tensor(np.random.uniform(-1, 1, s), kind, layout) for s in ((4, 1, 3), (4, 5, 7), (4, 7, 3)))
        out = Tensor(np.zeros((4, 5, 3)), kind, layout)
        run("Baddbmm", base, one, other, Scalar(2.0, "f32"), Scalar(0.5, "f32"), out, 0)
        expect(out, 2 * base.input() + 0.5 * (one.input() @ other.input()), scale=3)
        if kind in OPERATORS["BatchMatMulWeightNz"].types_of("self"):
            run("BatchMatMulWeightNz", one, other, out, 0)
            expect(out, one.input() @ other.input(), scale=3)
        vectors = [Tensor(np.random.uniform(-1, 1, 50), kind, layout) for _ in range(2)]
        out = Tensor(np.array(0.0), kind)
        run("Dot", *vectors, out)
        expect(out, vectors[0].input() @ vectors[1].input(), scale=4)
        base, one, other = (Tensor(np.random.uniform(-1, 1, s), kind, layout) for s in ((3,), (5, 7), (7, 3)))
        out = Tensor(np.zeros((5, 3)), kind, layout)
        if kind in OPERATORS["AddmmWeightNz"].types_of("mat1"):
            run("AddmmWeightNz", base, one, other, Scalar(1.0, "f32"), Scalar(1.0, "f32"), out, 0)
            expect(out, base.input() + one.input() @ other.input(), scale=3)
        run("MatmulWeightNz", one, other, out, 0)
        expect(out, one.input() @ other.input(), scale=3)
        # A prepared weight holds the numbers that it held.
        run("TransMatmulWeight", other)
        expect(other, other.input())


def test_norm_with_a_shifted_scale() -> None:
    for kind, layout in itertools.product(HALVES, LAYOUTS):
        x, gamma = Tensor(np.random.uniform(-2, 2, (3, 4, 32)), kind, layout), Tensor(np.random.uniform(-1, 1, 32), kind, layout)
        out, rstd = Tensor(np.zeros((3, 4, 32)), kind, layout), Tensor(np.zeros((3, 4)), "f32")
        run("GemmaRmsNorm", x, gamma, 1e-6, out, rstd)
        inverse = 1 / np.sqrt((x.input()**2).mean(-1, keepdims=True) + 1e-6)
        expect(out, x.input() * inverse * (1 + gamma.input()), scale=2)
        expect(rstd, inverse[..., 0])


def test_masked_softmax() -> None:
    for kind, layout in itertools.product(HALVES, LAYOUTS):
        x, mask = Tensor(np.random.uniform(-2, 2, (2, 3, 4, 8)), kind, layout), Tensor(np.random.randint(0, 2, (2, 1, 4, 8)), "bool", layout)
        out = Tensor(np.zeros((2, 3, 4, 8)), kind, layout)
        run("ScaledMaskedSoftmax", x, mask, 0.5, False, out)
        scores = np.where(mask.input(), -1e4, 0.5 * x.input())
        e = np.exp(scores - scores.max(-1, keepdims=True))
        expect(out, e / e.sum(-1, keepdims=True))
