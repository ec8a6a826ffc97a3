"""Copies numpy arrays to the device and back, and uses pinned memory as an array.

array.ctypes.data is the address of an array. acl.util.numpy_to_ptr returns the same address, with a
deprecation warning. ptr_to_numpy creates an array that shares memory of the runtime and does not
keep it alive.
"""

import sys
import warnings

import acl
import numpy as np

ACL_SUCCESS = 0
ACL_MEM_MALLOC_HUGE_FIRST = 0
ACL_MEMCPY_HOST_TO_DEVICE = 1
ACL_MEMCPY_DEVICE_TO_HOST = 2
NPY_FLOAT32 = 11

ROWS, COLUMNS = 100, 64
SIZE = ROWS * COLUMNS * 4


def check(name: str, ret: int) -> None:
    """Exits with an error message if a call failed."""
    if ret != ACL_SUCCESS:
        sys.exit(f"{name} failed with {ret}: {acl.get_recent_err_msg()}")


def main() -> None:
    warnings.simplefilter("ignore", Warning)  # the numpy functions of pyACL are deprecated
    check("init", acl.init())
    check("set_device", acl.rt.set_device(0))
    stream, ret = acl.rt.create_stream()
    check("create_stream", ret)
    device, ret = acl.rt.malloc(SIZE, ACL_MEM_MALLOC_HUGE_FIRST)
    check("malloc", ret)
    pinned, ret = acl.rt.malloc_host(SIZE)
    check("malloc_host", ret)

    # To copy arrays asynchronously, create them in pinned memory.
    view = acl.util.ptr_to_numpy(pinned, (ROWS, COLUMNS), NPY_FLOAT32)
    view[:] = np.arange(ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)
    ret = acl.rt.memcpy_async(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream)
    check("memcpy_async", ret)
    check("synchronize_stream", acl.rt.synchronize_stream(stream))

    # An ordinary array as the destination. It must be contiguous; a slice of columns is not.
    result = np.zeros((ROWS, COLUMNS), dtype=np.float32)
    ret = acl.rt.memcpy(result.ctypes.data, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST)
    check("memcpy", ret)
    if not np.array_equal(result, view):
        sys.exit("the array has the wrong contents")

    # For other arrays, numpy_contiguous_to_ptr returns a contiguous copy and its address.
    address, transposed = acl.util.numpy_contiguous_to_ptr(result.T)
    ret = acl.rt.memcpy(device, SIZE, address, SIZE, ACL_MEMCPY_HOST_TO_DEVICE)
    check("memcpy", ret)
    back = bytes(SIZE)
    check("memcpy", acl.rt.memcpy(acl.util.bytes_to_ptr(back), SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST))
    if not np.array_equal(np.frombuffer(back, dtype=np.float32).reshape(COLUMNS, ROWS), transposed):
        sys.exit("the transposed array has the wrong contents")

    print(f"07_numpy: copied an array of {ROWS}x{COLUMNS} floats and its transpose")
    check("free_host", acl.rt.free_host(pinned))
    check("free", acl.rt.free(device))
    check("destroy_stream", acl.rt.destroy_stream(stream))
    check("reset_device", acl.rt.reset_device(0))
    check("finalize", acl.finalize())


if __name__ == "__main__":
    main()
