"""A framework's feed() uploads a tensor of the user, who then fills it with the next sample.

buggy.py returns from feed() while the upload may still be queued. The user is not aware of the copy
and overwrites its source.
fixed.py waits for the upload in feed().
Modeled on https://github.com/PaddlePaddle/Paddle/pull/32563.
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


SIZE = 64 * 1024


def feed(device, tensor, stream):
    """Uploads a tensor of the caller, who may overwrite it when this function returns."""
    check(acl.rt.memcpy_async(device, SIZE, tensor, SIZE, H2D, stream))
    check(acl.rt.synchronize_stream(stream))


def main():
    check(acl.init())
    check(acl.rt.set_device(0))
    stream = take(acl.rt.create_stream())
    tensor = take(acl.rt.malloc_host(SIZE))
    inputs = [take(acl.rt.malloc(SIZE, 0)) for _ in range(2)]

    for step, device in enumerate(inputs):
        ctypes.memset(tensor, 1 + step, SIZE)
        feed(device, tensor, stream)
    check(acl.rt.synchronize_stream(stream))

    wrong = 0
    for step, device in enumerate(inputs):
        back = ctypes.create_string_buffer(SIZE)
        check(acl.rt.memcpy(ctypes.addressof(back), SIZE, device, SIZE, D2H))
        wrong += SIZE - back.raw.count(bytes([1 + step]))
        check(acl.rt.free(device))
    check(acl.rt.free_host(tensor))
    check(acl.rt.destroy_stream(stream))
    check(acl.rt.reset_device(0))
    check(acl.finalize())
    verdict(wrong, 2 * SIZE, "bytes of input")


main()
