"""softacl: AscendCL without the NPU.

The module `acl`, which is installed beside this package, is all that a pyACL program needs. This package
contains the library, the C headers and a pytest plugin:

    @pytest.mark.softacl(soc="Ascend910C", schedules=["early", "late"], seeds=3)
    def test_my_copies(softacl): ...
"""

import os
import sys

__version__ = "0.1.0"

_HERE = os.path.dirname(os.path.abspath(__file__))


def _root() -> str:
    """Returns the directory with lib64 and include: the package in a wheel, the prefix in an installation."""
    if os.path.isdir(os.path.join(_HERE, "lib64")):
        return _HERE
    return os.path.normpath(os.path.join(_HERE, "..", "..", ".."))


def library_path() -> str:
    """Returns the path of libascendcl.so, for linking extensions or loading it with ctypes."""
    return os.path.join(_root(), "lib64", "libascendcl.so")


def include_path() -> str:
    """Returns the directory of the C headers: compile with -I and include acl/acl.h."""
    return os.path.join(_root(), "include")


# `pytest -p softacl` looks for hooks and fixtures in this module. Other programs do not need pytest.
if "pytest" in sys.modules:
    from softacl.plugin import *  # noqa: F403
