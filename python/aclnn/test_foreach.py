"""Operators over lists of tensors, and gradients, against NumPy in float64."""

import itertools
import math
from typing import Any, Callable, Dict, List, Tuple

import numpy as np
import pytest

from operators import FLOATS, OPERATORS, Failed, Scalar, Tensor, expect, prepare, run
from test_elementwise import sample, sigmoid
from test_inplace import wide

LAYOUTS = ("dense", "strided")
SHAPES: List[Tuple[int, ...]] = [(3, 4), (5,), (), (0, 2), (1500,)]
erf = np.vectorize(math.erf, otypes=[float])
erfc = np.vectorize(math.erfc, otypes=[float])

UNARY: Dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "Abs": np.abs, "Acos": np.arccos, "Asin": np.arcsin, "Atan": np.arctan, "Cos": np.cos, "Cosh": np.cosh, "Erf": erf,
    "Erfc": erfc, "Exp": np.exp, "Expm1": np.expm1, "Log": np.log, "Log10": np.log10, "Log1p": np.log1p, "Log2": np.log2,
    "Neg": np.negative, "Reciprocal": lambda x: 1 / x, "Sigmoid": sigmoid, "Sign": np.sign, "Sin": np.sin, "Sinh": np.sinh,
    "Sqrt": np.sqrt, "Tan": np.tan, "Tanh": np.tanh,
}


def tensors(kind: str, layout: str, low: float = -4.0, high: float = 4.0) -> List[Tensor]:
    return [Tensor(sample(kind, shape, low, high, special=False), kind, layout) for shape in SHAPES]


def empty(kind: str, layout: str) -> List[Tensor]:
    return [Tensor(np.zeros(shape), kind, layout) for shape in SHAPES]


def check(name: str, kind: str, layout: str, arguments: List[Any], reference: Callable[[int], Any]) -> None:
    """Runs an operator whose last argument is the list of results."""
    outs = empty(kind, layout)
    run("Foreach" + name, *arguments, outs)
    for at, out in enumerate(outs):
        with np.errstate(all="ignore"):
            expect(out, reference(at), scale=2, what=f"Foreach{name} {kind} {layout} member {at}")
        out.release()


@pytest.mark.parametrize("name", sorted(UNARY))
def test_unary(name: str) -> None:
    for kind, layout in itertools.product(OPERATORS["Foreach" + name].types_of("x"), LAYOUTS):
        if kind not in FLOATS and name in ("Exp", "Expm1"):
            continue
        low, high = (0.05, 0.95) if name in ("Acos", "Asin", "Log", "Log2", "Log10", "Sqrt", "Reciprocal", "Tan") else (-3, 3)
        x = tensors(kind, layout, low, high)
        check(name, kind, layout, [x], lambda at: UNARY[name](wide(x[at].input(), kind)))


BINARY: Dict[str, Callable[[Any, Any], Any]] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.true_divide, "Pow": np.power, "Maximum": np.maximum,
    "Minimum": np.minimum,
}


@pytest.mark.parametrize("name", sorted(BINARY))
def test_binary(name: str) -> None:
    function = BINARY[name]
    for kind, layout in itertools.product(("f32", "f16", "bf16", "i32"), LAYOUTS):
        x = [Tensor(np.abs(sample(kind, s, special=False)) + 1, kind, layout) for s in SHAPES]
        y = [Tensor(np.abs(sample(kind, s, special=False)) % 3 + 1, kind, layout) for s in SHAPES]
        a, b = ([wide(t.input(), kind) for t in side] for side in (x, y))

        def has(form: str, first: str = "x") -> bool:
            operator = OPERATORS.get(f"Foreach{name}{form}")
            return operator is not None and kind in operator.types_of(first)

        number = "i32" if kind == "i32" else "f32"
        device = "i32" if kind == "i32" else ("f32" if kind == "bf16" else kind)
        if has("Scalar"):
            check(name + "Scalar", kind, layout, [x, Tensor(np.array([2]), device)], lambda at: function(a[at], 2))
        if has("ScalarV2"):
            check(name + "ScalarV2", kind, layout, [x, Scalar(2, number)], lambda at: function(a[at], 2))
        if has("ScalarList"):
            scalars = [Scalar(at + 1, "f32" if kind != "i32" else "i64") for at in range(len(SHAPES))]
            check(name + "ScalarList", kind, layout, [x, scalars], lambda at: function(a[at], at + 1))
        if name in ("Add", "Sub"):
            if has("List", "x1"):
                check(name + "List", kind, layout, [x, y, Tensor(np.array([3]), device)], lambda at: function(a[at], 3 * b[at]))
            if has("ListV2", "x1"):
                check(name + "ListV2", kind, layout, [x, y, Scalar(3, number)], lambda at: function(a[at], 3 * b[at]))
        elif has("List", "x1"):
            check(name + "List", kind, layout, [x, y], lambda at: function(a[at], b[at]))
        if name == "Pow" and kind in OPERATORS["ForeachPowScalarAndTensor"].types_of("x"):
            check("PowScalarAndTensor", kind, layout, [Scalar(2, number), y], lambda at: np.power(2 if kind == "i32" else 2.0, b[at]))


