/*
 * Host code as part of a stream, in both forms.
 *
 *   aclrtLaunchHostFunc   a thread of the runtime calls the function. Nothing to set up.
 *   aclrtLaunchCallback   a thread of yours calls it: the thread is subscribed for the stream and
 *                         sits in aclrtProcessReport. Useful when the code must run in a thread
 *                         of your own, for example one that belongs to an interpreter.
 *
 * A stream takes one form or the other; mixing them gives 107011. Inside such a function never wait
 * for the stream it runs in: that would wait for itself.
 */
#include <pthread.h>

#include "common.h"

#define SIZE 4096

struct note { /* what a callback leaves behind; read after the stream was waited for */
    const uint8_t *data;
    int right; /* the copy queued before the callback was complete when it ran */
    pthread_t thread;
};

static int stop; /* guarded by __atomic built-ins */

static void look(void *argument)
{
    struct note *note = argument;
    note->right = has_pattern(note->data, SIZE, 1);
    note->thread = pthread_self();
}

/* Serves callbacks until told to stop. It calls no function that needs a device of its own. */
static void *serve(void *unused)
{
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        aclError code = aclrtProcessReport(50); /* milliseconds */
        if (code != ACL_SUCCESS && code != ACL_ERROR_RT_REPORT_TIMEOUT &&
            code != ACL_ERROR_RT_THREAD_SUBSCRIBE) { /* the last: not subscribed yet, or any more */
            fprintf(stderr, "aclrtProcessReport returned %d\n", code);
            exit(1);
        }
    }
    return unused;
}

int main(void)
{
    void *device;
    uint8_t *up, *down;
    aclrtStream stream, reported;
    pthread_t server;
    struct note by_runtime = {0}, by_server = {0};

    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtCreateStream(&stream));
    CHECK(aclrtCreateStream(&reported));
    CHECK(aclrtMalloc(&device, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMallocHost((void **)&up, SIZE));
    CHECK(aclrtMallocHost((void **)&down, SIZE));
    by_runtime.data = by_server.data = down;
    fill_pattern(up, SIZE, 1);
    memset(down, 0, SIZE);

    /* Form 1. The function runs after the copies before it and before anything after it. */
    CHECK(aclrtMemcpyAsync(device, SIZE, up, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    CHECK(aclrtMemcpyAsync(down, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    CHECK(aclrtLaunchHostFunc(stream, look, &by_runtime));
    CHECK(aclrtSynchronizeStream(stream));
    VERIFY(by_runtime.right && !pthread_equal(by_runtime.thread, pthread_self()));

    /* Form 2. BLOCK holds the stream until the function has returned. */
    VERIFY(pthread_create(&server, NULL, serve, NULL) == 0);
    CHECK(aclrtSubscribeReport((uint64_t)server, reported));
    memset(down, 0, SIZE);
    CHECK(aclrtMemcpyAsync(down, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, reported));
    CHECK(aclrtLaunchCallback(look, &by_server, ACL_CALLBACK_BLOCK, reported));
    CHECK(aclrtSynchronizeStream(reported));
    VERIFY(by_server.right && pthread_equal(by_server.thread, server));
    CHECK(aclrtUnSubscribeReport((uint64_t)server, reported));
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    VERIFY(pthread_join(server, NULL) == 0);
    printf("06_callbacks: one call from a thread of the runtime, one from our own\n");

    CHECK(aclrtFreeHost(down));
    CHECK(aclrtFreeHost(up));
    CHECK(aclrtFree(device));
    CHECK(aclrtDestroyStream(reported));
    CHECK(aclrtDestroyStream(stream));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    return 0;
}
