"""A pyACL program that offloads blocks of a cache to the host and reloads them in another order.

    source set_env.sh && python offload.py

It only needs `import acl`, contains nothing specific to softacl, and runs unchanged on a host with a card.
"""

import acl

BLOCK, BLOCKS = 4096, 32
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2


def check(ret, call):
    if ret != 0:
        raise RuntimeError(f"{call} returned {ret}: {acl.get_recent_err_msg()}")


def value_of(result, call):
    *values, ret = result
    check(ret, call)
    return values[0]


def copy(targets, sources, kind, stream):
    for target, source in zip(targets, sources):
        check(acl.rt.memcpy_async(target, BLOCK, source, BLOCK, kind, stream), "memcpy_async")


def main():
    check(acl.rt.set_device(0), "set_device")
    stream = value_of(acl.rt.create_stream(), "create_stream")
    cache = value_of(acl.rt.malloc(BLOCK * BLOCKS, 0), "malloc")
    pool = value_of(acl.rt.malloc_host(BLOCK * BLOCKS), "malloc_host")

    contents = bytes((block * 7 + at) % 251 for block in range(BLOCKS) for at in range(BLOCK))
    check(acl.rt.memcpy(cache, len(contents), acl.util.bytes_to_ptr(contents), len(contents), HOST_TO_DEVICE), "memcpy")

    offloaded = list(range(0, BLOCKS, 2))
    slots = [pool + BLOCK * slot for slot in range(len(offloaded))]
    copy(slots, [cache + BLOCK * block for block in offloaded], DEVICE_TO_HOST, stream)
    # The blocks return in another order.
    reloaded = offloaded[::-1]
    copy([cache + BLOCK * block for block in reloaded], slots, HOST_TO_DEVICE, stream)
    check(acl.rt.synchronize_stream(stream), "synchronize_stream")

    found = bytes(len(contents))
    check(acl.rt.memcpy(acl.util.bytes_to_ptr(found), len(found), cache, len(found), DEVICE_TO_HOST), "memcpy")
    expected = bytearray(contents)
    for was, now in zip(offloaded, reloaded):
        expected[BLOCK * now:BLOCK * (now + 1)] = contents[BLOCK * was:BLOCK * (was + 1)]
    assert found == bytes(expected), "a block has the wrong contents"

    check(acl.rt.free(cache), "free")
    check(acl.rt.free_host(pool), "free_host")
    check(acl.rt.destroy_stream(stream), "destroy_stream")
    check(acl.rt.reset_device(0), "reset_device")
    print(f"{len(offloaded)} blocks of {BLOCK} bytes offloaded and reloaded")


if __name__ == "__main__":
    main()
