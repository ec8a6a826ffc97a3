"""Elementwise operators against NumPy in float64: all documented types, strided views, broadcasts, special values."""

import itertools
import math
import random
from typing import Any, Callable, Dict, List, Tuple

import numpy as np
import pytest

from operators import COMPLEX, FLOATS, OPERATORS, Scalar, Tensor, expect, run

erf = np.vectorize(math.erf, otypes=[float])
SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-3, 30.0, -30.0]


def sample(kind: str, shape: Tuple[int, ...], low: float = -4.0, high: float = 4.0, special: bool = True) -> np.ndarray:
    """Values of a type; some of them special."""
    if kind == "bool":
        return np.random.randint(0, 2, shape).astype(bool)
    if kind in COMPLEX:
        return np.random.uniform(low, high, shape) + 1j * np.random.uniform(low, high, shape)
    if kind not in FLOATS:
        return np.random.randint(0 if kind.startswith("u") else -7, 8, shape)
    values = np.random.uniform(low, high, shape)
    if special and values.size > 20:
        values.flat[:len(SPECIAL)] = SPECIAL
    return values


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def gelu_tanh(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def softplus(x: np.ndarray) -> np.ndarray:
    return np.logaddexp(0, x)


UNARY: Dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "Abs": np.abs, "Neg": np.negative, "Sign": np.sign, "Relu": lambda x: np.where(np.isnan(x), x, np.maximum(x, 0)),
    "Exp": np.exp, "Log": np.log, "Log1p": np.log1p, "Sqrt": np.sqrt, "Rsqrt": lambda x: 1 / np.sqrt(x),
    "Reciprocal": lambda x: 1 / x, "Sin": np.sin, "Cos": np.cos, "Tanh": np.tanh, "Atan": np.arctan, "Floor": np.floor,
    "Sigmoid": sigmoid, "Silu": lambda x: x * sigmoid(x), "LogSigmoid": lambda x: -softplus(-x),
    "Mish": lambda x: x * np.tanh(softplus(x)), "Gelu": gelu_tanh, "FastGelu": lambda x: x * sigmoid(1.702 * x),
    "Hardsigmoid": lambda x: np.clip(x / 6 + 0.5, 0, 1),
    "Hardswish": lambda x: np.where(x >= 3, x, np.where(x <= -3, 0, x * (x + 3) / 6)),
    "LogicalNot": np.logical_not, "BitwiseNot": np.invert,
}
# Functions that are not defined, or not monotonous, at some special values; the types in which they are compared there.
PLAIN_VALUES = {"Sin", "Cos", "Gelu", "FastGelu", "Silu", "Mish", "Hardswish", "Hardsigmoid", "LogSigmoid"}


@pytest.mark.parametrize("name", sorted(UNARY))
def test_unary(name: str) -> None:
    operator = OPERATORS[name]
    first, last = (parameter.split("*")[-1] for parameter in (operator.parameters[0], operator.parameters[-1]))
    outs = operator.types_of(last) or operator.types_of(first)
    for kind, layout in itertools.product(operator.types_of(first), ("dense", "strided")):
        if kind in COMPLEX and name not in ("Abs", "Neg", "Exp", "Log", "Sqrt", "Sin", "Cos"):
            continue
        if kind in outs:
            out_kind = {"c64": "f32", "c128": "f64"}.get(kind, kind) if name == "Abs" else kind
        else:
            out_kind = "f32"
        positive = name in ("Log", "Log1p", "Sqrt", "Rsqrt") and kind != "bool" and kind not in FLOATS + COMPLEX
        for shape in ((3, 4, 5), (0, 3), (), (2100,)):
            x = Tensor(np.abs(sample(kind, shape)) + 1 if positive else
                       sample(kind, shape, special=name not in PLAIN_VALUES), kind, layout)
            out = Tensor(np.zeros(shape), out_kind, layout)
            with np.errstate(all="ignore"):
                values = x.input()
                if out_kind in FLOATS and kind not in FLOATS + COMPLEX or kind == "bool" and name not in ("LogicalNot", "BitwiseNot"):
                    values = values.astype(float)
                reference = UNARY[name](values)
            run(name, x, out)
            expect(out, reference, what=f"{name} {kind} {layout} {shape}")
            x.release()
            out.release()


