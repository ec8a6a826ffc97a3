"""PyTorch computes on softacl: kernels for the device "npu" of torch_npu.

`softacl run -- python …` and the entry point `torch.backends` of the softacl package load this module after
torch_npu. It compiles a C++ extension once. README.md in this directory says how the kernels work.
"""

import ctypes
import os
import sys
from typing import List

from softacl.torch import extension

__all__ = ["load", "operators"]

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


def operators(kind: str) -> List[str]:
    """Returns the names of operators: those `computed` here, `composed` of others, `refused`, or `waiting` for
    their result."""
    load()
    index = ["computed", "composed", "refused", "waiting"].index(kind)
    return _library.softacl_torch_operators(index).decode().split()


def _is_softacl() -> bool:
    """Returns True if the libascendcl.so of this process is softacl."""
    try:
        library = ctypes.CDLL("libascendcl.so", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return False
    return hasattr(library, "softaclLaunchKernel")
