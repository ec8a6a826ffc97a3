// soc: all
// schedules: all
/* Host functions run in stream order with copies: they read what earlier copies wrote, and later copies read what they
 * wrote. */
#include "../expect.h"

#define STEPS 100

static uint32_t *shared; /* pinned: written by copies and read by host functions, and vice versa */
static int mismatches;
static int sequence;

/* Expects the value that the copy before it has written. */
static void check_value(void *argument)
{
    uint32_t step = (uint32_t)(uintptr_t)argument;
    uint32_t seen = __atomic_load_n(shared, __ATOMIC_SEQ_CST);
    if (seen != step || __atomic_fetch_add(&sequence, 1, __ATOMIC_SEQ_CST) != (int)step) {
        __atomic_fetch_add(&mismatches, 1, __ATOMIC_SEQ_CST);
    }
}

/* Writes the value that the copy after it reads. */
static void write_value(void *argument)
{
    __atomic_store_n(shared, (uint32_t)(uintptr_t)argument, __ATOMIC_SEQ_CST);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    shared = (uint32_t *)pinned_memory(64);
    uint32_t *device = (uint32_t *)device_memory(4 * STEPS);
    uint32_t values[STEPS];
    for (uint32_t i = 0; i < STEPS; i++) {
        values[i] = i;
    }
    REQUIRE_OK(aclrtMemcpy(device, sizeof values, values, sizeof values, ACL_MEMCPY_HOST_TO_DEVICE));

    EXPECT_FAILS(aclrtLaunchHostFunc(stream, NULL, NULL));
    EXPECT_FAILS(aclrtLaunchHostFunc(stale_stream(), check_value, NULL));
    for (uint32_t i = 0; i < STEPS; i++) {
        EXPECT_OK(aclrtMemcpyAsync(shared, 4, device + i, 4, ACL_MEMCPY_DEVICE_TO_HOST, stream));
        EXPECT_OK(aclrtLaunchHostFunc(stream, check_value, (void *)(uintptr_t)i));
    }
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(count_of(&sequence) == STEPS && count_of(&mismatches) == 0, "%d functions, %d out of order",
                count_of(&sequence), count_of(&mismatches));

    for (uint32_t i = 0; i < STEPS; i++) {
        EXPECT_OK(aclrtLaunchHostFunc(stream, write_value, (void *)(uintptr_t)(1000 + i)));
        EXPECT_OK(aclrtMemcpyAsync(device + i, 4, shared, 4, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    }
    EXPECT_OK(aclrtSynchronizeStream(stream));
    REQUIRE_OK(aclrtMemcpy(values, sizeof values, device, sizeof values, ACL_MEMCPY_DEVICE_TO_HOST));
    for (uint32_t i = 0; i < STEPS; i++) {
        EXPECT_TRUE(values[i] == 1000 + i, "cell %u holds %u", i, values[i]);
    }

    /* The default stream accepts host functions. */
    static int ran;
    EXPECT_OK(aclrtLaunchHostFunc(NULL, count_up, &ran));
    EXPECT_OK(aclrtSynchronizeStream(NULL));
    EXPECT_TRUE(count_of(&ran) == 1, "%d", count_of(&ran));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(shared));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
