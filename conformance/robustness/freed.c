// soc: Ascend910B Ascend310P
// softacl-only
// schedules: all
// expects: H2 L3 M1
// valgrind: none (passes invalid addresses)
/* Use of freed memory, double free, free during a pending copy, and
 * pointers that were never allocated: errors without side effects. */
#include "../expect.h"

#define SIZE 1024

static struct gate gate = GATE_INITIALIZER;

static void expect_refused(uint8_t *stray, aclrtStream stream)
{
    uint8_t pageable[SIZE];
    memset(pageable, 0x44, SIZE);
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE);
    EXPECT_CODE(aclrtMemcpy(stray, SIZE, pageable, SIZE, ACL_MEMCPY_HOST_TO_DEVICE), 107000);
    EXPECT_CODE(aclrtMemcpy(pageable, SIZE, stray, SIZE, ACL_MEMCPY_DEVICE_TO_HOST), 107000);
    EXPECT_VALUE(pageable, SIZE, 0x44);
    EXPECT_CODE(aclrtMemcpyAsync(stray, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream), 107000);
    EXPECT_CODE(aclrtMemcpyAsync(pinned, SIZE, stray, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream), 107000);
    EXPECT_CODE(aclrtMemcpyAsync(pageable, SIZE, stray, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream), 107000);
    EXPECT_CODE(aclrtMemset(stray, SIZE, 0, SIZE), 107000);
    EXPECT_CODE(aclrtMemsetAsync(stray, SIZE, 0, SIZE, stream), 107000);
    EXPECT_CODE(aclrtFree(stray), 107000);
    EXPECT_FAILS(aclrtFreeHost(stray));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtFreeHost(pinned));
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *kept = (uint8_t *)device_memory(SIZE);
    uint8_t *freed = (uint8_t *)device_memory(SIZE);
    device_fill(kept, SIZE, 1);
    REQUIRE_OK(aclrtFree(freed));
    expect_refused(freed, stream);

    /* A device address far beyond every allocation. */
    expect_refused(kept + ((size_t)1 << 30), stream);

    /* Only the start of an allocation can be freed. */
    EXPECT_FAILS(aclrtFree(kept + 64));
    EXPECT_FAILS(aclrtFree(kept + SIZE - 1));
    EXPECT_DEVICE_PATTERN(kept, SIZE, 1);

    /* The wrong release function for the kind of memory. */
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE);
    uint8_t *pageable = (uint8_t *)pageable_memory(SIZE);
    EXPECT_CODE(aclrtFreeHost(kept), 107000); /* 1.14: aclrtFreeHost of a device pointer */
    EXPECT_FAILS(aclrtFree(pinned));
    EXPECT_FAILS(aclrtFree(pageable));
    EXPECT_FAILS(aclrtFreeHost(pageable));
    EXPECT_FAILS(aclrtFreeHost(pinned + 1));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_FAILS(aclrtFreeHost(pinned));
    EXPECT_FAILS(aclrtFreeWithDevSync(freed));
    EXPECT_FAILS(aclrtFreeHostWithDevSync(pinned));

    /* Memory freed while a queued copy uses it: the stream may report an error, but no other memory is affected. */
    uint8_t *source = (uint8_t *)pinned_memory(SIZE);
    uint8_t *target = (uint8_t *)device_memory(SIZE);
    gate_close(&gate, stream);
    REQUIRE_OK(aclrtMemcpyAsync(target, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtFree(target)); /* 1.14: does not wait; otherwise this call would not return */
    gate_open(&gate);
    aclrtSynchronizeStream(stream);
    EXPECT_DEVICE_PATTERN(kept, SIZE, 1);
    gate_close(&gate, stream);
    REQUIRE_OK(aclrtMemcpyAsync(kept, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtFreeHost(source));
    gate_open(&gate);
    aclrtSynchronizeStream(stream);

    /* The device stays usable. */
    device_fill(kept, SIZE, 2);
    EXPECT_DEVICE_PATTERN(kept, SIZE, 2);
    for (int i = 0; i < 200; i++) {
        void *again = device_memory(SIZE);
        EXPECT_OK(aclrtFree(again));
        EXPECT_CODE(aclrtFree(again), 107000);
    }
    free(pageable);
    EXPECT_OK(aclrtFree(kept));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