BINARY: Dict[str, Callable[[Any, Any], Any]] = {
    "Mul": np.multiply, "Div": np.true_divide, "Maximum": np.maximum, "Minimum": np.minimum, "Atan2": np.arctan2,
    "FloorDivide": np.floor_divide, "FmodTensor": np.fmod, "RemainderTensorTensor": np.remainder,
    "PowTensorTensor": np.power, "EqTensor": np.equal, "NeTensor": np.not_equal, "LtTensor": np.less,
    "LeTensor": np.less_equal, "GtTensor": np.greater, "GeTensor": np.greater_equal, "LogicalAnd": np.logical_and,
    "LogicalOr": np.logical_or, "BitwiseAndTensor": np.bitwise_and, "BitwiseOrTensor": np.bitwise_or,
    "BitwiseXorTensor": np.bitwise_xor,
}
BROADCASTS = [((3, 4, 5), (3, 4, 5)), ((3, 4, 5), (4, 1)), ((1, 5), (4, 1)), ((), (6,)), ((0, 3), (1, 3)), ((1500,), (1,))]


def promoted(one: str, other: str) -> str:
    order = ["bool", "u8", "i8", "i16", "i32", "i64", "f16", "f32", "f64"]
    if {one, other} == {"f16", "bf16"}:
        return "f32"
    if "bf16" in (one, other):
        rest = other if one == "bf16" else one
        return rest if rest in ("f32", "f64") else "bf16"
    if {one, other} == {"i8", "u8"}:
        return "i16"
    if one in order and other in order:
        return max(one, other, key=order.index)
    return one


@pytest.mark.parametrize("name", sorted(BINARY))
def test_binary(name: str) -> None:
    operator = OPERATORS[name]
    compares = name.endswith("Tensor") and name[:2] in ("Eq", "Ne", "Lt", "Le", "Gt", "Ge") or name.startswith("Logical")
    kinds = [kind for kind in operator.types_of("self") if kind not in COMPLEX or name in ("Mul", "Div", "EqTensor", "NeTensor")]
    pairs: List[Tuple[str, str]] = [(kind, kind) for kind in kinds]
    for pair in (("f32", "f16"), ("i32", "f32"), ("f16", "bf16"), ("i8", "u8"), ("bool", "i32")):
        if all(kind in kinds for kind in pair):
            pairs.append(pair)
    for (one, other), (left, right), layout in itertools.product(pairs, BROADCASTS, ("dense", "strided")):
        kind = promoted(one, other)
        if name in ("Div", "Atan2") and kind not in FLOATS + COMPLEX:
            kind = "f32"
        if compares:
            kind = random.choice(["bool", "i32", "f32"])
        elif kind not in operator.types_of("out"):
            continue
        special = name not in ("PowTensorTensor", "FloorDivide", "FmodTensor", "RemainderTensorTensor")
        x, y = Tensor(sample(one, left, special=special), one, layout), Tensor(sample(other, right, special=False), other, layout)
        a, b = x.input(), y.input()
        if name in ("FloorDivide", "FmodTensor", "RemainderTensorTensor"):
            y.release()
            y = Tensor(np.abs(b) + 1, other, layout)
            b = y.input()
        if name == "PowTensorTensor":
            x.release()
            y.release()
            x, y = Tensor(np.abs(a) % 4 + 1, one, layout), Tensor(np.abs(b) % 3, other, layout)
            a, b = x.input(), y.input()
        if name in ("Div", "Atan2") and kind in FLOATS:
            a, b = a.astype(np.float64), b.astype(np.float64)
        if one not in FLOATS + COMPLEX + ("bool",):
            a = a.astype(np.float64 if other in FLOATS else np.int64)
        if other not in FLOATS + COMPLEX + ("bool",):
            b = b.astype(np.float64 if one in FLOATS else np.int64)
        out = Tensor(np.zeros(np.broadcast_shapes(left, right)), kind, layout)
        with np.errstate(all="ignore"):
            reference = BINARY[name](a, b)
        run(name, x, y, out)
        expect(out, reference, what=f"{name} {one} {other} {left} {right} {layout}")
        for tensor in (x, y, out):
            tensor.release()


