"""Clears a block on each of two devices. The streams of both devices are in one table.

buggy.py uses the stream of device 0 while device 1 is current. The stream belongs to the context of
the other device, so the call fails with 107003.
fixed.py takes the stream of the current device.
Modeled on https://github.com/kvcache-ai/Mooncake/pull/4026.
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


SIZE = 4096


def main():
    check(acl.init())
    streams, blocks, wrong = [], [], 0
    for device in range(2):
        check(acl.rt.set_device(device))
        streams.append(take(acl.rt.create_stream()))
        blocks.append(take(acl.rt.malloc(SIZE, 0)))

    for device in range(2):
        check(acl.rt.set_device(device))
        stream = streams[0]
        ret = acl.rt.memset_async(blocks[device], SIZE, 0, SIZE, stream)
        if ret != 0:
            print(f"memset_async: {ret} {acl.get_recent_err_msg()}")
            wrong += 1
        check(acl.rt.synchronize_stream(stream))

    for device in range(2):
        check(acl.rt.set_device(device))
        check(acl.rt.free(blocks[device]))
        check(acl.rt.destroy_stream(streams[device]))
    for device in range(2):
        for _ in range(3):  # once per set_device
            check(acl.rt.reset_device(device))
    check(acl.finalize())
    verdict(wrong, 2, "blocks")


main()
