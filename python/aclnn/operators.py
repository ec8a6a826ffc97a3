"""Runs operators of the aclnn interface through ctypes: tensors of every type and layout, results as float64 or integers.

The prototypes come from the table from which the library itself is made; what an operator computes does not."""

import ctypes
import os
import random
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

import numpy as np
import softacl

TABLE = os.path.join(os.path.dirname(__file__), "..", "..", "crates", "opapi", "tables", "operators.tsv")

# Name of a type: number in the C enumeration, type of the elements in memory.
TYPES: Dict[str, Tuple[int, Any]] = {
    "f32": (0, np.float32), "f16": (1, np.float16), "i8": (2, np.int8), "i32": (3, np.int32), "u8": (4, np.uint8),
    "i16": (6, np.int16), "u16": (7, np.uint16), "u32": (8, np.uint32), "i64": (9, np.int64), "u64": (10, np.uint64),
    "f64": (11, np.float64), "bool": (12, np.bool_), "c64": (16, np.complex64), "c128": (17, np.complex128),
    "bf16": (27, np.uint16),
}
FLOATS = ("f32", "f16", "bf16", "f64")
COMPLEX = ("c64", "c128")
ND = 2


class Operator:
    """A row of the table."""

    def __init__(self, row: str) -> None:
        self.name, self.priority, self.header, parameters, plan, types = row.rstrip("\n").split("\t")
        self.parameters = [p.strip().replace("const ", "") for p in parameters.split(",") if p.strip()]
        self.is_computed = plan != "-"
        self.types: Dict[str, List[str]] = {}
        last: List[str] = []
        for entry in types.split():
            name, _, listed = entry.partition(":")
            last = last if listed == '"' else listed.split(",")
            self.types[name] = last

    def types_of(self, parameter: str) -> List[str]:
        return [name for name in self.types.get(parameter, []) if name in TYPES]


def table() -> Dict[str, Operator]:
    with open(TABLE, encoding="utf-8") as file:
        operators = [Operator(line) for line in file if not line.startswith("#")]
    return {operator.name[5:]: operator for operator in operators}


OPERATORS = table()


def round_to(values: Any, kind: str) -> np.ndarray:
    """Elements in memory for values."""
    values = np.asarray(values)
    if kind == "bf16":
        bits = np.atleast_1d(values.astype(np.float32)).view(np.uint32).reshape(values.shape)
        rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
        return np.where(np.isnan(values.astype(np.float32)), 0x7FC0, rounded).astype(np.uint16)
    with np.errstate(all="ignore"):
        return values.astype(TYPES[kind][1])


def values_of(elements: np.ndarray, kind: str) -> np.ndarray:
    """Values of elements in memory, as exactly as NumPy can."""
    if kind == "bf16":
        wide = np.atleast_1d(elements).astype(np.uint32) << 16
        return wide.view(np.float32).astype(np.float64).reshape(elements.shape)
    if kind in FLOATS:
        return elements.astype(np.float64)
    return elements.astype(np.complex128) if kind in COMPLEX else elements


class Library:
    """The runtime and the operators of one process, with device 0."""

    def __init__(self) -> None:
        root = os.path.join(os.path.dirname(softacl.library_path()), "..")
        self.runtime = ctypes.CDLL(softacl.library_path(), ctypes.RTLD_GLOBAL)
        self.operators = ctypes.CDLL(os.path.join(root, "aclnn", "lib64", "libopapi.so"))
        for create in ("Tensor", "Scalar", "IntArray", "BoolArray", "TensorList", "ScalarList"):
            getattr(self.operators, "aclCreate" + create).restype = ctypes.c_void_p
        self.runtime.aclGetRecentErrMsg.restype = ctypes.c_char_p
        code = self.runtime.aclInit(None)
        assert code in (0, 100002), code
        assert self.runtime.aclrtSetDevice(0) == 0
        self.stream = ctypes.c_void_p()
        assert self.runtime.aclrtCreateStream(ctypes.byref(self.stream)) == 0

    def malloc(self, size: int) -> int:
        address = ctypes.c_void_p()
        assert self.runtime.aclrtMalloc(ctypes.byref(address), ctypes.c_size_t(max(size, 64)), 0) == 0
        assert address.value is not None
        return address.value

    def free(self, address: int) -> None:
        assert self.runtime.aclrtFree(ctypes.c_void_p(address)) == 0

    def copy(self, target: int, source: int, size: int, kind: int) -> None:
        if size:
            n = ctypes.c_size_t(size)
            assert self.runtime.aclrtMemcpy(ctypes.c_void_p(target), n, ctypes.c_void_p(source), n, kind) == 0

    def message(self) -> str:
        text = self.runtime.aclGetRecentErrMsg()
        return text.decode() if text else ""


