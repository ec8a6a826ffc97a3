"""Lists of tensors, stretched and generated tensors, and elements chosen by indices, against NumPy."""

import itertools
from typing import Any

import numpy as np
import pytest

from operators import COMPLEX, FLOATS, OPERATORS, Failed, Scalar, Tensor, expect, prepare, run
from test_elementwise import sample

LAYOUTS = ("dense", "strided")


@pytest.mark.parametrize("kind", OPERATORS["Stack"].types_of("tensors"))
def test_lists(kind: str) -> None:
    for layout, dim in itertools.product(LAYOUTS, (0, 1, -1)):
        parts = [Tensor(sample(kind, (3, 4), special=False), kind, layout) for _ in range(3)]
        reference = np.stack([part.input() for part in parts], dim)
        out = Tensor(np.zeros(reference.shape), kind, layout)
        run("Stack", parts, dim, out)
        expect(out, reference, what=f"Stack {kind} {layout} {dim}")
    if kind not in OPERATORS["SplitTensor"].types_of("self"):
        return
    for layout in LAYOUTS:
        x = Tensor(sample(kind, (3, 7), special=False), kind, layout)
        outs = [Tensor(np.zeros((3, n)), kind, layout) for n in (3, 3, 1)]
        run("SplitTensor", x, 3, 1, outs)
        for out, reference in zip(outs, np.split(x.input(), [3, 6], 1)):
            expect(out, reference, what=f"SplitTensor {kind} {layout}")
        outs = [Tensor(np.zeros((3, n)), kind, layout) for n in (1, 4, 2)]
        run("SplitWithSize", x, [1, 4, 2], -1, outs)
        for out, reference in zip(outs, np.split(x.input(), [1, 5], 1)):
            expect(out, reference, what=f"SplitWithSize {kind} {layout}")


def test_a_split_must_fit() -> None:
    x = Tensor(np.zeros((3, 7)), "f32")
    with pytest.raises(Failed) as failed:
        prepare("SplitTensor", x, 3, 1, [Tensor(np.zeros((3, 3)), "f32"), Tensor(np.zeros((3, 3)), "f32")])
    assert failed.value.code == 161002
    with pytest.raises(Failed) as failed:
        prepare("SplitTensor", x, 2, 1, [Tensor(np.zeros((3, 3)), "f32"), Tensor(np.zeros((3, 4)), "f32")])
    assert failed.value.code == 161002


def test_sum_of_a_list() -> None:
    for kind, layout in itertools.product(OPERATORS["Sum"].types_of("tensors"), LAYOUTS):
        parts = [Tensor(sample(kind, (3, 4), special=False), kind, layout) for _ in range(4)]
        out = Tensor(np.zeros((3, 4)), kind, layout)
        run("Sum", parts, out)
        total: Any = sum(part.input() if kind in FLOATS else part.input().astype(np.int64) for part in parts)
        expect(out, total, scale=2, what=f"{kind} {layout}")


def test_stretched_and_repeated() -> None:
    for kind, layout in itertools.product(OPERATORS["Expand"].types_of("self"), LAYOUTS):
        x, out = Tensor(sample(kind, (4, 1), special=False), kind, layout), Tensor(np.zeros((2, 4, 5)), kind, layout)
        run("Expand", x, [2, -1, 5], out)
        expect(out, np.broadcast_to(x.input(), (2, 4, 5)), what=kind)
        if kind in OPERATORS["RepeatInterleaveInt"].types_of("self"):
            out = Tensor(np.zeros(12), kind, layout)
            run("RepeatInterleaveInt", x, 3, 12, out)
            expect(out, np.repeat(x.input(), 3), what=kind)
    empty, out = Tensor(np.zeros((0, 3)), "f32"), Tensor(np.zeros(0), "f32")
    run("RepeatInterleaveInt", empty, 3, 0, out)
    expect(out, np.zeros(0))


def test_generated() -> None:
    for kind, layout in itertools.product(OPERATORS["Eye"].types_of("out"), LAYOUTS):
        for rows, columns in ((4, 4), (3, 5), (5, 2)):
            out = Tensor(sample(kind, (rows, columns), special=False), kind, layout)
            run("Eye", rows, columns, out)
            expect(out, np.eye(rows, columns), what=kind)
    for kind, layout in itertools.product(("f32", "f64", "f16", "bf16"), LAYOUTS):
        for steps in (1, 2, 9):
            out = Tensor(np.zeros(steps), kind, layout)
            run("Linspace", Scalar(-1.5, "f32"), Scalar(2.5, "f32"), steps, out)
            expect(out, np.linspace(-1.5, 2.5, steps), what=f"{kind} {steps}")
    for kind, layout in itertools.product(("f32", "i32", "i64"), LAYOUTS):
        # The end of Range is included.
        out = Tensor(np.zeros(4), kind, layout)
        run("Range", Scalar(2, "i64"), Scalar(8, "i64"), Scalar(2, "i64"), out)
        expect(out, np.array([2, 4, 6, 8]))


