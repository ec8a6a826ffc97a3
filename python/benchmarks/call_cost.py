"""Measures the cost of a call from Python: `python call_cost.py`.

Measures `acl.rt.memcpy_async` of 64 pinned bytes on an idle stream, a nearly empty C function called
the same way, and the C call in a C loop. The three alternate in one run, and the medians of the rounds
are printed. Needs gcc for the C loop.
"""

import ctypes
import json
import statistics
import subprocess
import sys
import tempfile
import time

import acl
import softacl

ROUNDS = 15
CALLS = 50_000

LOOP = r"""
#include <acl/acl.h>
#include <time.h>
double loop(void *dst, void *src, void *stream, int calls)
{
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int i = 0; i < calls; i++) aclrtMemcpyAsync(dst, 64, src, 64, ACL_MEMCPY_HOST_TO_DEVICE, stream);
    clock_gettime(CLOCK_MONOTONIC, &b);
    return ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / calls;
}
"""


def c_loop():
    directory = tempfile.mkdtemp()
    library = f"{directory}/loop.so"
    command = ["gcc", "-O2", "-shared", "-fPIC", f"-I{softacl.include_path()}", softacl.library_path()]
    command += ["-x", "c", "-", "-o", library]
    subprocess.run(command, input=LOOP.encode(), check=True)
    loop = ctypes.CDLL(library).loop
    loop.restype = ctypes.c_double
    loop.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]
    return loop


def per_call_ns(function, *arguments):
    """Returns the time of one call, without the loop around it."""
    iterations = range(CALLS)
    start = time.perf_counter_ns()
    for _ in iterations:
        function(*arguments)
    called = time.perf_counter_ns() - start
    start = time.perf_counter_ns()
    for _ in iterations:
        pass
    return (called - (time.perf_counter_ns() - start)) / CALLS


def main():
    assert acl.rt.set_device(0) == 0
    stream, _ = acl.rt.create_stream()
    device, _ = acl.rt.malloc(4096, 0)
    host, _ = acl.rt.malloc_host(4096)
    loop = c_loop()
    copies, empties, loops = [], [], []
    for _ in range(ROUNDS):
        copies.append(per_call_ns(acl.rt.memcpy_async, device, 64, host, 64, 1, stream))
        empties.append(per_call_ns(acl.rt.get_last_error, 0))
        loops.append(loop(device, host, stream, CALLS))
    copy, empty, plain = map(statistics.median, (copies, empties, loops))
    ratio = copy / (empty + plain)
    if "--json" in sys.argv:
        print(json.dumps({"memcpy_async_ns": copy, "empty_ns": empty, "c_call_ns": plain, "ratio": ratio}))
        return
    print(f"acl.rt.memcpy_async, 64 bytes     {copy:7.0f} ns")
    print(f"a nearly empty call               {empty:7.0f} ns")
    print(f"aclrtMemcpyAsync in a C loop      {plain:7.0f} ns")
    print(f"copy / (empty + C call)           {ratio:7.2f}   (target: at most 2.00)")


if __name__ == "__main__":
    main()
