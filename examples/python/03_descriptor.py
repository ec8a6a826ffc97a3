"""Copies by descriptor: the device looks up source, destination and length when the copy runs.

A descriptor is device memory. A copy that uses it can be queued early, and what it shall copy
decided late. Mind three things: the source comes before the destination, the configuration is 0
and not None, and the default stream 0 cannot be used.
"""

import sys

import acl

ACL_SUCCESS = 0
ACL_MEM_MALLOC_HUGE_FIRST = 0
ACL_MEMCPY_HOST_TO_DEVICE = 1
ACL_MEMCPY_DEVICE_TO_HOST = 2
ACL_MEMCPY_INNER_DEVICE_TO_DEVICE = 6
ACL_ERROR_RT_FEATURE_NOT_SUPPORT = 207000

SIZE = 4096


def check(name: str, ret: int) -> None:
    """Ends the program when a call has failed."""
    if ret != ACL_SUCCESS:
        sys.exit(f"{name} failed with {ret}: {acl.get_recent_err_msg()}")


def malloc(size: int) -> int:
    """Device memory."""
    ptr, ret = acl.rt.malloc(size, ACL_MEM_MALLOC_HUGE_FIRST)
    check("malloc", ret)
    return ptr


def look_at(ptr: int) -> bytes:
    """What is in device memory."""
    data = bytes(SIZE)
    check("memcpy", acl.rt.memcpy(acl.util.bytes_to_ptr(data), SIZE, ptr, SIZE, ACL_MEMCPY_DEVICE_TO_HOST))
    return data


def main() -> None:
    check("init", acl.init())
    check("set_device", acl.rt.set_device(0))
    desc_size, ret = acl.rt.get_memcpy_desc_size(ACL_MEMCPY_INNER_DEVICE_TO_DEVICE)
    if ret == ACL_ERROR_RT_FEATURE_NOT_SUPPORT:
        print(f"03_descriptor: {acl.get_soc_name()} has no copies by descriptor")
        return
    check("get_memcpy_desc_size", ret)
    stream, ret = acl.rt.create_stream()
    check("create_stream", ret)
    desc, source, first, second = malloc(desc_size), malloc(SIZE), malloc(SIZE), malloc(SIZE)
    data = bytes(i * 7 % 251 for i in range(SIZE))
    ret = acl.rt.memcpy(source, SIZE, acl.util.bytes_to_ptr(data), SIZE, ACL_MEMCPY_HOST_TO_DEVICE)
    check("memcpy", ret)
    for ptr in (first, second):
        check("memset", acl.rt.memset(ptr, SIZE, 0, SIZE))

    # The same descriptor, launched twice with another content in between.
    for target in (first, second):
        same, ret = acl.rt.set_memcpy_desc(desc, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, source, target, SIZE, 0)
        check("set_memcpy_desc", ret)
        if same != desc:
            sys.exit("the descriptor did not come back")
        ret = acl.rt.memcpy_async_with_desc(desc, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, stream)
        check("memcpy_async_with_desc", ret)
        check("synchronize_stream", acl.rt.synchronize_stream(stream))  # before it is rewritten
        if look_at(target) != data:
            sys.exit("a copy by descriptor is wrong")

    print(f"03_descriptor: {SIZE} bytes, twice, by one descriptor of {desc_size} bytes")
    for ptr in (second, first, source, desc):
        check("free", acl.rt.free(ptr))
    check("destroy_stream", acl.rt.destroy_stream(stream))
    check("reset_device", acl.rt.reset_device(0))
    check("finalize", acl.finalize())


if __name__ == "__main__":
    main()
