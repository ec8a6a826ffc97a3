// soc: Ascend910B
// schedules: all
/* Which threads a capture concerns, and the mode of a thread: 1.1 row 10, 4.8. */
#include "../expect.h"
#include "graph.h"

#define SIZE 256

static uint8_t *pageable, *device;
static aclrtStream stream, other;

static void expect_blocking(aclError blocking, aclError converted)
{
    EXPECT_CODE(aclrtMemcpy(device, SIZE, pageable, SIZE, ACL_MEMCPY_HOST_TO_DEVICE), blocking);
    EXPECT_CODE(aclrtMemcpyAsync(device, SIZE, pageable, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, other), converted);
}

static aclmdlRICaptureMode exchange(aclmdlRICaptureMode mode)
{
    EXPECT_OK(aclmdlRICaptureThreadExchangeMode(&mode));
    return mode;
}

struct part {
    aclError blocking, converted;
    aclmdlRICaptureMode mode;
};

static void *in_other_thread(void *argument)
{
    struct part *part = (struct part *)argument;
    REQUIRE_OK(aclrtSetDevice(0));
    exchange(part->mode);
    expect_blocking(part->blocking, part->converted);
    EXPECT_TRUE(exchange(ACL_MODEL_RI_CAPTURE_MODE_GLOBAL) == part->mode, "the mode of this thread");
    EXPECT_OK(aclrtResetDevice(0));
    return NULL;
}

static void elsewhere(aclmdlRICaptureMode mode, aclError blocking, aclError converted)
{
    struct part part = {blocking, converted, mode};
    in_new_thread(in_other_thread, &part);
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
    EXPECT_TRUE((int)wrong == 9, "untouched");
    EXPECT_FAILS(aclmdlRICaptureThreadExchangeMode(NULL));

    /* A global capture concerns every thread that is not relaxed itself. */
    REQUIRE_OK(aclmdlRICaptureBegin(stream, global));
    expect_blocking(107030, 107041);
    elsewhere(global, 107030, 107041);
    elsewhere(relaxed, 0, 0);
    /* 4.8: the mode of the thread is swapped, and swapped back. */
    aclmdlRICaptureMode before = exchange(relaxed);
    expect_blocking(0, 0);
    EXPECT_TRUE(exchange(before) == relaxed, "gives what was set");
    expect_blocking(107030, 107041);
    EXPECT_OK(aclmdlRICaptureEnd(stream, &graph));
    EXPECT_OK(aclmdlRIDestroy(graph));
    expect_blocking(0, 0);

    /* A thread-local one only its own thread. */
    REQUIRE_OK(aclmdlRICaptureBegin(stream, local));
    expect_blocking(107030, 107041);
    elsewhere(global, 0, 0);
    EXPECT_OK(aclmdlRICaptureEnd(stream, &graph));
    EXPECT_OK(aclmdlRIDestroy(graph));

    /* A relaxed one nobody. */
    REQUIRE_OK(aclmdlRICaptureBegin(stream, relaxed));
    expect_blocking(0, 0);
    elsewhere(global, 0, 0);
    EXPECT_OK(aclmdlRICaptureEnd(stream, &graph));
    EXPECT_OK(aclmdlRIDestroy(graph));

    /* Two captures at once: each is over when it ends. */
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