@pytest.mark.parametrize("kind", ["f32", "f16", "bf16"])
def test_products_and_others(kind: str) -> None:
    for layout in LAYOUTS:
        x, y, z = (tensors(kind, layout, 1, 2) for _ in range(3))
        a, b, c = ([t.input() for t in side] for side in (x, y, z))
        device = "f16" if kind == "f16" else "f32"
        for name, term in (("Addcmul", lambda at: b[at] * c[at]), ("Addcdiv", lambda at: b[at] / c[at])):
            check(name + "Scalar", kind, layout, [x, y, z, Tensor(np.array([0.5]), device)], lambda at: a[at] + 0.5 * term(at))
            check(name + "ScalarV2", kind, layout, [x, y, z, Scalar(0.5, "f32")], lambda at: a[at] + 0.5 * term(at))
            factors = Tensor(np.array([0.5, 1, 1.5, 2, 2.5]), kind)
            check(name + "ScalarList", kind, layout, [x, y, z, factors], lambda at: a[at] + (0.5 + at / 2) * term(at))
        check("LerpScalar", kind, layout, [x, y, Scalar(0.25, "f32")], lambda at: a[at] + 0.25 * (b[at] - a[at]))
        weights = tensors(kind, layout, 0, 1)
        check("LerpList", kind, layout, [x, y, weights], lambda at: a[at] + weights[at].input() * (b[at] - a[at]))
        check("Copy", kind, layout, [x], lambda at: a[at])
        outs = [Tensor(np.array(0.0), kind) for _ in SHAPES]
        run("ForeachNorm", x, Scalar(2.0, "f32"), outs)
        for out, values in zip(outs, a):
            expect(out, np.sqrt((values**2).sum()), scale=2)
        run("ForeachZeroInplace", x)
        for tensor in x:
            expect(tensor, np.zeros(tensor.dims))


def test_lists_must_match() -> None:
    x, y = tensors("f32", "dense"), empty("f32", "dense")
    for arguments in (("ForeachAbs", x, y[:-1]), ("ForeachMulList", x, y[:2], y), ("ForeachAbs", x, y[::-1])):
        with pytest.raises(Failed) as failed:
            prepare(*arguments)
        assert failed.value.code == 161002


def gelu(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


FORWARD: Dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "SiluBackward": lambda x: x * sigmoid(x), "GeluBackward": gelu, "FastGeluBackward": lambda x: x * sigmoid(1.702 * x),
    "HardswishBackward": lambda x: x * np.clip(x + 3, 0, 6) / 6, "LogSigmoidBackward": lambda x: -np.logaddexp(0, -x),
    "ThresholdBackward": lambda x: np.where(x > 0.5, x, 0.0),
}


@pytest.mark.parametrize("name", sorted(FORWARD))
def test_gradients(name: str) -> None:
    """Against the difference quotient of the forward function."""
    for kind, layout in itertools.product(("f32", "f16", "bf16"), LAYOUTS):
        # Not where a function has a corner.
        x = Tensor(np.concatenate([np.random.uniform(-2.9, 0.4, (4, 10)), np.random.uniform(0.6, 2.9, (4, 10))], 1), kind, layout)
        grad, out = Tensor(np.random.uniform(-1, 1, (4, 20)), kind, layout), Tensor(np.zeros((4, 20)), kind, layout)
        a, step = x.input(), 1e-6
        slope = (FORWARD[name](a + step) - FORWARD[name](a - step)) / (2 * step)
        extra = [Scalar(0.5, "f32")] if name == "ThresholdBackward" else []
        extra = [Tensor(np.zeros((4, 20)), kind)] if name == "LogSigmoidBackward" else extra
        run(name, grad, x, *extra, out)
        expect(out, grad.input() * slope, scale=2, what=f"{name} {kind} {layout}")