@pytest.mark.parametrize("name,sign", [("Add", 1), ("Sub", -1)])
def test_scaled_sums(name: str, sign: int) -> None:
    for kind, (left, right), layout, alpha in itertools.product(
            OPERATORS[name].types_of("self"), BROADCASTS, ("dense", "strided"), (1, 3)):
        if kind == "bool" and (alpha != 1 or name == "Sub"):
            continue
        x, y = Tensor(sample(kind, left), kind, layout), Tensor(sample(kind, right, special=False), kind, layout)
        out = Tensor(np.zeros(np.broadcast_shapes(left, right)), kind, layout)
        factor = Scalar(alpha, "i64" if kind not in FLOATS + COMPLEX else "f32")
        a, b = x.input(), y.input()
        if kind == "bool":
            reference = np.logical_or(a, b)
        else:
            wide = (lambda v: v.astype(np.int64)) if kind not in FLOATS + COMPLEX else (lambda v: v)
            reference = wide(a) + sign * alpha * wide(b)
        run(name, x, y, factor, out)
        expect(out, reference, what=f"{name} {kind} {left} {right} {layout} {alpha}")
        for thing in (x, y, out, factor):
            thing.release()


SCALAR: Dict[str, Callable[[Any, Any], Any]] = {
    "Muls": np.multiply, "Divs": np.true_divide, "GtScalar": np.greater, "LtScalar": np.less, "EqScalar": np.equal,
    "NeScalar": np.not_equal, "GeScalar": np.greater_equal, "LeScalar": np.less_equal, "PowTensorScalar": np.power,
    "FmodScalar": np.fmod, "RemainderTensorScalar": np.remainder, "FloorDivides": np.floor_divide,
}


@pytest.mark.parametrize("name", sorted(SCALAR))
def test_tensor_and_scalar(name: str) -> None:
    for kind, layout in itertools.product([k for k in OPERATORS[name].types_of("self") if k not in COMPLEX], ("dense", "strided")):
        if kind == "bool" and (name == "PowTensorScalar" or not name.endswith("Scalar")):
            continue
        compares = name[:2] in ("Gt", "Lt", "Eq", "Ne", "Ge", "Le")
        x, value = Tensor(np.abs(sample(kind, (5, 7), special=False)), kind, layout), 2
        out_kind = "bool" if compares else ("f32" if name == "Divs" and kind not in FLOATS else kind)
        scalar = Scalar(value, "f32" if kind in FLOATS else "i64")
        out = Tensor(np.zeros((5, 7)), out_kind, layout)
        with np.errstate(all="ignore"):
            reference = SCALAR[name](x.input() if kind in FLOATS + ("bool",) else x.input().astype(np.int64), value)
        run(name, x, scalar, out)
        expect(out, reference, what=f"{name} {kind} {layout}")
        for thing in (x, scalar, out):
            thing.release()


