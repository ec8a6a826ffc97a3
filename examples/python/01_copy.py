"""Copies bytes to the device and back, blocking and asynchronously.

The blocking copies use bytes objects, the asynchronous ones pinned memory. A blocking copy is done
when the call returns; an asynchronous one is done after a wait for its stream.
"""

import sys

import acl

ACL_SUCCESS = 0
ACL_MEM_MALLOC_HUGE_FIRST = 0
ACL_MEMCPY_HOST_TO_DEVICE = 1
ACL_MEMCPY_DEVICE_TO_HOST = 2
ACL_MEMCPY_DEVICE_TO_DEVICE = 3

SIZE = 100_000


def check(name: str, ret: int) -> None:
    """Exits with an error message if a call failed."""
    if ret != ACL_SUCCESS:
        sys.exit(f"{name} failed with {ret}: {acl.get_recent_err_msg()}")


def main() -> None:
    check("init", acl.init())
    check("set_device", acl.rt.set_device(0))
    stream, ret = acl.rt.create_stream()
    check("create_stream", ret)
    first, ret = acl.rt.malloc(SIZE, ACL_MEM_MALLOC_HUGE_FIRST)
    check("malloc", ret)
    second, ret = acl.rt.malloc(SIZE, ACL_MEM_MALLOC_HUGE_FIRST)
    check("malloc", ret)
    pinned, ret = acl.rt.malloc_host(SIZE)
    check("malloc_host", ret)

    # Blocking: pointers are plain integers. bytes_to_ptr does not keep the bytes object alive.
    data = bytes(i * 7 % 251 for i in range(SIZE))
    ret = acl.rt.memcpy(first, SIZE, acl.util.bytes_to_ptr(data), SIZE, ACL_MEMCPY_HOST_TO_DEVICE)
    check("memcpy to the device", ret)
    result = bytes(SIZE)
    ret = acl.rt.memcpy(acl.util.bytes_to_ptr(result), SIZE, first, SIZE, ACL_MEMCPY_DEVICE_TO_HOST)
    check("memcpy from the device", ret)
    if result != data:
        sys.exit("the blocking copies returned the wrong bytes")

    # Asynchronous: both calls return at once, and the stream keeps the copies in order.
    ret = acl.rt.memcpy_async(second, SIZE, first, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream)
    check("memcpy_async within the device", ret)
    ret = acl.rt.memcpy_async(pinned, SIZE, second, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream)
    check("memcpy_async from the device", ret)
    check("synchronize_stream", acl.rt.synchronize_stream(stream))
    if acl.util.ptr_to_bytes(pinned, SIZE) != data:
        sys.exit("the asynchronous copies returned the wrong bytes")

    print(f"01_copy: {SIZE} bytes copied to {acl.get_soc_name()} and back, blocking and asynchronously")
    check("free_host", acl.rt.free_host(pinned))
    check("free", acl.rt.free(second))
    check("free", acl.rt.free(first))
    check("destroy_stream", acl.rt.destroy_stream(stream))
    check("reset_device", acl.rt.reset_device(0))
    check("finalize", acl.finalize())


if __name__ == "__main__":
    main()
