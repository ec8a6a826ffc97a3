"""Copies many blocks with one call, as a KV cache does.

memcpy_batch and memcpy_batch_async are extensions of softacl. pyACL does not have them, and Python
programs for cards call aclrtMemcpyBatchAsync from C++. Addresses and sizes are lists of integers or
contiguous numpy arrays of 64-bit integers. Arrays are not copied.
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
    """Exits with an error message if a call failed."""
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

    blocks = [bytes([index % 251]) * BLOCK_SIZE for index in range(BLOCKS)]
    data = b"".join(blocks)
    check("memcpy", acl.rt.memcpy(cache, TOTAL, acl.util.bytes_to_ptr(data), TOTAL, 1))

    # Copies every second block to the pool, in reverse order. One attribute describes all entries.
    chosen = list(range(BLOCKS - 1, 0, -2))
    srcs = [cache + index * BLOCK_SIZE for index in chosen]
    dsts = [pool + slot * BLOCK_SIZE for slot in range(len(chosen))]
    sizes = [BLOCK_SIZE] * len(chosen)
    device = {"id": 0, "type": ACL_MEM_LOCATION_TYPE_DEVICE}
    host = {"id": 0, "type": ACL_MEM_LOCATION_TYPE_HOST}
    failed, ret = acl.rt.memcpy_batch_async(
        dsts, sizes, srcs, sizes, [{"dstLoc": host, "srcLoc": device}], [0], stream
    )
    if ret != ACL_SUCCESS:
        sys.exit(f"memcpy_batch_async failed with {ret} at entry {failed}")
    check("synchronize_stream", acl.rt.synchronize_stream(stream))
    expected = b"".join(blocks[index] for index in chosen)
    if acl.util.ptr_to_bytes(pool, len(expected)) != expected:
        sys.exit("the pool has the wrong blocks")

    # The first entry has the wrong direction. The call returns its index.
    failed, ret = acl.rt.memcpy_batch(dsts, sizes, srcs, sizes, [{"dstLoc": device, "srcLoc": host}], [0])
    if (failed, ret) != (0, 107000):
        sys.exit(f"a wrong direction returned {ret} at entry {failed}")

    print(f"02_batch: {len(chosen)} blocks of {BLOCK_SIZE} bytes copied with one call")
    check("free_host", acl.rt.free_host(pool))
    check("free", acl.rt.free(cache))
    check("destroy_stream", acl.rt.destroy_stream(stream))
    check("reset_device", acl.rt.reset_device(0))
    check("finalize", acl.finalize())


if __name__ == "__main__":
    main()
