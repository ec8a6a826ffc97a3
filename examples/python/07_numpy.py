"""numpy arrays to the device and back, and a view on pinned memory.

An array lends its address with array.ctypes.data; acl.util.numpy_to_ptr gives the same and warns
that it will go away. ptr_to_numpy lays an array over memory of the runtime: writing to the one
writes to the other, and nothing keeps the memory alive for it.
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
    """Ends the program when a call has failed."""
    if ret != ACL_SUCCESS:
        sys.exit(f"{name} failed with {ret}: {acl.get_recent_err_msg()}")


def main() -> None:
    warnings.simplefilter("ignore", Warning)  # the numpy functions of pyACL announce their end
    check("init", acl.init())
    check("set_device", acl.rt.set_device(0))
    stream, ret = acl.rt.create_stream()
    check("create_stream", ret)
    device, ret = acl.rt.malloc(SIZE, ACL_MEM_MALLOC_HUGE_FIRST)
    check("malloc", ret)
    pinned, ret = acl.rt.malloc_host(SIZE)
    check("malloc_host", ret)

    # A view on pinned memory is the way to asynchronous copies of arrays.
    view = acl.util.ptr_to_numpy(pinned, (ROWS, COLUMNS), NPY_FLOAT32)
    view[:] = np.arange(ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)
    ret = acl.rt.memcpy_async(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream)
    check("memcpy_async", ret)
    check("synchronize_stream", acl.rt.synchronize_stream(stream))

    # An ordinary array as the destination. It is contiguous; a slice of columns would not be.
    result = np.zeros((ROWS, COLUMNS), dtype=np.float32)
    ret = acl.rt.memcpy(result.ctypes.data, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST)
    check("memcpy", ret)
    if not np.array_equal(result, view):
        sys.exit("the array came back wrong")

    # For one that is not, numpy_contiguous_to_ptr gives a copy to keep and its address.
    address, transposed = acl.util.numpy_contiguous_to_ptr(result.T)
    ret = acl.rt.memcpy(device, SIZE, address, SIZE, ACL_MEMCPY_HOST_TO_DEVICE)
    check("memcpy", ret)
    back = bytes(SIZE)
    check("memcpy", acl.rt.memcpy(acl.util.bytes_to_ptr(back), SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST))
    if not np.array_equal(np.frombuffer(back, dtype=np.float32).reshape(COLUMNS, ROWS), transposed):
        sys.exit("the transposed array came back wrong")

    print(f"07_numpy: an array of {ROWS}x{COLUMNS} floats there and back, and its transpose")
    check("free_host", acl.rt.free_host(pinned))
    check("free", acl.rt.free(device))
    check("destroy_stream", acl.rt.destroy_stream(stream))
    check("reset_device", acl.rt.reset_device(0))
    check("finalize", acl.finalize())


if __name__ == "__main__":
    main()
