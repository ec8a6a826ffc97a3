"""Operators that are written in Python: `register(name, function)`.

A function is composed of operators of PyTorch. It runs when the operator is called, on tensors of the device, and each
operator that it calls is a task of the stream. So the order of the stream, captures, the ranges for the checker and
derivatives are right without further work, and no task needs the lock of the interpreter. In return, the function
cannot look at values: it masks and gathers instead.
"""

import functools
import inspect
import warnings
from typing import Any, Callable, Dict, List, Tuple

import torch

_libraries: Dict[str, torch.library.Library] = {}
_registered: List[str] = []


def register(name: str, function: Callable[..., Any]) -> None:
    """Computes an operator of the device "npu" by a Python function.

    `name` is the name of an operator that exists, like `npu::npu_rms_norm` or `mine::scale.out`; the namespace `npu`
    may be left out. The function receives arguments by the names of the schema. A call with an argument that the
    function does not name raises NotImplementedError, unless the argument has its default.
    """
    namespace, operator = _split(name)
    schema = _schema(name)
    if schema is None:
        raise ValueError(f"there is no operator {namespace}::{operator} to register")
    called = _with_names(f"{namespace}::{operator}", schema, function)
    keys = ["PrivateUse1"]
    if not schema.is_mutable:
        # The derivative follows from the operators that the function is composed of.
        keys.append("AutogradPrivateUse1")
    library = _libraries.setdefault(namespace, torch.library.Library(namespace, "IMPL"))
    with warnings.catch_warnings():
        # torch warns that a kernel is replaced, which is the purpose.
        warnings.simplefilter("ignore")
        for key in keys:
            library.impl(operator, called, key, allow_override=True)
    _registered.append(f"{namespace}::{operator}")


def reference(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers the decorated function, if this version of torch_npu has the operator."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        if _schema(name) is not None:
            register(name, function)
        return function

    return decorate


def _split(name: str) -> Tuple[str, str]:
    namespace, _, operator = name.rpartition("::")
    return namespace or "npu", operator


def _schema(name: str) -> Any:
    namespace, operator = _split(name)
    base, _, overload = operator.partition(".")
    try:
        return getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")._schema
    except AttributeError:
        return None


def registered() -> List[str]:
    """Returns the names of the operators that are computed by Python functions."""
    return sorted(set(_registered))


def _with_names(name: str, schema: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that passes the arguments of a call by name, and refuses those that `function` ignores."""
    known = inspect.signature(function).parameters
    declared = [argument.name for argument in schema.arguments]
    defaults = {each.name: each.default_value for each in schema.arguments if each.has_default_value()}
    unknown = [each for each in known if each not in declared]
    if unknown:
        raise ValueError(f"{name} has no argument {unknown[0]}; it has {', '.join(declared)}")

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        given = {**defaults, **dict(zip(declared, arguments)), **named}
        for argument, value in given.items():
            if argument not in known and (isinstance(value, torch.Tensor) or value != defaults.get(argument)):
                raise NotImplementedError(f"softacl does not compute {name} with the argument {argument}")
        return function(**{argument: given[argument] for argument in known})

    return call


def require(condition: bool, name: str, what: str) -> None:
    """Refuses a call of an operator by name."""
    if not condition:
        raise NotImplementedError(f"softacl does not compute {name} {what}")
