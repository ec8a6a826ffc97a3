// soc: Ascend910B
// schedules: all
/* The capture mode determines which threads may make blocking calls
 * during a capture; a thread can exchange its own mode (1.1 row 10, 4.8). */
#include "../expect.h"
#include "graph.h"

#define SIZE 256

static uint8_t *pageable, *device;
static aclrtStream stream, other;

static void expect_blocking(aclError blocking, aclError pageable_async)
{
    EXPECT_CODE(aclrtMemcpy(device, SIZE, pageable, SIZE, ACL_MEMCPY_HOST_TO_DEVICE), blocking);
    EXPECT_CODE(aclrtMemcpyAsync(device, SIZE, pageable, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, other), pageable_async);
}

static aclmdlRICaptureMode exchange(aclmdlRICaptureMode mode)
{
    EXPECT_OK(aclmdlRICaptureThreadExchangeMode(&mode));
    return mode;
}

struct thread_case {
    aclError blocking, pageable_async;
    aclmdlRICaptureMode mode;
};

static void *in_other_thread(void *argument)
{
    struct thread_case *thread_case = (struct thread_case *)argument;
    REQUIRE_OK(aclrtSetDevice(0));
    exchange(thread_case->mode);
    expect_blocking(thread_case->blocking, thread_case->pageable_async);
    EXPECT_TRUE(exchange(ACL_MODEL_RI_CAPTURE_MODE_GLOBAL) == thread_case->mode, "wrong mode of this thread");
    EXPECT_OK(aclrtResetDevice(0));
    return NULL;
}

static void expect_on_other_thread(aclmdlRICaptureMode mode, aclError blocking, aclError pageable_async)
{
    struct thread_case thread_case = {blocking, pageable_async, mode};
    in_new_thread(in_other_thread, &thread_case);
}

int main(void)
{
    const aclmdlRICaptureMode global = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;
    const aclmdlRICaptureMode local = ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL;
    const aclmdlRICaptureMode relaxed = ACL_MODEL_RI_CAPTURE_MODE_RELAXED;
    REQUIRE_OK(aclrtSetDevice(0));
    stream = new_stream();
    other = new_stream();
    pageable = (uint8_t *)pageable_memory(SIZE);
    device = (uint8_t *)device_memory(SIZE);
    aclmdlRI graph = NULL;
    aclmdlRICaptureMode wrong = (aclmdlRICaptureMode)9;
    EXPECT_FAILS(aclmdlRICaptureThreadExchangeMode(&wrong));
    EXPECT_TRUE((int)wrong == 9, "the argument was changed");
    EXPECT_FAILS(aclmdlRICaptureThreadExchangeMode(NULL));

    /* Exchanging the mode needs no capture, and changes nothing while there is none. */
    EXPECT_TRUE(exchange(local) == global, "a thread starts as GLOBAL");
    expect_blocking(0, 0);
    EXPECT_TRUE(exchange(relaxed) == local, "wrong previous mode");
    expect_blocking(0, 0);
    EXPECT_TRUE(exchange(global) == relaxed, "wrong previous mode");

    /* A global capture restricts every thread whose mode is not relaxed. */
    REQUIRE_OK(aclmdlRICaptureBegin(stream, global));
    expect_blocking(107030, 107041);
    expect_on_other_thread(global, 107030, 107041);
    expect_on_other_thread(relaxed, 0, 0);
    /* 4.8: exchanging the mode returns the previous one. */
    aclmdlRICaptureMode before = exchange(relaxed);
    expect_blocking(0, 0);
    EXPECT_TRUE(exchange(before) == relaxed, "wrong previous mode");
    expect_blocking(107030, 107041);
    EXPECT_OK(aclmdlRICaptureEnd(stream, &graph));
    EXPECT_OK(aclmdlRIDestroy(graph));
    expect_blocking(0, 0);

    /* A thread-local capture restricts only the thread that began it. */
    REQUIRE_OK(aclmdlRICaptureBegin(stream, local));
    expect_blocking(107030, 107041);
    expect_on_other_thread(global, 0, 0);
    EXPECT_OK(aclmdlRICaptureEnd(stream, &graph));
    EXPECT_OK(aclmdlRIDestroy(graph));

    /* A relaxed capture restricts no thread, whatever mode the thread has set. */
    REQUIRE_OK(aclmdlRICaptureBegin(stream, relaxed));
    expect_blocking(0, 0);
    expect_on_other_thread(global, 0, 0);
    expect_on_other_thread(local, 0, 0);
    expect_on_other_thread(relaxed, 0, 0);
    EXPECT_OK(aclmdlRICaptureEnd(stream, &graph));
    EXPECT_OK(aclmdlRIDestroy(graph));

    /* Of two concurrent captures, each restricts until it ends. */
    aclmdlRI second = NULL;
    REQUIRE_OK(aclmdlRICaptureBegin(stream, global));
    REQUIRE_OK(aclmdlRICaptureBegin(other, relaxed));
    EXPECT_CODE(aclrtMemset(device, SIZE, 1, SIZE), 107030);
    EXPECT_OK(aclmdlRICaptureEnd(stream, &graph));
    EXPECT_OK(aclrtMemset(device, SIZE, 1, SIZE));
    EXPECT_OK(aclmdlRICaptureEnd(other, &second));
    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_OK(aclmdlRIDestroy(second));

    free(pageable);
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
