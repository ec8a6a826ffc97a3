"""Operators that write into their first tensor, against NumPy in float64, in every documented type."""

import itertools
from typing import Any, Callable, Dict, List

import numpy as np
import pytest

from operators import COMPLEX, FLOATS, OPERATORS, Scalar, Tensor, expect, run
from test_elementwise import BINARY, SCALAR, UNARY, sample

LAYOUTS = ("dense", "strided")


def wide(values: np.ndarray, kind: str) -> np.ndarray:
    """Values in which NumPy computes as the operators do: integers do not wrap before they are stored."""
    return values if kind in FLOATS + COMPLEX + ("bool",) else values.astype(np.int64)


def is_comparison(name: str) -> bool:
    return name[7:9] in ("Eq", "Ne", "Lt", "Le", "Gt", "Ge") or "Logical" in name


def kinds_of(name: str) -> List[str]:
    operator = OPERATORS[name]
    first = operator.parameters[0].split("*")[-1]
    listed = operator.types_of(first) or OPERATORS[name.replace("Inplace", "")].types_of("self")
    kinds = [kind for kind in listed if kind not in COMPLEX]
    return kinds if is_comparison(name) or "Bitwise" in name else [kind for kind in kinds if kind != "bool"]


def in_place(table: Dict[str, Any]) -> List[str]:
    return sorted("Inplace" + name for name in table if "Inplace" + name in OPERATORS and OPERATORS["Inplace" + name].is_computed)


@pytest.mark.parametrize("name", in_place(UNARY))
def test_unary(name: str) -> None:
    for kind, layout in itertools.product(kinds_of(name), LAYOUTS):
        x = Tensor(np.abs(sample(kind, (30, 7), special=False)) + 0.5, kind, layout)
        run(name, x)
        expect(x, UNARY[name[7:]](x.input()), scale=2, what=f"{name} {kind} {layout}")
        x.release()


@pytest.mark.parametrize("name", in_place(BINARY))
def test_binary(name: str) -> None:
    for kind, layout, shape in itertools.product(kinds_of(name), LAYOUTS, ((6, 4, 5), (4, 1), ())):
        x = Tensor(np.abs(sample(kind, (6, 4, 5), special=False)), kind, layout)
        # Divisors and exponents are positive and small.
        y = Tensor(np.abs(sample(kind, shape, special=False)) % 3 + (0 if kind == "bool" else 1), kind, layout)
        a, b = wide(x.input(), kind), wide(y.input(), kind)
        run(name, x, y)
        expect(x, BINARY[name[7:]](a, b), scale=2, what=f"{name} {kind} {layout} {shape}")
        x.release()
        y.release()


BITS: Dict[str, Callable[[Any, Any], Any]] = {
    "BitwiseAndScalar": np.bitwise_and, "BitwiseOrScalar": np.bitwise_or, "BitwiseXorScalar": np.bitwise_xor,
}


@pytest.mark.parametrize("name", in_place({**SCALAR, **BITS}))
def test_scalar(name: str) -> None:
    for kind, layout in itertools.product(kinds_of(name), LAYOUTS):
        x = Tensor(np.abs(sample(kind, (6, 5), special=False)), kind, layout)
        value = True if kind == "bool" else 2
        scalar = Scalar(value, kind)
        reference = {**SCALAR, **BITS}[name[7:]](wide(x.input(), kind), value)
        run(name, x, scalar)
        expect(x, reference, scale=2, what=f"{name} {kind} {layout}")
        x.release()
        scalar.release()


@pytest.mark.parametrize("name", ["InplaceAdd", "InplaceSub", "InplaceAdds", "InplaceSubs"])
def test_scaled_sums(name: str) -> None:
    sign = -1 if "Sub" in name else 1
    for kind, layout, alpha in itertools.product(kinds_of(name), LAYOUTS, (1, 3)):
        x, y = Tensor(sample(kind, (6, 4, 5)), kind, layout), Tensor(sample(kind, (4, 1), special=False), kind, layout)
        other, factor = (Scalar(2, kind), Scalar(alpha, kind))
        b = 2 if name.endswith("s") else wide(y.input(), kind)
        run(name, x, other if name.endswith("s") else y, factor)
        expect(x, wide(x.input(), kind) + sign * alpha * b, what=f"{name} {kind} {layout} {alpha}")
        for thing in (x, y, other, factor):
            thing.release()


