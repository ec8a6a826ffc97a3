// soc: all
// schedules: all
// misuses: R1
/* As many streams as the product has, each of them working; then 207008; then all over again. */
#include "../expect.h"

#define MOST 4096
#define SIZE 32

static aclrtStream streams[MOST];

static int limit_of_product(void)
{
    switch (family()) {
    case FAMILY_310B:
        return 512;
    case FAMILY_310P:
        return 1024;
    case FAMILY_910:
        return 2048;
    default:
        return 1984;
    }
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    int limit = limit_of_product();
    uint8_t *pinned = (uint8_t *)pinned_memory(MOST * SIZE);
    uint8_t *device = (uint8_t *)device_memory(MOST * SIZE);
    fill_pattern(pinned, MOST * SIZE, 1);

    int count = 0;
    aclError got = 0;
    while (count < MOST && (got = aclrtCreateStream(&streams[count])) == 0) {
        count++;
    }
    EXPECT_CODE(got, 207008); /* 4.4: exhaustion */
    EXPECT_TRUE(count <= limit && count >= limit - 8, "%d streams, the limit is %d", count, limit); /* default streams count */
    aclrtStream extra = NULL;
    EXPECT_CODE(aclrtCreateStreamWithConfig(&extra, 0, ACL_STREAM_FAST_LAUNCH), 207008);

    for (int i = 0; i < count; i++) {
        EXPECT_OK(aclrtMemcpyAsync(device + i * SIZE, SIZE, pinned + i * SIZE, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, streams[i]));
    }
    EXPECT_OK(aclrtSynchronizeDevice());
    EXPECT_DEVICE_PATTERN(device, (size_t)count * SIZE, 1);

    /* One gone, one more; and the others are still what they were. */
    EXPECT_OK(aclrtDestroyStream(streams[7]));
    EXPECT_OK(aclrtCreateStream(&streams[7]));
    EXPECT_CODE(aclrtCreateStream(&extra), 207008);
    for (int i = 0; i < count; i++) {
        EXPECT_OK(aclrtDestroyStream(streams[i]));
    }
    for (int i = 0; i < 5000; i++) { /* thousands, one after the other */
        extra = new_stream();
        EXPECT_OK(aclrtDestroyStream(extra));
    }
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
