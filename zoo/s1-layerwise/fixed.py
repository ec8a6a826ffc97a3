"""Loads a KV cache on one stream and uses it on another, with an event per layer.

buggy.py records the event of a layer before each of its copies, so it does not cover the last
block.
fixed.py records the event after each copy.
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


LAYERS, BLOCKS, BLOCK = 3, 4, 4096
LAYER = BLOCKS * BLOCK


def main():
    check(acl.init())
    check(acl.rt.set_device(0))
    load = take(acl.rt.create_stream())
    compute = take(acl.rt.create_stream())
    events = [take(acl.rt.create_event_ex_with_flag(1)) for _ in range(LAYERS)]
    host = take(acl.rt.malloc_host(LAYERS * LAYER))
    cache = take(acl.rt.malloc(LAYERS * LAYER, 0))
    used = take(acl.rt.malloc(LAYERS * LAYER, 0))
    check(acl.rt.memset(cache, LAYERS * LAYER, 0, LAYERS * LAYER))
    ctypes.memset(host, 7, LAYERS * LAYER)

    for layer in range(LAYERS):
        for block in range(BLOCKS):
            at = layer * LAYER + block * BLOCK
            check(acl.rt.memcpy_async(cache + at, LAYERS * LAYER - at, host + at, BLOCK, H2D, load))
            check(acl.rt.record_event(events[layer], load))
    for layer in range(LAYERS):
        at = layer * LAYER
        check(acl.rt.stream_wait_event(compute, events[layer]))
        check(acl.rt.memcpy_async(used + at, LAYERS * LAYER - at, cache + at, LAYER, D2D, compute))
    check(acl.rt.synchronize_stream(compute))
    check(acl.rt.synchronize_stream(load))

    back = ctypes.create_string_buffer(LAYERS * LAYER)
    check(acl.rt.memcpy(ctypes.addressof(back), LAYERS * LAYER, used, LAYERS * LAYER, D2H))
    wrong = LAYERS * LAYER - back.raw.count(b"\x07")
    for address in (cache, used):
        check(acl.rt.free(address))
    check(acl.rt.free_host(host))
    for event in events:
        check(acl.rt.destroy_event(event))
    for stream in (load, compute):
        check(acl.rt.destroy_stream(stream))
    check(acl.rt.reset_device(0))
    check(acl.finalize())
    verdict(wrong // BLOCK, LAYERS * BLOCKS, "blocks")


main()
