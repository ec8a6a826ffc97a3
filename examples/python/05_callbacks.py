"""Runs Python functions in a stream.

A thread of the program waits in process_report and runs the functions that launch_callback queues
in the stream. A blocking callback blocks the stream until it returns, so later copies can use its
results. Here the callback changes the bytes between two copies.
"""

import ctypes
import sys
import threading

import acl

ACL_SUCCESS = 0
ACL_MEM_MALLOC_HUGE_FIRST = 0
ACL_MEMCPY_HOST_TO_DEVICE = 1
ACL_MEMCPY_DEVICE_TO_HOST = 2
ACL_CALLBACK_BLOCK = 1

SIZE = 1000


def check(name: str, ret: int) -> None:
    """Exits with an error message if a call failed."""
    if ret != ACL_SUCCESS:
        sys.exit(f"{name} failed with {ret}: {acl.get_recent_err_msg()}")


def main() -> None:
    check("init", acl.init())
    check("set_device", acl.rt.set_device(0))
    context, ret = acl.rt.get_context()
    check("get_context", ret)
    stream, ret = acl.rt.create_stream()
    check("create_stream", ret)
    device, ret = acl.rt.malloc(SIZE, ACL_MEM_MALLOC_HUGE_FIRST)
    check("malloc", ret)
    host, ret = acl.rt.malloc_host(SIZE)
    check("malloc_host", ret)
    ctypes.memset(host, 1, SIZE)

    subscribed, stop = threading.Event(), threading.Event()

    def serve(arguments: list[int]) -> None:
        check("set_context", acl.rt.set_context(arguments[0]))  # a new thread has no context
        subscribed.wait()
        while not stop.is_set():
            acl.rt.process_report(50)  # milliseconds; a callback runs inside this call

    def double(address: int) -> None:
        values = acl.util.ptr_to_bytes(address, SIZE)
        ctypes.memmove(address, bytes(value * 2 for value in values), SIZE)
        threads.append(threading.get_ident())

    threads: list[int] = []
    server, ret = acl.util.start_thread(serve, [context])
    check("start_thread", ret)
    check("subscribe_report", acl.rt.subscribe_report(server, stream))
    subscribed.set()

    # Each round copies the bytes to the device and back, then the callback doubles them.
    for _ in range(3):
        check("memcpy_async", acl.rt.memcpy_async(device, SIZE, host, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream))
        check("memcpy_async", acl.rt.memcpy_async(host, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream))
        check("launch_callback", acl.rt.launch_callback(double, host, ACL_CALLBACK_BLOCK, stream))
    check("synchronize_stream", acl.rt.synchronize_stream(stream))
    if acl.util.ptr_to_bytes(host, SIZE) != bytes([8]) * SIZE or threads != [server] * 3:
        sys.exit("the callbacks did not run on their thread between the copies")

    check("unsubscribe_report", acl.rt.unsubscribe_report(server, stream))
    stop.set()
    check("stop_thread", acl.util.stop_thread(server))
    print(f"05_callbacks: {len(threads)} Python callbacks ran between the copies of one stream")
    check("destroy_stream", acl.rt.destroy_stream(stream))
    check("reset_device", acl.rt.reset_device(0))
    check("finalize", acl.finalize())


if __name__ == "__main__":
    main()
