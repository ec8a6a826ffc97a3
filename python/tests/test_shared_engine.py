"""A C library in the process uses the same engine as the module, in either load order."""

import os
import pathlib
import shutil
import subprocess

import pytest

from support import library_path, run_python

pytestmark = [pytest.mark.bare, pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")]

SOURCE = r"""
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef int aclError;
aclError aclrtMalloc(void **pointer, size_t size, int policy);
aclError aclrtFree(void *pointer);
aclError aclrtMemcpy(void *dst, size_t max, const void *src, size_t count, int kind);
aclError aclrtMemcpyAsync(void *dst, size_t max, const void *src, size_t count, int kind, void *stream);
aclError aclrtSynchronizeStream(void *stream);
aclError aclrtGetDevice(int32_t *device);

/* Adds one to every byte of device memory. */
int increment(void *device, size_t size, void *stream)
{
    unsigned char bytes[256];
    aclError code;
    if (size > sizeof bytes) {
        return -1;
    }
    code = aclrtMemcpyAsync(bytes, size, device, size, 2, stream);
    if (code != 0) {
        return code;
    }
    for (size_t i = 0; i < size; i++) {
        bytes[i]++;
    }
    code = aclrtMemcpyAsync(device, size, bytes, size, 1, stream);
    return code != 0 ? code : aclrtSynchronizeStream(stream);
}

/* Returns device memory that contains the text, or NULL. */
void *make(const char *text)
{
    void *device = NULL;
    size_t size = strlen(text);
    if (aclrtMalloc(&device, size, 0) != 0 || aclrtMemcpy(device, size, text, size, 1) != 0) {
        return NULL;
    }
    return device;
}

int current_device(void)
{
    int32_t device = -1;
    return aclrtGetDevice(&device) == 0 ? device : -1;
}
"""

PROGRAM = """
import ctypes, sys

def load():
    global native
    native = ctypes.CDLL(sys.argv[2])
    native.increment.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    native.make.argtypes, native.make.restype = [ctypes.c_char_p], ctypes.c_void_p

if sys.argv[1] == "library":
    load()
    import acl
else:
    import acl
    load()

from acl import rt
assert rt.set_device(1) == 0
assert native.current_device() == 1, native.current_device()

# Python's memory and stream in C.
stream, ret = rt.create_stream()
assert ret == 0
device, ret = rt.malloc(100, 0)
assert ret == 0
data, result = bytes(range(100)), bytes(100)
assert rt.memcpy(device, 100, acl.util.bytes_to_ptr(data), 100, 1) == 0
assert native.increment(device, 100, stream) == 0
assert rt.memcpy(acl.util.bytes_to_ptr(result), 100, device, 100, 2) == 0
assert result == bytes(range(1, 101)), result

# C's memory in Python.
made = native.make(b"from C")
assert made
assert rt.pointer_get_attributes(made)[0]["location"] == {"id": 1, "type": 1}
text = bytes(6)
assert rt.memcpy(acl.util.bytes_to_ptr(text), 6, made, 6, 2) == 0
assert text == b"from C", text
assert rt.free(made) == 0
assert rt.reset_device(1) == 0
with open("/proc/self/maps") as maps:
    print(len({line.split()[-1] for line in maps if line.rstrip().endswith("/libascendcl.so")}))
"""


def build(directory: pathlib.Path, libraries: str) -> str:
    """Compiles the library against the libascendcl.so of a directory."""
    source, output = directory / "native.c", directory / "libnative.so"
    source.write_text(SOURCE, encoding="utf-8")
    command = ["gcc", "-shared", "-fPIC", "-O1", "-Wall", str(source), "-o", str(output)]
    command += [f"-L{libraries}", "-lascendcl", f"-Wl,-rpath,{libraries}"]
    subprocess.run(command, check=True, timeout=60)
    return str(output)


@pytest.mark.parametrize("first", ["module", "library"])
def test_pointers_are_valid_in_python_and_c(first: str, tmp_path: pathlib.Path) -> None:
    native = build(tmp_path, os.path.dirname(library_path()))
    assert run_python(PROGRAM, first, native).strip() == "1"


def test_second_library_loaded_after_the_module_shares_the_engine(tmp_path: pathlib.Path) -> None:
    native = build(tmp_path, copy_library(tmp_path))
    assert run_python(PROGRAM, "module", native).strip() == "1"


def test_second_library_loaded_before_the_module_shares_the_engine(tmp_path: pathlib.Path) -> None:
    native = build(tmp_path, copy_library(tmp_path))
    assert run_python(PROGRAM, "library", native).strip() == "1"


def test_other_names_of_the_library_are_the_same_engine() -> None:
    code = """
import ctypes, pathlib, sys
from acl import rt
assert rt.set_device(1) == 0
others = {"libascendcl.so", "libhccl.so", "libhcomm.so"}
names = [path for path in pathlib.Path(sys.argv[1]).parent.glob("lib*.so") if path.name not in others]
for path in names:
    device = ctypes.c_int32(-1)
    assert ctypes.CDLL(str(path)).aclrtGetDevice(ctypes.byref(device)) == 0 and device.value == 1, path
print(len(names))
"""
    assert run_python(code, library_path()).strip() == "8"


def copy_library(directory: pathlib.Path) -> str:
    """Copies the library to another directory, like an installation beside a wheel."""
    target = directory / "installed"
    target.mkdir()
    shutil.copy(library_path(), target / "libascendcl.so")
    return str(target)