_library: Optional[Library] = None


def library() -> Library:
    global _library
    if _library is None:
        _library = Library()
    return _library


class Tensor:
    """A tensor on the device. `layout` is "dense", or "strided": another order in memory, gaps and an offset."""

    def __init__(self, values: Any, kind: str, layout: str = "dense", dims: Optional[Sequence[int]] = None) -> None:
        self.kind = kind
        elements = round_to(values, kind)
        self.dims = list(elements.shape if dims is None else dims)
        code, element = TYPES[kind]
        rank = elements.ndim
        order, gap, self.offset = list(range(rank)), 0, 0
        if layout == "strided":
            random.shuffle(order)
            gap, self.offset = random.randrange(1, 4), random.randrange(5)
        self.strides, reach = [0] * rank, 1
        for axis in reversed(order):
            self.strides[axis] = reach
            reach *= max(elements.shape[axis], 1)
            reach += gap
        self.storage = np.zeros(self.offset + reach + 3, dtype=element)
        self.storage.view(np.uint8)[:] = 0x01 if kind == "bool" else 0x5A
        self.view = np.lib.stride_tricks.as_strided(
            self.storage[self.offset:], elements.shape, [s * self.storage.itemsize for s in self.strides])
        self.view[...] = elements
        self.before = self.storage.copy()
        lib = library()
        self.address = lib.malloc(self.storage.nbytes)
        lib.copy(self.address, self.storage.ctypes.data, self.storage.nbytes, 1)
        count = ctypes.c_uint64(rank)
        dims_array, strides_array = (ctypes.c_int64 * max(rank, 1))(*self.dims), (ctypes.c_int64 * max(rank, 1))(*self.strides)
        self.handle = lib.operators.aclCreateTensor(
            dims_array, count, code, strides_array, ctypes.c_int64(self.offset), ND,
            (ctypes.c_int64 * 1)(self.storage.size), ctypes.c_uint64(1), ctypes.c_void_p(self.address))
        assert self.handle, lib.message()

    def input(self) -> np.ndarray:
        """Values as they were uploaded, rounded to the type."""
        return values_of(np.array(self.view), self.kind)

    def read(self) -> np.ndarray:
        """Values on the device now. Bytes between the elements must be untouched."""
        now = np.empty_like(self.storage)
        library().copy(now.ctypes.data, self.address, now.nbytes, 2)
        view = np.lib.stride_tricks.as_strided(now[self.offset:], self.view.shape, self.view.strides)
        result = view.copy()
        view[...] = np.lib.stride_tricks.as_strided(self.before[self.offset:], self.view.shape, self.view.strides)
        assert now.tobytes() == self.before.tobytes(), "bytes outside of the view were written"
        return values_of(result, self.kind)

    def release(self) -> None:
        library().operators.aclDestroyTensor(ctypes.c_void_p(self.handle))
        library().free(self.address)


class Scalar:
    def __init__(self, value: Any, kind: str) -> None:
        self.elements = round_to([value], kind)
        code = TYPES[kind][0]
        self.handle = library().operators.aclCreateScalar(ctypes.c_void_p(self.elements.ctypes.data), code)

    def value(self) -> Any:
        return None

    def release(self) -> None:
        library().operators.aclDestroyScalar(ctypes.c_void_p(self.handle))


def _array(handle_of: str, values: Sequence[Any], element: Any) -> int:
    array = (element * max(len(values), 1))(*values)
    handle = getattr(library().operators, handle_of)(array, ctypes.c_uint64(len(values)))
    return int(handle)


PLAIN = {"int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64, "int32_t": ctypes.c_int32, "int": ctypes.c_int,
         "int8_t": ctypes.c_int8, "double": ctypes.c_double, "float": ctypes.c_float, "bool": ctypes.c_bool}


