"""Copies with a descriptor: the device reads source, destination and size when the copy runs.

A descriptor is in device memory, so a copy can be queued early and its operands decided late. In
set_memcpy_desc the source comes before the destination, and the configuration is 0, not None. The
default stream 0 is not accepted.
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
    """Exits with an error message if a call failed."""
    if ret != ACL_SUCCESS:
        sys.exit(f"{name} failed with {ret}: {acl.get_recent_err_msg()}")


def malloc(size: int) -> int:
    """Allocates device memory."""
    ptr, ret = acl.rt.malloc(size, ACL_MEM_MALLOC_HUGE_FIRST)
    check("malloc", ret)
    return ptr


def download(ptr: int) -> bytes:
    """Returns the contents of device memory."""
    data = bytes(SIZE)
    check("memcpy", acl.rt.memcpy(acl.util.bytes_to_ptr(data), SIZE, ptr, SIZE, ACL_MEMCPY_DEVICE_TO_HOST))
    return data


def main() -> None:
    check("init", acl.init())
    check("set_device", acl.rt.set_device(0))
    desc_size, ret = acl.rt.get_memcpy_desc_size(ACL_MEMCPY_INNER_DEVICE_TO_DEVICE)
    if ret == ACL_ERROR_RT_FEATURE_NOT_SUPPORT:
        print(f"03_descriptor: {acl.get_soc_name()} has no copy descriptors")
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

    # Two copies with one descriptor, which is rewritten in between.
    for target in (first, second):
        same, ret = acl.rt.set_memcpy_desc(desc, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, source, target, SIZE, 0)
        check("set_memcpy_desc", ret)
        if same != desc:
            sys.exit("set_memcpy_desc returned another descriptor")
        ret = acl.rt.memcpy_async_with_desc(desc, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, stream)
        check("memcpy_async_with_desc", ret)
        check("synchronize_stream", acl.rt.synchronize_stream(stream))  # before the descriptor is rewritten
        if download(target) != data:
            sys.exit("a copy with a descriptor returned the wrong bytes")

    print(f"03_descriptor: {SIZE} bytes copied twice with one descriptor of {desc_size} bytes")
    for ptr in (second, first, source, desc):
        check("free", acl.rt.free(ptr))
    check("destroy_stream", acl.rt.destroy_stream(stream))
    check("reset_device", acl.rt.reset_device(0))
    check("finalize", acl.finalize())


if __name__ == "__main__":
    main()
