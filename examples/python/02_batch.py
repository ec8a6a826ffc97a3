"""Many blocks with one call, as a KV-cache moves them.

memcpy_batch and memcpy_batch_async are softacl's own in Python: pyACL does not have them, and
Python programs for cards reach aclrtMemcpyBatchAsync through C++. Addresses and sizes are lists of
integers, or contiguous numpy arrays of 64-bit integers, which are used without a copy.
"""

import sys

import acl

ACL_SUCCESS = 0
ACL_MEM_MALLOC_HUGE_FIRST = 0
ACL_MEM_LOCATION_TYPE_HOST = 0
ACL_MEM_LOCATION_TYPE_DEVICE = 1

BLOCKS = 256
BLOCK_SIZE = 4096
TOTAL = BLOCKS * BLOCK_SIZE


def check(name: str, ret: int) -> None:
    """Ends the program when a call has failed."""
    if ret != ACL_SUCCESS:
        sys.exit(f"{name} failed with {ret}: {acl.get_recent_err_msg()}")


def main() -> None:
    check("init", acl.init())
    check("set_device", acl.rt.set_device(0))
    stream, ret = acl.rt.create_stream()
    check("create_stream", ret)
    cache, ret = acl.rt.malloc(TOTAL, ACL_MEM_MALLOC_HUGE_FIRST)
    check("malloc", ret)
    pool, ret = acl.rt.malloc_host(TOTAL)
    check("malloc_host", ret)

    blocks = [bytes([number % 251]) * BLOCK_SIZE for number in range(BLOCKS)]
    data = b"".join(blocks)
    check("memcpy", acl.rt.memcpy(cache, TOTAL, acl.util.bytes_to_ptr(data), TOTAL, 1))

    # Every second block goes to the pool, in reverse: one attribute describes all of the items.
    chosen = list(range(BLOCKS - 1, 0, -2))
    srcs = [cache + number * BLOCK_SIZE for number in chosen]
    dsts = [pool + place * BLOCK_SIZE for place in range(len(chosen))]
    sizes = [BLOCK_SIZE] * len(chosen)
    device = {"id": 0, "type": ACL_MEM_LOCATION_TYPE_DEVICE}
    host = {"id": 0, "type": ACL_MEM_LOCATION_TYPE_HOST}
    failed, ret = acl.rt.memcpy_batch_async(
        dsts, sizes, srcs, sizes, [{"dstLoc": host, "srcLoc": device}], [0], stream
    )
    if ret != ACL_SUCCESS:
        sys.exit(f"memcpy_batch_async failed with {ret} at item {failed}")
    check("synchronize_stream", acl.rt.synchronize_stream(stream))
    expected = b"".join(blocks[number] for number in chosen)
    if acl.util.ptr_to_bytes(pool, len(expected)) != expected:
        sys.exit("the pool has the wrong blocks")

    # The first item cannot go this way: its index comes back, and nothing else tells which it was.
    failed, ret = acl.rt.memcpy_batch(dsts, sizes, srcs, sizes, [{"dstLoc": device, "srcLoc": host}], [0])
    if (failed, ret) != (0, 107000):
        sys.exit(f"a wrong direction gave {ret} at item {failed}")

    print(f"02_batch: {len(chosen)} blocks of {BLOCK_SIZE} bytes with one call")
    check("free_host", acl.rt.free_host(pool))
    check("free", acl.rt.free(cache))
    check("destroy_stream", acl.rt.destroy_stream(stream))
    check("reset_device", acl.rt.reset_device(0))
    check("finalize", acl.finalize())


if __name__ == "__main__":
    main()