class Failed(Exception):
    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


def prepare(name: str, *arguments: Any) -> ctypes.c_void_p:
    """Phase one. Raises `Failed` if it fails."""
    operator, lib = OPERATORS[name], library()
    assert len(arguments) == len(operator.parameters), (name, operator.parameters)
    converted: List[Any] = []
    releases: List[Any] = []
    for argument, parameter in zip(arguments, operator.parameters):
        kind = parameter[:max(parameter.rfind(" "), parameter.rfind("*")) + 1].replace(" ", "")
        if argument is None:
            converted.append(ctypes.c_void_p(None))
        elif kind in ("aclTensor*", "aclScalar*"):
            converted.append(ctypes.c_void_p(argument.handle))
        elif kind == "aclTensorList*":
            # The list owns its tensors, which the caller of this function releases: it is not destroyed.
            converted.append(ctypes.c_void_p(_array("aclCreateTensorList", [t.handle for t in argument], ctypes.c_void_p)))
        elif kind == "aclScalarList*":
            converted.append(ctypes.c_void_p(_array("aclCreateScalarList", [s.handle for s in argument], ctypes.c_void_p)))
        elif kind == "aclIntArray*":
            handle = _array("aclCreateIntArray", argument, ctypes.c_int64)
            releases.append(("aclDestroyIntArray", handle))
            converted.append(ctypes.c_void_p(handle))
        elif kind == "aclBoolArray*":
            converted.append(ctypes.c_void_p(_array("aclCreateBoolArray", argument, ctypes.c_bool)))
        elif kind == "char*":
            converted.append(ctypes.c_char_p(argument.encode()))
        elif kind == "aclDataType":
            converted.append(ctypes.c_int(TYPES[argument][0]))
        else:
            converted.append(PLAIN[kind](argument))
    size, executor = ctypes.c_uint64(77), ctypes.c_void_p()
    code = getattr(lib.operators, operator.name + "GetWorkspaceSize")(*converted, ctypes.byref(size), ctypes.byref(executor))
    # What phase one needs is copied: the objects may go before phase two.
    for destroy, handle in releases:
        getattr(lib.operators, destroy)(ctypes.c_void_p(handle))
    if code:
        raise Failed(code, lib.message())
    assert size.value == 0
    return executor


def launch(name: str, executor: ctypes.c_void_p) -> int:
    """Phase two."""
    return int(getattr(library().operators, OPERATORS[name].name)(None, ctypes.c_uint64(0), executor, library().stream))


def synchronize() -> int:
    return int(library().runtime.aclrtSynchronizeStream(library().stream))


# Operators whose results a test has compared with a reference. See test_whole_table.py.
COMPARED: Set[str] = set()
# Operators that ran since the last comparison.
_pending: Set[str] = set()


def run(name: str, *arguments: Any) -> None:
    """Both phases, and a wait."""
    _pending.add(name)
    executor = prepare(name, *arguments)
    code = launch(name, executor)
    assert code == 0, (name, code, library().message())
    assert synchronize() == 0, (name, library().message())


TOLERANCE = {"f64": 1e-10, "f32": 2e-5, "f16": 1.5e-3, "bf16": 1.2e-2, "c64": 2e-5, "c128": 1e-10}


def expect(out: Tensor, reference: Any, scale: float = 1.0, what: str = "") -> None:
    """Fails unless a result is that of the reference, within the tolerance of its type."""
    COMPARED.update(_pending)
    _pending.clear()
    found, reference = out.read(), np.asarray(reference)
    assert found.shape == reference.shape, (what, found.shape, reference.shape)
    if out.kind not in TOLERANCE:
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(found, reference.astype(found.dtype), err_msg=what)
        return
    tolerance = TOLERANCE[out.kind] * scale
    limit = {"f16": 65504.0, "bf16": 3.38e38, "f32": 3.4e38}.get(out.kind)
    if limit is not None and reference.dtype.kind == "f":
        reference = np.where(np.abs(reference) > limit, np.copysign(np.inf, reference), reference)
    smallest = tolerance * max(1.0, float(np.nanmax(np.abs(np.where(np.isfinite(reference), reference, 0)), initial=0.0)) * 0.01)
    np.testing.assert_allclose(found, reference, rtol=tolerance, atol=smallest, err_msg=what)