def test_gradients_from_results() -> None:
    for kind, layout, dim in itertools.product(("f32", "f16", "bf16"), LAYOUTS, (0, -1)):
        y, grad = Tensor(np.random.uniform(0, 1, (6, 9)), kind, layout), Tensor(np.random.uniform(-1, 1, (6, 9)), kind, layout)
        out, g, r = Tensor(np.zeros((6, 9)), kind, layout), grad.input(), y.input()
        run("SigmoidBackward", grad, y, out)
        expect(out, g * r * (1 - r), what=kind)
        run("SoftmaxBackward", grad, y, dim, out)
        expect(out, (g - (g * r).sum(dim, keepdims=True)) * r, scale=2, what=f"{kind} {dim}")
        run("LogSoftmaxBackward", grad, y, dim, out)
        expect(out, g - np.exp(r) * g.sum(dim, keepdims=True), scale=2, what=f"{kind} {dim}")


def inverse_erf(x: np.ndarray) -> np.ndarray:
    """By bisection."""
    low, high = np.full(x.shape, -7.0), np.full(x.shape, 7.0)
    for _ in range(80):
        middle = (low + high) / 2
        below = erf(middle) < x
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


MORE_UNARY: Dict[str, Tuple[Callable[[np.ndarray], np.ndarray], float, float]] = {
    "Acos": (np.arccos, -1, 1), "Acosh": (np.arccosh, 1.05, 9), "Asin": (np.arcsin, -1, 1), "Asinh": (np.arcsinh, -9, 9),
    "Atanh": (np.arctanh, -0.9, 0.9), "Ceil": (np.ceil, -9, 9), "Cosh": (np.cosh, -3, 3), "Erf": (erf, -3, 3),
    "Erfc": (erfc, -2, 3), "Erfinv": (inverse_erf, -0.99, 0.99), "Exp2": (np.exp2, -3, 3), "Expm1": (np.expm1, -3, 3),
    "Frac": (lambda x: x - np.trunc(x), -9, 9), "Log10": (np.log10, 0.1, 9), "Log2": (np.log2, 0.1, 9),
    "Round": (np.round, -9, 9), "Sinc": (np.sinc, -3, 3), "Sinh": (np.sinh, -3, 3), "Tan": (np.tan, -1, 1),
    "Trunc": (np.trunc, -9, 9),
}


@pytest.mark.parametrize("name", sorted(MORE_UNARY))
def test_more_unary(name: str) -> None:
    function, low, high = MORE_UNARY[name]
    for kind, layout in itertools.product(FLOATS, LAYOUTS):
        x, out = Tensor(np.random.uniform(low, high, (30, 7)), kind, layout), Tensor(np.zeros((30, 7)), kind, layout)
        run(name, x, out)
        expect(out, function(x.input()), scale=2, what=f"{name} {kind} {layout}")
        run("Inplace" + name, x)
        expect(x, function(x.input()), scale=2, what=f"Inplace{name} {kind} {layout}")
    if name in ("Ceil", "Round", "Trunc"):
        # Too large for a fraction of 53 bits: computed as an integer.
        x, out = Tensor(np.array([2**62 + 1, -5]), "i64"), Tensor(np.zeros(2), "i64")
        run(name, x, out)
        expect(out, np.array([2**62 + 1, -5]))


def test_kinds_of_numbers() -> None:
    values = np.array([0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan])
    for kind, layout in itertools.product(FLOATS, LAYOUTS):
        x, out = Tensor(values, kind, layout), Tensor(np.zeros(7), "bool", layout)
        for name, function in (("IsFinite", np.isfinite), ("IsPosInf", np.isposinf), ("IsNegInf", np.isneginf), ("Signbit", np.signbit)):
            run(name, x, out)
            expect(out, function(x.input()), what=f"{name} {kind} {layout}")
