"""Uploads the sequence lengths of each decode step from one pinned array.

buggy.py updates the array in place for the next step while the upload of the previous one may still
be queued.
fixed.py waits for each upload before it updates the array.
Modeled on https://github.com/vllm-project/vllm-ascend/pull/14922.
"""

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


REQUESTS = 1024
SIZE = REQUESTS * 4
STEPS = 3


def main():
    check(acl.init())
    check(acl.rt.set_device(0))
    stream = take(acl.rt.create_stream())
    pinned = take(acl.rt.malloc_host(SIZE))
    device = take(acl.rt.malloc(STEPS * SIZE, 0))
    lengths = (ctypes.c_uint32 * REQUESTS).from_address(pinned)

    for step in range(STEPS):
        for request in range(REQUESTS):
            lengths[request] = 100 + step  # one more token per request
        target = device + step * SIZE
        check(acl.rt.memcpy_async(target, (STEPS - step) * SIZE, pinned, SIZE, H2D, stream))
    check(acl.rt.synchronize_stream(stream))

    back = (ctypes.c_uint32 * (STEPS * REQUESTS))()
    check(acl.rt.memcpy(ctypes.addressof(back), STEPS * SIZE, device, STEPS * SIZE, D2H))
    wrong = sum(value != 100 + index // REQUESTS for index, value in enumerate(back))
    check(acl.rt.free(device))
    check(acl.rt.free_host(pinned))
    check(acl.rt.destroy_stream(stream))
    check(acl.rt.reset_device(0))
    check(acl.finalize())
    verdict(wrong, STEPS * REQUESTS, "lengths")


main()