@pytest.mark.parametrize("name", ["DivMod", "DivMods", "InplaceDivMod", "InplaceDivMods"])
def test_divisions_with_a_mode(name: str) -> None:
    for kind, layout, mode in itertools.product(kinds_of(name), LAYOUTS, (0, 1, 2)):
        x = Tensor(sample(kind, (6, 5), special=False), kind, layout)
        y = Tensor(np.abs(sample(kind, (5,), special=False)) + 1, kind, layout)
        scalar = Scalar(2, kind)
        a, b = x.input().astype(np.float64), 2 if name.endswith("s") else y.input().astype(np.float64)
        reference = [a / b, np.trunc(a / b), np.floor(a / b)][mode]
        other, out = scalar if name.endswith("s") else y, x
        if name.startswith("Inplace"):
            run(name, x, other, mode)
        else:
            out_kind = "f32" if mode == 0 and kind not in FLOATS else kind
            out = Tensor(np.zeros((6, 5)), out_kind if out_kind in OPERATORS[name].types_of("out") else "f32", layout)
            run(name, x, other, mode, out)
        expect(out, np.trunc(reference) if out.kind not in FLOATS else reference, what=f"{name} {kind} {layout} {mode}")
        for thing in {x, y, scalar, out}:
            thing.release()


def test_special_values_are_replaced() -> None:
    values = np.array([np.nan, np.inf, -np.inf, 1.5, -2.5, 0.0])
    for name, (kind, layout) in itertools.product(("NanToNum", "InplaceNanToNum"), itertools.product(("f32", "f16", "bf16"), LAYOUTS)):
        x, out = Tensor(values, kind, layout), Tensor(np.zeros(6), kind, layout)
        run(name, x, 3.0, 7.0, -7.0, *([out] if name == "NanToNum" else []))
        expect(out if name == "NanToNum" else x, np.array([3.0, 7.0, -7.0, 1.5, -2.5, 0.0]), what=f"{name} {kind}")


def test_rounding() -> None:
    values = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 1.25, 2.375, 1e3, np.inf, np.nan])
    for decimals, layout in itertools.product((0, 1, 2, -2), LAYOUTS):
        x, out = Tensor(values, "f32", layout), Tensor(np.zeros(10), "f32")
        run("RoundDecimals", x, decimals, out)
        expect(out, np.round(values, decimals), what=f"{decimals}")
        run("InplaceRoundDecimals", x, decimals)
        expect(x, np.round(values, decimals), what=f"{decimals}")


def test_products_and_sums() -> None:
    for kind, layout in itertools.product(("f32", "f16", "bf16"), LAYOUTS):
        x, y, z = (Tensor(np.random.uniform(1, 2, (4, 5)), kind, layout) for _ in range(3))
        half = Scalar(0.5, "f32")
        run("InplaceAddcmul", x, y, z, half)
        expect(x, x.input() + 0.5 * y.input() * z.input())
        x = Tensor(np.random.uniform(1, 2, (4, 5)), kind, layout)
        run("InplaceAddcdiv", x, y, z, half)
        expect(x, x.input() + 0.5 * y.input() / z.input())
        x, y = Tensor(np.random.uniform(1, 2, (4, 3)), kind, layout), Tensor(np.random.uniform(1, 2, (4, 6)), kind, layout)
        z = Tensor(np.random.uniform(1, 2, (6, 3)), kind, layout)
        run("InplaceAddmm", x, y, z, Scalar(2.0, "f32"), half, 0)
        expect(x, 2 * x.input() + 0.5 * (y.input() @ z.input()), scale=2)
        x, y, gamma = (Tensor(np.random.uniform(-2, 2, s), kind, layout) for s in ((3, 32), (3, 32), (32,)))
        rstd = Tensor(np.zeros((3, 1)), "f32")
        run("InplaceAddRmsNorm", x, y, gamma, 1e-6, rstd)
        total = x.input() + y.input()
        inverse = 1 / np.sqrt((total**2).mean(-1, keepdims=True) + 1e-6)
        expect(y, total)
        expect(rstd, inverse, scale=200)
        expect(x, total * inverse * gamma.input(), scale=3)


def test_fills() -> None:
    for kind, layout in itertools.product(OPERATORS["InplaceFillTensor"].types_of("selfRef"), LAYOUTS):
        x, value = Tensor(sample(kind, (4, 5), special=False), kind, layout), Tensor(np.array(1), kind)
        run("InplaceFillTensor", x, value)
        expect(x, np.ones((4, 5)), what=kind)
    for kind, layout in itertools.product(("f32", "bf16", "i32", "i64"), LAYOUTS):
        x, mask = Tensor(sample(kind, (4, 5), special=False), kind, layout), Tensor(np.random.randint(0, 2, (4, 1)), "bool", layout)
        run("InplaceMaskedFillTensor", x, mask, Tensor(np.array(3), kind))
        expect(x, np.where(mask.input(), 3, x.input()))
