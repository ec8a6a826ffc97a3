// soc: all
// schedules: all
// expects: R1
/* A device has as many streams as the product documents, all usable at once;
 * one more fails with 207008, and destroyed streams make room for new ones. */
#include "../expect.h"

#define MAX_STREAMS 4096
#define SIZE 32

static aclrtStream streams[MAX_STREAMS];

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
    uint8_t *pinned = (uint8_t *)pinned_memory(MAX_STREAMS * SIZE);
    uint8_t *device = (uint8_t *)device_memory(MAX_STREAMS * SIZE);
    fill_pattern(pinned, MAX_STREAMS * SIZE, 1);

    int count = 0;
    aclError got = 0;
    while (count < MAX_STREAMS && (got = aclrtCreateStream(&streams[count])) == 0) {
        count++;
    }
    EXPECT_CODE(got, 207008); /* 4.4: no stream left */
    /* default streams are included */
    EXPECT_TRUE(count <= limit && count >= limit - 8, "%d streams, the limit is %d", count, limit);
    aclrtStream extra = NULL;
    EXPECT_CODE(aclrtCreateStreamWithConfig(&extra, 0, ACL_STREAM_FAST_LAUNCH), 207008);

    for (int i = 0; i < count; i++) {
        EXPECT_OK(aclrtMemcpyAsync(device + i * SIZE, SIZE, pinned + i * SIZE, SIZE, ACL_MEMCPY_HOST_TO_DEVICE,
                                   streams[i]));
    }
    EXPECT_OK(aclrtSynchronizeDevice());
    EXPECT_DEVICE_PATTERN(device, (size_t)count * SIZE, 1);

    /* Destroying one stream makes room for one. */
    EXPECT_OK(aclrtDestroyStream(streams[7]));
    EXPECT_OK(aclrtCreateStream(&streams[7]));
    EXPECT_CODE(aclrtCreateStream(&extra), 207008);
    for (int i = 0; i < count; i++) {
        EXPECT_OK(aclrtDestroyStream(streams[i]));
    }
    for (int i = 0; i < 5000; i++) { /* thousands, one at a time */
        extra = new_stream();
        EXPECT_OK(aclrtDestroyStream(extra));
    }
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
