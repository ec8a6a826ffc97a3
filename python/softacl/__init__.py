"""softacl: AscendCL without the NPU.

The module `acl`, which is installed beside this package, is all that a pyACL program needs. This package
contains the library, the C headers, gates for tests and a pytest plugin:

    @pytest.mark.softacl(soc="Ascend910C", schedules=["early", "late"], seeds=3)
    def test_my_copies(softacl): ...
"""

import ctypes
import os
import sys

__version__ = "0.2.0"

_HERE = os.path.dirname(os.path.abspath(__file__))


def _root() -> str:
    """Returns the directory with lib64 and include: the package in a wheel, the prefix in an installation."""
    if os.path.isdir(os.path.join(_HERE, "lib64")):
        return _HERE
    return os.path.normpath(os.path.join(_HERE, "..", "..", ".."))


def prefix() -> str:
    """Returns the directory with bin, lib64, include and set_env.sh."""
    return _root()


def library_path() -> str:
    """Returns the path of libascendcl.so, for linking extensions or loading it with ctypes."""
    return os.path.join(_root(), "lib64", "libascendcl.so")


def include_path() -> str:
    """Returns the directory of the C headers: compile with -I and include acl/acl.h."""
    return os.path.join(_root(), "include")


def annotate_alloc(ptr: int, size: int, stream: int = 0) -> None:
    """Declares to the checker that an allocator of the program returns a block. See softacl/annotate.h."""
    _annotate("softaclAnnotateAlloc", ptr, size, stream)


def annotate_free(ptr: int, size: int, stream: int = 0) -> None:
    """Declares to the checker that an allocator of the program frees a block, in the order of a stream. See
    softacl/annotate.h."""
    _annotate("softaclAnnotateFree", ptr, size, stream)


def _annotate(function: str, ptr: int, size: int, stream: int) -> None:
    """Calls an annotation, if the library that this process uses is softacl."""
    try:
        library = ctypes.CDLL("libascendcl.so", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return
    call = getattr(library, function, None)
    if call is None:
        return
    code = call(ctypes.c_void_p(ptr), ctypes.c_size_t(size), ctypes.c_void_p(stream))
    if code != 0:
        raise RuntimeError(f"{function} returned {code}")


from softacl.gates import HiddenSync, Slice, Timeline, no_hidden_sync, timeline  # noqa: E402

__all__ = [
    "HiddenSync",
    "Slice",
    "Timeline",
    "annotate_alloc",
    "annotate_free",
    "include_path",
    "library_path",
    "no_hidden_sync",
    "prefix",
    "timeline",
]

# `pytest -p softacl` looks for hooks and fixtures in this module. Other programs do not need pytest.
if "pytest" in sys.modules:
    from softacl.plugin import *  # noqa: F403
