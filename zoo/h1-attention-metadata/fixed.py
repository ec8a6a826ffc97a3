"""Sequence lengths of each decode step go to the device from one pinned array."""

import ctypes
import sys

import acl

H2D, D2H, D2D = 1, 2, 3


def check(ret):
    if ret != 0:
        sys.exit(f"failed with {ret}: {acl.get_recent_err_msg()}")


def take(result):
    """The value of a call that returns (value, code)."""
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
            lengths[request] = 100 + step  # every request has one token more
        place = device + step * SIZE
        check(acl.rt.memcpy_async(place, (STEPS - step) * SIZE, pinned, SIZE, H2D, stream))
        check(acl.rt.synchronize_stream(stream))

    back = (ctypes.c_uint32 * (STEPS * REQUESTS))()
    check(acl.rt.memcpy(ctypes.addressof(back), STEPS * SIZE, device, STEPS * SIZE, D2H))
    wrong = sum(value != 100 + place // REQUESTS for place, value in enumerate(back))
    check(acl.rt.free(device))
    check(acl.rt.free_host(pinned))
    check(acl.rt.destroy_stream(stream))
    check(acl.rt.reset_device(0))
    check(acl.finalize())
    verdict(wrong, STEPS * REQUESTS, "lengths")


main()
