/*
 * Two ways to run host code in a stream.
 *
 *   aclrtLaunchHostFunc   A thread of the runtime calls the function. It needs no setup.
 *   aclrtLaunchCallback   A thread of the program calls the function. The thread is subscribed to
 *                         the stream and waits in aclrtProcessReport. Use it if the code must run
 *                         in a specific thread, for example one that belongs to an interpreter.
 *
 * A stream accepts one kind or the other; mixing them returns 107011. The function must not wait for
 * the stream that it runs in: it would wait for itself.
 */
#include <pthread.h>

#include "common.h"

#define SIZE 4096

struct result { /* written by a callback; valid after a wait for the stream */
    const uint8_t *data;
    int correct; /* the copy queued before the callback had finished */
    pthread_t thread;
};

static int stop; /* accessed with __atomic built-ins */

static void inspect(void *argument)
{
    struct result *result = argument;
    result->correct = has_pattern(result->data, SIZE, 1);
    result->thread = pthread_self();
}

/* Serves callbacks until `stop` is set. It calls no function that needs a current device. */
static void *serve(void *unused)
{
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        aclError code = aclrtProcessReport(50); /* milliseconds */
        if (code != ACL_SUCCESS && code != ACL_ERROR_RT_REPORT_TIMEOUT &&
            code != ACL_ERROR_RT_THREAD_SUBSCRIBE) { /* the last: not subscribed (yet) */
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
    struct result by_runtime = {0}, by_server = {0};

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

    /* Host function: runs after the copies queued before it and before the tasks queued after it. */
    CHECK(aclrtMemcpyAsync(device, SIZE, up, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    CHECK(aclrtMemcpyAsync(down, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    CHECK(aclrtLaunchHostFunc(stream, inspect, &by_runtime));
    CHECK(aclrtSynchronizeStream(stream));
    VERIFY(by_runtime.correct && !pthread_equal(by_runtime.thread, pthread_self()));

    /* Callback: BLOCK blocks the stream until the function returns. */
    VERIFY(pthread_create(&server, NULL, serve, NULL) == 0);
    CHECK(aclrtSubscribeReport((uint64_t)server, reported));
    memset(down, 0, SIZE);
    CHECK(aclrtMemcpyAsync(down, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, reported));
    CHECK(aclrtLaunchCallback(inspect, &by_server, ACL_CALLBACK_BLOCK, reported));
    CHECK(aclrtSynchronizeStream(reported));
    VERIFY(by_server.correct && pthread_equal(by_server.thread, server));
    CHECK(aclrtUnSubscribeReport((uint64_t)server, reported));
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    VERIFY(pthread_join(server, NULL) == 0);
    printf("06_callbacks: one call from a thread of the runtime, one from a thread of the program\n");

    CHECK(aclrtFreeHost(down));
    CHECK(aclrtFreeHost(up));
    CHECK(aclrtFree(device));
    CHECK(aclrtDestroyStream(reported));
    CHECK(aclrtDestroyStream(stream));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    return 0;
}
