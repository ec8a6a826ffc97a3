"""Three workers upload their state to one block, which must end up with that of the third.

buggy.py lets each worker submit its upload when it is done, so the block has the state of the
worker that came last.
fixed.py submits all uploads from the main thread, in order.
"""

import queue
import threading

import ctypes
import sys

import acl

H2D, D2H, D2D = 1, 2, 3


def check(ret):
    if ret != 0:
        sys.exit(f"failed with {ret}: {acl.get_recent_err_msg()}")


def take(result):
    """Returns the value of a (value, code) result; exits if the call failed."""
    value, ret = result
    check(ret)
    return value


def verdict(wrong, total, what):
    print(f"wrong: {wrong} of {total} {what}" if wrong else f"right: {total} {what}")


SIZE = 4096
WORKERS = 3


def main():
    check(acl.init())
    check(acl.rt.set_device(0))
    stream = take(acl.rt.create_stream())
    status = take(acl.rt.malloc(SIZE, 0))
    buffers = [take(acl.rt.malloc_host(SIZE)) for _ in range(WORKERS)]
    finished = queue.Queue()

    def work(worker):
        ctypes.memset(buffers[worker], 1 + worker, SIZE)
        finished.put(worker)  # the main thread submits for all workers

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(WORKERS)]
    for thread in threads:
        thread.start()
    for worker in sorted(finished.get() for _ in range(WORKERS)):
        check(acl.rt.memcpy_async(status, SIZE, buffers[worker], SIZE, H2D, stream))
    for thread in threads:
        thread.join()
    check(acl.rt.synchronize_stream(stream))

    back = ctypes.create_string_buffer(SIZE)
    check(acl.rt.memcpy(ctypes.addressof(back), SIZE, status, SIZE, D2H))
    wrong = SIZE - back.raw.count(bytes([WORKERS]))
    check(acl.rt.free(status))
    for buffer in buffers:
        check(acl.rt.free_host(buffer))
    check(acl.rt.destroy_stream(stream))
    check(acl.rt.reset_device(0))
    check(acl.finalize())
    verdict(wrong, SIZE, "bytes")


main()