def test_parameters() -> None:
    """Functions with scalars: Clamp, Threshold, LeakyRelu, Elu, Softplus, NanToNum, Logit, RoundDecimals."""
    for kind, layout in itertools.product(("f32", "f16", "bf16"), ("dense", "strided")):
        x = Tensor(sample(kind, (40, 3), special=False), kind, layout)
        a = x.input()
        one, two, half = Scalar(1.0, "f32"), Scalar(2.0, "f32"), Scalar(-0.5, "f32")
        cases = [
            ("Clamp", (half, two), np.clip(a, -0.5, 2)), ("Clamp", (None, two), np.minimum(a, 2)),
            ("Clamp", (two, half), np.full_like(a, 2.0)), ("ClampMin", (one,), np.maximum(a, 1)),
            ("Threshold", (one, half), np.where(a > 1, a, -0.5)), ("LeakyRelu", (half,), np.where(a > 0, a, -0.5 * a)),
            ("Elu", (two, one, one), np.where(a > 0, a, 2 * np.expm1(a))),
            ("Softplus", (one, Scalar(20.0, "f32")), softplus(a)),
        ]
        for name, scalars, reference in cases:
            out = Tensor(np.zeros((40, 3)), kind, layout)
            run(name, x, *scalars, out)
            expect(out, reference, what=f"{name} {kind} {layout}")
            out.release()
        for approximate, reference in ((0, 0.5 * a * (1 + erf(a / math.sqrt(2)))), (1, gelu_tanh(a))):
            out = Tensor(np.zeros((40, 3)), kind, layout)
            run("GeluV2", x, approximate, out)
            expect(out, reference, what="GeluV2")
            out.release()
        x.release()


def test_in_place() -> None:
    for kind, layout in itertools.product(("f32", "bf16", "i32"), ("dense", "strided")):
        for name, arguments, reference in (
                ("InplaceMuls", [Scalar(3, "i32")], lambda a: a * 3), ("InplaceZero", [], lambda a: a * 0),
                ("InplaceOne", [], lambda a: a * 0 + 1), ("InplaceFillScalar", [Scalar(7, "i32")], lambda a: a * 0 + 7),
                ("InplaceAdds", [Scalar(2, "i32"), Scalar(2, "i32")], lambda a: a + 4),
                ("InplaceThreshold", [Scalar(1, "i32"), Scalar(0, "i32")], lambda a: np.where(a > 1, a, 0)),
                ("InplaceClampMax", [Scalar(1, "i32")], lambda a: np.minimum(a, 1)),
                ("InplaceTriu", [1], lambda a: np.triu(a, 1))):
            x = Tensor(np.round(sample(kind, (30, 40), special=False)), kind, layout)
            run(name, x, *arguments)
            expect(x, reference(x.input()), what=f"{name} {kind} {layout}")
            x.release()
        x, y = (Tensor(np.round(sample(kind, (6, 5), special=False)), kind, layout) for _ in range(2))
        run("InplaceMul", x, y)
        expect(x, x.input() * y.input(), what=f"InplaceMul {kind} {layout}")
        x.release()
        y.release()
    mask = Tensor(np.random.randint(0, 2, (4, 1)), "bool")
    x = Tensor(np.random.rand(4, 6), "f16", "strided")
    run("InplaceMaskedFillScalar", x, mask, Scalar(-2.5, "f32"))
    expect(x, np.where(mask.input(), -2.5, x.input()))


def test_choice_and_fused() -> None:
    condition = Tensor(np.random.randint(0, 2, (4, 1)), "bool")
    x, y, z = (Tensor(np.random.rand(4, 6), "f32", "strided") for _ in range(3))
    out = Tensor(np.zeros((4, 6)), "f32")
    run("SWhere", condition, x, y, out)
    expect(out, np.where(condition.input(), x.input(), y.input()))
    run("Addcmul", x, y, z, Scalar(0.5, "f32"), out)
    expect(out, x.input() + 0.5 * y.input() * z.input())
    run("Addcdiv", x, y, z, Scalar(0.5, "f32"), out)
    expect(out, x.input() + 0.5 * y.input() / z.input(), scale=10)


