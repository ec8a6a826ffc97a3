"""PyTorch computes on softacl: kernels for the device "npu" of torch_npu.

`softacl run -- python …` and the entry point `torch.backends` of the softacl package load this module after
torch_npu. It compiles a C++ extension once. README.md in this directory says how the kernels work.
"""

import ctypes
import os
import sys
from typing import Any, Callable, List

from softacl.torch import extension

__all__ = ["load", "operators", "register"]

_library = None


def autoload() -> None:
    """Loads the kernels if this process uses torch_npu on softacl. The entry point of `torch.backends`."""
    try:
        import torch_npu  # noqa: F401
    except ImportError:
        return
    if _is_softacl():
        load()


def load() -> None:
    """Registers the kernels of all operators. Compiles the extension if this has not been done before."""
    global _library
    if _library is not None:
        return
    import torch_npu  # noqa: F401

    if not _is_softacl():
        raise RuntimeError("softacl.torch needs softacl: run the program with `softacl run`")
    library = ctypes.CDLL(str(extension.build()))
    library.softacl_torch_register.restype = ctypes.c_char_p
    error = library.softacl_torch_register()
    if error is not None:
        raise RuntimeError(f"softacl: registering the kernels for PyTorch failed: {error.decode()}")
    library.softacl_torch_operators.restype = ctypes.c_char_p
    _library = library
    from softacl.torch import references  # noqa: F401  (registers the operators that are written in Python)

    _refuse_profiler()


def register(name: str, function: Callable[..., Any]) -> None:
    """Computes an operator of the device "npu" by a Python function, composed of operators of PyTorch.

        softacl.torch.register("mine::scale", lambda x, factor: x * factor)

    The function receives arguments by the names of the schema. It runs at the call, on tensors of the device, and
    must not read values; registration.py says why.
    """
    load()
    from softacl.torch import registration

    registration.register(name, function)


def operators(kind: str) -> List[str]:
    """Returns the names of operators: those `computed` here, `composed` of others, `refused`, `waiting` for their
    result, or `registered` as Python functions."""
    load()
    from softacl.torch import registration

    registered = registration.registered()
    if kind == "registered":
        return registered
    index = ["computed", "composed", "refused", "waiting"].index(kind)
    names = _library.softacl_torch_operators(index).decode().split()
    return [name for name in names if name not in registered]


def _refuse_profiler() -> None:
    """Makes the profiler of torch_npu raise. It would log another error and write a profile without tasks."""
    import torch_npu

    def refuse(*_arguments: Any, **_named: Any) -> None:
        raise NotImplementedError("softacl does not support torch_npu.profiler; `softacl trace` draws the timeline of a program")

    for name in ("profile", "_KinetoProfile"):
        # Not __init__: the destructor expects a complete object.
        getattr(torch_npu.profiler, name).__new__ = refuse


def _is_softacl() -> bool:
    """Returns True if the libascendcl.so of this process is softacl."""
    try:
        library = ctypes.CDLL("libascendcl.so", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return False
    return hasattr(library, "softaclLaunchKernel")
