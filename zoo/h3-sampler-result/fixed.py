"""Downloads the sampled tokens of a step into a pinned array and reads them.

buggy.py reads the array before the download has finished, and gets the tokens of the previous step
or none.
fixed.py waits for the download first.
Modeled on https://github.com/vllm-project/vllm-ascend/pull/3005.
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


REQUESTS = 512
SIZE = REQUESTS * 4


def main():
    check(acl.init())
    check(acl.rt.set_device(0))
    stream = take(acl.rt.create_stream())
    sampled = take(acl.rt.malloc(SIZE, 0))
    host = take(acl.rt.malloc_host(SIZE))
    ctypes.memset(host, 0, SIZE)
    check(acl.rt.memset(sampled, SIZE, 3, SIZE))

    check(acl.rt.memcpy_async(host, SIZE, sampled, SIZE, D2H, stream))
    check(acl.rt.synchronize_stream(stream))
    tokens = ctypes.string_at(host, SIZE)

    wrong = SIZE - tokens.count(b"\x03")
    check(acl.rt.free_host(host))
    check(acl.rt.free(sampled))
    check(acl.rt.destroy_stream(stream))
    check(acl.rt.reset_device(0))
    check(acl.finalize())
    verdict(wrong // 4, REQUESTS, "tokens")


main()
