"""Hands a block from a load stream to a compute stream with an event.

buggy.py destroys the event as soon as its record and the wait for it are submitted. Neither of them
has run yet.
fixed.py destroys the event after the compute stream has been synchronized.
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


SIZE = 8192


def main():
    check(acl.init())
    check(acl.rt.set_device(0))
    load = take(acl.rt.create_stream())
    compute = take(acl.rt.create_stream())
    host = take(acl.rt.malloc_host(SIZE))
    block = take(acl.rt.malloc(SIZE, 0))
    work = take(acl.rt.malloc(SIZE, 0))
    ctypes.memset(host, 6, SIZE)

    loaded = take(acl.rt.create_event_ex_with_flag(1))
    check(acl.rt.memcpy_async(block, SIZE, host, SIZE, H2D, load))
    check(acl.rt.record_event(loaded, load))
    check(acl.rt.stream_wait_event(compute, loaded))
    check(acl.rt.memcpy_async(work, SIZE, block, SIZE, D2D, compute))
    check(acl.rt.synchronize_stream(compute))
    check(acl.rt.memcpy_async(block, SIZE, host, SIZE, H2D, load))  # the next block
    check(acl.rt.destroy_event(loaded))

    check(acl.rt.synchronize_stream(load))
    back = ctypes.create_string_buffer(SIZE)
    check(acl.rt.memcpy(ctypes.addressof(back), SIZE, work, SIZE, D2H))
    wrong = SIZE - back.raw.count(b"\x06")
    for address in (block, work):
        check(acl.rt.free(address))
    check(acl.rt.free_host(host))
    for stream in (load, compute):
        check(acl.rt.destroy_stream(stream))
    check(acl.rt.reset_device(0))
    check(acl.finalize())
    verdict(wrong, SIZE, "bytes")


main()
