"""Copies between two devices, with a context for each.

Peer access has a direction, so it is enabled on both devices. A stream belongs to the device that
was current when it was created. Work must be queued while that device is current; set_context
changes the current device.
"""

import sys

import acl

ACL_SUCCESS = 0
ACL_MEM_MALLOC_HUGE_FIRST_P2P = 3
ACL_MEMCPY_HOST_TO_DEVICE = 1
ACL_MEMCPY_DEVICE_TO_HOST = 2
ACL_MEMCPY_DEVICE_TO_DEVICE = 3
ACL_ERROR_RT_STREAM_CONTEXT = 107003

SIZE = 100_000


def check(name: str, ret: int) -> None:
    """Exits with an error message if a call failed."""
    if ret != ACL_SUCCESS:
        sys.exit(f"{name} failed with {ret}: {acl.get_recent_err_msg()}")


def main() -> None:
    check("init", acl.init())
    count, ret = acl.rt.get_device_count()
    check("get_device_count", ret)
    if count < 2:
        print("06_two_devices: only one device is present")
        return
    contexts, streams, memory = [0, 0], [0, 0], [0, 0]
    for device in range(2):
        check("set_device", acl.rt.set_device(device))
        contexts[device], ret = acl.rt.get_context()
        check("get_context", ret)
        streams[device], ret = acl.rt.create_stream()
        check("create_stream", ret)
        memory[device], ret = acl.rt.malloc(SIZE, ACL_MEM_MALLOC_HUGE_FIRST_P2P)
        check("malloc", ret)
        can, ret = acl.rt.device_can_access_peer(device, 1 - device)
        check("device_can_access_peer", ret)
        if not can:
            print("06_two_devices: the devices have no peer access")
            return
        check("device_enable_peer_access", acl.rt.device_enable_peer_access(1 - device, 0))

    data = bytes(i * 7 % 251 for i in range(SIZE))
    ret = acl.rt.memcpy(memory[0], SIZE, acl.util.bytes_to_ptr(data), SIZE, ACL_MEMCPY_HOST_TO_DEVICE)
    check("memcpy", ret)

    # Device 1 is current, so the stream of device 0 is refused until its context is current.
    copy = (memory[1], SIZE, memory[0], SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE)
    if acl.rt.memcpy_async(*copy, streams[0]) != ACL_ERROR_RT_STREAM_CONTEXT:
        sys.exit("a stream of another device was not refused")
    check("set_context", acl.rt.set_context(contexts[0]))
    check("memcpy_async", acl.rt.memcpy_async(*copy, streams[0]))
    check("memset_async", acl.rt.memset_async(memory[0], SIZE, 0, SIZE, streams[0]))
    check("synchronize_stream", acl.rt.synchronize_stream(streams[0]))
    for device, expected in ((0, bytes(SIZE)), (1, data)):
        result = bytes(SIZE)
        ret = acl.rt.memcpy(acl.util.bytes_to_ptr(result), SIZE, memory[device], SIZE, ACL_MEMCPY_DEVICE_TO_HOST)
        check("memcpy", ret)
        if result != expected:
            sys.exit(f"device {device} has the wrong bytes")

    print(f"06_two_devices: {SIZE} bytes copied from device 0 to device 1")
    for device in range(2):
        check("set_context", acl.rt.set_context(contexts[device]))
        check("destroy_stream", acl.rt.destroy_stream(streams[device]))
        check("free", acl.rt.free(memory[device]))
    for device in range(2):
        check("reset_device", acl.rt.reset_device(device))
    check("finalize", acl.finalize())


if __name__ == "__main__":
    main()
