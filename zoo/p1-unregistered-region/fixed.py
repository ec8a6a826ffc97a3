"""Offloads a block into a region that the program has mapped.

buggy.py does not register the region. The copy is marked as non-blocking but blocks, because its
host memory is not pinned.
fixed.py registers the region as pinned memory.
Modeled on https://github.com/vllm-project/vllm-ascend/pull/10205.
"""

import mmap

import ctypes
import sys

import acl

H2D, D2H, D2D = 1, 2, 3


def check(ret):
    if ret != 0:
        sys.exit(f"failed with {ret}: {acl.get_recent_err_msg()}")


def take(result):
    """Returns the value of a (value, code) result; exits if the call failed."""
    value, ret = result
    check(ret)
    return value


def verdict(wrong, total, what):
    print(f"wrong: {wrong} of {total} {what}" if wrong else f"right: {total} {what}")


SIZE = 65536
PINNED = 0x10000000


def main():
    check(acl.init())
    check(acl.rt.set_device(0))
    stream = take(acl.rt.create_stream())
    block = take(acl.rt.malloc(SIZE, 0))
    region = mmap.mmap(-1, SIZE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(region))
    check(acl.rt.host_register_v2(address, SIZE, PINNED))

    check(acl.rt.memset_async(block, SIZE, 6, SIZE, stream))
    check(acl.rt.memcpy_async(address, SIZE, block, SIZE, D2H, stream))
    check(acl.rt.synchronize_stream(stream))

    wrong = SIZE - ctypes.string_at(address, SIZE).count(b"\x06")
    check(acl.rt.host_unregister(address))
    check(acl.rt.free(block))
    check(acl.rt.destroy_stream(stream))
    check(acl.rt.reset_device(0))
    check(acl.finalize())
    verdict(wrong, SIZE, "bytes")


main()