CAST_TYPES = ["f32", "f16", "bf16", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool"]


@pytest.mark.parametrize("source", CAST_TYPES)
def test_casts(source: str) -> None:
    for target, layout in itertools.product(CAST_TYPES, ("dense", "strided")):
        values = np.abs(sample(source, (33, 5), special=False)) if target.startswith("u") else sample(source, (33, 5), special=False)
        x, out = Tensor(values, source, layout), Tensor(np.zeros((33, 5)), target, layout)
        run("Cast", x, target, out)
        a = x.input()
        expect(out, a != 0 if target == "bool" else (np.trunc(a) if a.dtype.kind == "f" and target not in FLOATS else a),
               what=f"{source} to {target} {layout}")
        x.release()
        out.release()
    if source in FLOATS:
        x, out = Tensor(np.array([np.nan, 1e30 if source != "f16" else 6e4, -1e30 if source != "f16" else -6e4]), source), Tensor(np.zeros(3), "i8")
        run("Cast", x, "i8", out)
        expect(out, np.array([0, 127, -128]))


@pytest.mark.parametrize("name,function", [
    ("BitwiseAndScalar", np.bitwise_and), ("BitwiseOrScalar", np.bitwise_or), ("BitwiseXorScalar", np.bitwise_xor)])
def test_bits_with_a_scalar(name: str, function: Any) -> None:
    for kind, layout in itertools.product(OPERATORS[name].types_of("self"), ("dense", "strided")):
        x, out = Tensor(sample(kind, (6, 5)), kind, layout), Tensor(np.zeros((6, 5)), kind, layout)
        value = True if kind == "bool" else 5
        run(name, x, Scalar(value, kind), out)
        expect(out, function(x.input(), np.array(value).astype(x.input().dtype)), what=f"{name} {kind} {layout}")


@pytest.mark.parametrize("name", ["LeftShift", "RightShift"])
def test_shifts(name: str) -> None:
    for kind, layout in itertools.product(OPERATORS[name].types_of("self") or OPERATORS[name].types_of("input"), ("dense", "strided")):
        x, bits = Tensor(sample(kind, (6, 5)), kind, layout), Tensor(np.random.randint(0, 4, (6, 5)), kind, layout)
        out = Tensor(np.zeros((6, 5)), kind, layout)
        run(name, x, bits, out)
        shift = np.left_shift if name == "LeftShift" else np.right_shift
        expect(out, shift(x.input(), bits.input()), what=f"{name} {kind} {layout}")
    if name == "RightShift":
        x, bits, out = Tensor(np.array([2**63 + 2]), "u64"), Tensor(np.array([1]), "u64"), Tensor(np.array([0]), "u64")
        run(name, x, bits, out)
        expect(out, np.array([2**62 + 1], dtype=np.uint64))


def test_sums_with_a_scalar() -> None:
    for (name, sign), kind, layout, alpha in itertools.product((("Adds", 1), ("Subs", -1)), ("f32", "bf16", "i32", "u8"), ("dense", "strided"), (1, 3)):
        x, out = Tensor(sample(kind, (6, 5)), kind, layout), Tensor(np.zeros((6, 5)), kind, layout)
        a = x.input() if kind in FLOATS else x.input().astype(np.int64)
        run(name, x, Scalar(2, kind), Scalar(alpha, kind), out)
        expect(out, a + sign * 2 * alpha, what=f"{name} {kind} {alpha}")


def test_scalar_first() -> None:
    for kind, layout in itertools.product(("f32", "f16", "bf16", "f64", "i32", "i64"), ("dense", "strided")):
        x, out = Tensor(np.abs(sample(kind, (6, 5), special=False)) + 1, kind, layout), Tensor(np.zeros((6, 5)), kind, layout)
        a = x.input() if kind in FLOATS else x.input().astype(np.int64)
        run("RemainderScalarTensor", Scalar(7, kind), x, out)
        expect(out, np.remainder(7, a), scale=2, what=f"Remainder {kind}")
        run("PowScalarTensor", Scalar(2, kind), x, out)
        expect(out, np.power(2 if kind not in FLOATS else 2.0, a), scale=2, what=f"Pow {kind}")


def test_logit() -> None:
    for kind, layout, epsilon in itertools.product(("f32", "f16", "bf16"), ("dense", "strided"), (-1.0, 0.25)):
        x, out = Tensor(np.random.uniform(0.1, 0.9, (6, 5)), kind, layout), Tensor(np.zeros((6, 5)), kind, layout)
        run("Logit", x, epsilon, out)
        a = x.input() if epsilon < 0 else np.clip(x.input(), epsilon, 1 - epsilon)
        expect(out, np.log(a / (1 - a)), scale=2, what=f"{kind} {epsilon}")