def test_embedding_and_one_hot() -> None:
    for kind, index_kind, layout in itertools.product(
            [k for k in OPERATORS["Embedding"].types_of("weight") if k not in COMPLEX], ("i32", "i64"), LAYOUTS):
        weight, rows = Tensor(sample(kind, (6, 3), special=False), kind, layout), Tensor(np.random.randint(0, 6, (2, 5)), index_kind, layout)
        out = Tensor(np.zeros((2, 5, 3)), kind, layout)
        run("Embedding", weight, rows, out)
        expect(out, weight.input()[rows.input()], what=f"{kind} {index_kind} {layout}")
    for kind, axis, layout in itertools.product(("f32", "f16", "i32", "i8"), (0, 1, -1), LAYOUTS):
        classes = Tensor(np.array([[0, 3, 1], [4, 2, 2]]), "i64", layout)
        reference = np.where(np.arange(5) == classes.input()[..., None], 7, -1)
        reference = np.moveaxis(reference, -1, axis)
        out = Tensor(np.zeros(reference.shape), kind, layout)
        run("OneHot", classes, 5, Tensor(np.array([7]), kind), Tensor(np.array([-1]), kind), axis, out)
        expect(out, reference, what=f"{kind} {axis} {layout}")


def test_rows_by_index() -> None:
    for kind, layout in itertools.product(("f32", "f16", "i32", "i64"), LAYOUTS):
        x, source = Tensor(sample(kind, (5, 4), special=False), kind, layout), Tensor(sample(kind, (3, 4), special=False), kind, layout)
        index, out = Tensor(np.array([4, 0, 4]), "i64"), Tensor(np.zeros((5, 4)), kind, layout)
        run("IndexAdd", x, 0, index, source, Scalar(2, "i64" if kind not in FLOATS else "f32"), out)
        reference = x.input().copy()
        np.add.at(reference, index.input(), 2 * source.input())
        expect(out, reference, scale=2, what=f"IndexAdd {kind} {layout}")
        run("IndexFillTensor", x, 1, [0, -1], Scalar(3, "i64"), out)
        reference = x.input().copy()
        reference[:, [0, -1]] = 3
        expect(out, reference, what=f"IndexFillTensor {kind} {layout}")


@pytest.mark.parametrize("name", ["Scatter", "ScatterValue", "InplaceScatter", "InplaceScatterValue"])
def test_scatter(name: str) -> None:
    for kind, layout, reduce in itertools.product(("f32", "f16", "i32", "i64", "u8"), LAYOUTS, (0, 1, 2)):
        x, source = Tensor(sample(kind, (5, 4), special=False), kind, layout), Tensor(sample(kind, (3, 4), special=False), kind, layout)
        # Each column names a row at most once, so that the order does not matter.
        index = Tensor(np.stack([np.random.permutation(5)[:3] for _ in range(4)], 1), "i64", layout)
        a, columns = x.input().copy(), np.arange(4)[None].repeat(3, 0)
        values = np.full((3, 4), 3) if "Value" in name else source.input()
        old = a[index.input(), columns]
        a[index.input(), columns] = [values, old + values, old * values][reduce]
        given = Scalar(3, "i64") if "Value" in name else source
        if name.startswith("Inplace"):
            run(name, x, 0, index, given, reduce)
            expect(x, a, what=f"{name} {kind} {layout} {reduce}")
        else:
            out = Tensor(np.zeros((5, 4)), kind, layout)
            run(name, x, 0, index, given, reduce, out)
            expect(out, a, what=f"{name} {kind} {layout} {reduce}")


def test_counts() -> None:
    for kind, layout in itertools.product(OPERATORS["Bincount"].types_of("self"), LAYOUTS):
        x, weights = Tensor(np.random.randint(0, 6, 40), kind, layout), Tensor(np.random.uniform(0, 1, 40), "f64", layout)
        out = Tensor(np.zeros(8), "i64", layout)
        run("Bincount", x, None, 8, out)
        expect(out, np.bincount(x.input().astype(np.int64), minlength=8), what=kind)
        out = Tensor(np.zeros(8), "f64", layout)
        run("Bincount", x, weights, 8, out)
        expect(out, np.bincount(x.input().astype(np.int64), weights.input(), 8), what=kind)
