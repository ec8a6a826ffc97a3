// soc: Ascend910B Ascend310P
// softacl-only
// schedules: all
// expects: C2
/* Stale handles, handles of another type and arbitrary values are
 * refused: 107017 for streams and events, the codes of 4.3 for contexts. */
#include "../expect.h"

#define SIZE 64

static uint8_t *device, *pinned;

static void do_nothing(void *unused)
{
    (void)unused;
}

static void expect_invalid_stream(void *bad, aclrtEvent event)
{
    aclrtStreamStatus status;
    EXPECT_CODE(aclrtSynchronizeStream(bad), 107017);
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(bad, 10), 107017);
    EXPECT_CODE(aclrtStreamQuery(bad, &status), 107017);
    EXPECT_CODE(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, bad), 107017);
    EXPECT_CODE(aclrtMemcpy2dAsync(device, SIZE, pinned, SIZE, SIZE, 1, ACL_MEMCPY_HOST_TO_DEVICE, bad), 107017);
    EXPECT_CODE(aclrtMemsetAsync(device, SIZE, 0, SIZE, bad), 107017);
    EXPECT_CODE(aclrtRecordEvent(event, bad), 107017);
    EXPECT_CODE(aclrtStreamWaitEvent(bad, event), 107017);
    EXPECT_FAILS(aclrtReduceAsync(device, device, SIZE, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, bad, NULL));
    EXPECT_FAILS(aclrtLaunchHostFunc(bad, do_nothing, NULL));
    EXPECT_FAILS(aclrtSetStreamFailureMode(bad, 1));
    int32_t id;
    EXPECT_FAILS(aclrtStreamGetId(bad, &id));
    EXPECT_CODE(aclrtDestroyStream(bad), 107017);
    EXPECT_FAILS(aclrtDestroyStreamForce(bad));
}

static void expect_invalid_event(void *bad, aclrtStream stream)
{
    aclrtEventRecordedStatus recorded;
    float ms;
    EXPECT_CODE(aclrtRecordEvent(bad, stream), 107017);
    EXPECT_CODE(aclrtStreamWaitEvent(stream, bad), 107017);
    EXPECT_CODE(aclrtSynchronizeEvent(bad), 107017);
    EXPECT_CODE(aclrtSynchronizeEventWithTimeout(bad, 10), 107017);
    EXPECT_CODE(aclrtQueryEventStatus(bad, &recorded), 107017);
    EXPECT_FAILS(aclrtEventElapsedTime(&ms, bad, bad));
    EXPECT_CODE(aclrtDestroyEvent(bad), 107017);
}

static void expect_invalid_context(void *bad)
{
    EXPECT_CODE(aclrtSetCurrentContext(bad), 107000);
    EXPECT_CODE(aclrtDestroyContext(bad), 107002);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    aclrtEvent event = NULL, stale_event = NULL;
    REQUIRE_OK(aclrtCreateEvent(&event));
    REQUIRE_OK(aclrtCreateEvent(&stale_event));
    REQUIRE_OK(aclrtDestroyEvent(stale_event));
    aclrtContext primary = NULL, stale_context = NULL;
    REQUIRE_OK(aclrtGetCurrentContext(&primary));
    REQUIRE_OK(aclrtCreateContext(&stale_context, 0));
    aclrtStream orphan = new_stream(); /* its context is destroyed first */
    REQUIRE_OK(aclrtDestroyContext(stale_context));
    REQUIRE_OK(aclrtSetCurrentContext(primary));
    device = (uint8_t *)device_memory(SIZE);
    pinned = (uint8_t *)pinned_memory(SIZE);
    uint64_t zeros[64] = {0};
    uint64_t *heap = (uint64_t *)pageable_memory(512);

    void *arbitrary[] = {(void *)1, (void *)(uintptr_t)0x10, (void *)(uintptr_t)0xDEADBEEFDEADBEEFu,
                         (void *)UINTPTR_MAX, zeros, heap,
                     pinned, device, (void *)(uintptr_t)main};
    for (size_t i = 0; i < sizeof arbitrary / sizeof arbitrary[0]; i++) {
        expect_invalid_stream(arbitrary[i], event);
        expect_invalid_event(arbitrary[i], stream);
        expect_invalid_context(arbitrary[i]);
    }
    expect_invalid_stream(stale_stream(), event); /* destroyed */
    expect_invalid_stream(event, event);          /* of another type */
    expect_invalid_stream(primary, event);
    expect_invalid_event(stale_event, stream);
    expect_invalid_event(stream, stream);
    expect_invalid_event(primary, stream);
    expect_invalid_context(stale_context);
    expect_invalid_context(stream);
    expect_invalid_context(event);
    EXPECT_FAILS(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, orphan));
    EXPECT_FAILS(aclrtDestroyStream(orphan));

    uint64_t random = 88172645463325252u;
    for (int i = 0; i < 2000; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        void *handle = (void *)(uintptr_t)(i % 2 == 0 ? random : random & 0x7FFFFFFFFFF8u);
        EXPECT_CODE(aclrtSynchronizeStream(handle), 107017);
        EXPECT_CODE(aclrtSynchronizeEvent(handle), 107017);
        EXPECT_CODE(aclrtSetCurrentContext(handle), 107000);
        /* Values near a live handle. */
        void *nearby = (char *)stream + 1 + i % 500;
        EXPECT_TRUE(aclrtSynchronizeStream(nearby) == 107017, "handle + %d bytes was accepted", 1 + i % 500);
    }

    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtRecordEvent(event, stream));
    EXPECT_OK(aclrtSynchronizeEvent(event));
    free(heap);
    EXPECT_OK(aclrtDestroyEvent(event));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
