"""A pyACL program: blocks of a cache go to the host and come back, in another order.

    source set_env.sh && python offload.py

Only `import acl`: nothing in it knows softacl, and the same file is for a machine with a card.
"""

import acl

BLOCK, BLOCKS = 4096, 32
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2


def check(ret, call):
    if ret != 0:
        raise RuntimeError(f"{call} gave {ret}: {acl.get_recent_err_msg()}")


def made(result, call):
    *values, ret = result
    check(ret, call)
    return values[0]


def copy(targets, sources, kind, stream):
    for target, source in zip(targets, sources):
        check(acl.rt.memcpy_async(target, BLOCK, source, BLOCK, kind, stream), "memcpy_async")


def main():
    check(acl.rt.set_device(0), "set_device")
    stream = made(acl.rt.create_stream(), "create_stream")
    cache = made(acl.rt.malloc(BLOCK * BLOCKS, 0), "malloc")
    pool = made(acl.rt.malloc_host(BLOCK * BLOCKS), "malloc_host")

    contents = bytes((number * 7 + at) % 251 for number in range(BLOCKS) for at in range(BLOCK))
    check(acl.rt.memcpy(cache, len(contents), acl.util.bytes_to_ptr(contents), len(contents), HOST_TO_DEVICE), "memcpy")

    waiting = list(range(0, BLOCKS, 2))
    there = [pool + BLOCK * slot for slot in range(len(waiting))]
    copy(there, [cache + BLOCK * block for block in waiting], DEVICE_TO_HOST, stream)
    # They come back in another order.
    back = waiting[::-1]
    copy([cache + BLOCK * block for block in back], there, HOST_TO_DEVICE, stream)
    check(acl.rt.synchronize_stream(stream), "synchronize_stream")

    found = bytes(len(contents))
    check(acl.rt.memcpy(acl.util.bytes_to_ptr(found), len(found), cache, len(found), DEVICE_TO_HOST), "memcpy")
    expected = bytearray(contents)
    for was, now in zip(waiting, back):
        expected[BLOCK * now:BLOCK * (now + 1)] = contents[BLOCK * was:BLOCK * (was + 1)]
    assert found == bytes(expected), "a block came back wrong"

    check(acl.rt.free(cache), "free")
    check(acl.rt.free_host(pool), "free_host")
    check(acl.rt.destroy_stream(stream), "destroy_stream")
    check(acl.rt.reset_device(0), "reset_device")
    print(f"{len(waiting)} blocks of {BLOCK} bytes went to the host and came back")


if __name__ == "__main__":
    main()
