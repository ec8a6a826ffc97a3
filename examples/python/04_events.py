"""Events: makes one stream wait for another, and measures the time between two events.

One stream copies data to the device, the other copies it back. Without the event, the second copy
could run before the first one: remove the wait and try it with SOFTACL_SCHEDULE=random:1.
"""

import ctypes
import sys

import acl

ACL_SUCCESS = 0
ACL_MEM_MALLOC_HUGE_FIRST = 0
ACL_MEMCPY_HOST_TO_DEVICE = 1
ACL_MEMCPY_DEVICE_TO_HOST = 2
ACL_EVENT_RECORDED_STATUS_COMPLETE = 1  # for query_event_status; query_event returns 0

SIZE = 1 << 20


def check(name: str, ret: int) -> None:
    """Exits with an error message if a call failed."""
    if ret != ACL_SUCCESS:
        sys.exit(f"{name} failed with {ret}: {acl.get_recent_err_msg()}")


def main() -> None:
    check("init", acl.init())
    check("set_device", acl.rt.set_device(0))
    up, ret = acl.rt.create_stream()
    check("create_stream", ret)
    down, ret = acl.rt.create_stream()
    check("create_stream", ret)
    events = []
    for _ in range(3):
        event, ret = acl.rt.create_event()
        check("create_event", ret)
        events.append(event)
    start, arrived, end = events
    device, ret = acl.rt.malloc(SIZE, ACL_MEM_MALLOC_HUGE_FIRST)
    check("malloc", ret)
    source, ret = acl.rt.malloc_host(SIZE)
    check("malloc_host", ret)
    target, ret = acl.rt.malloc_host(SIZE)
    check("malloc_host", ret)
    data = bytes(range(256)) * (SIZE // 256)
    ctypes.memmove(source, data, SIZE)

    check("record_event", acl.rt.record_event(start, up))
    check("memcpy_async", acl.rt.memcpy_async(device, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, up))
    check("record_event", acl.rt.record_event(arrived, up))
    check("stream_wait_event", acl.rt.stream_wait_event(down, arrived))  # the stream is the first argument
    check("memcpy_async", acl.rt.memcpy_async(target, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, down))
    check("record_event", acl.rt.record_event(end, down))

    check("synchronize_event", acl.rt.synchronize_event(end))
    status, ret = acl.rt.query_event_status(end)
    check("query_event_status", ret)
    if status != ACL_EVENT_RECORDED_STATUS_COMPLETE:
        sys.exit("an event that was waited for is not complete")
    if acl.util.ptr_to_bytes(target, SIZE) != data:
        sys.exit("the copies returned the wrong bytes")
    elapsed, ret = acl.rt.event_elapsed_time(start, end)
    check("event_elapsed_time", ret)
    if elapsed < 0:
        sys.exit("the elapsed time is negative")

    print(f"04_events: {SIZE} bytes copied by two ordered streams")
    for event in events:
        check("destroy_event", acl.rt.destroy_event(event))
    for stream in (up, down):
        check("destroy_stream", acl.rt.destroy_stream(stream))
    check("reset_device", acl.rt.reset_device(0))  # also frees the memory
    check("finalize", acl.finalize())


if __name__ == "__main__":
    main()
