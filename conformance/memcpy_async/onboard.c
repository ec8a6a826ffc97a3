// soc: Ascend310B Ascend310P
// form: RC CPU
// softacl-only
// schedules: all
// expects: M1
/* RC form: host and device share one memory, kinds are not corrected, host-to-host copies are accepted, and 2D copies are
 * not supported. The control CPU form behaves alike. */
#include "../expect.h"

#define SIZE 2048

int main(void)
{
    aclrtRunMode mode = ACL_HOST;
    EXPECT_OK(aclrtGetRunMode(&mode));
    EXPECT_TRUE(mode == ACL_DEVICE, "run mode %d", (int)mode);
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *sources[3] = {(uint8_t *)pinned_memory(SIZE), (uint8_t *)device_memory(SIZE),
                           (uint8_t *)pageable_memory(SIZE)};
    uint8_t *targets[3] = {(uint8_t *)pinned_memory(SIZE), (uint8_t *)device_memory(SIZE),
                           (uint8_t *)pageable_memory(SIZE)};
    uint32_t seed = 1;

    /* 1.2: kinds H2H, H2D, D2H and D2D are all executed as copies on the device. */
    for (int from = 0; from < 3; from++) {
        for (int to = 0; to < 3; to++) {
            for (int kind = 0; kind <= 3; kind++, seed++) {
                fill_pattern(sources[from], SIZE, seed); /* the host writes device memory directly */
                memset(targets[to], 0, SIZE);
                EXPECT_OK(aclrtMemcpyAsync(targets[to], SIZE, sources[from], SIZE, (aclrtMemcpyKind)kind, stream));
                EXPECT_OK(aclrtSynchronizeStream(stream));
                EXPECT_PATTERN(targets[to], SIZE, seed);
                memset(targets[to], 0, SIZE);
                EXPECT_OK(aclrtMemcpyAsyncWithCondition(targets[to], SIZE, sources[from], SIZE, (aclrtMemcpyKind)kind,
                                                        stream));
                EXPECT_OK(aclrtSynchronizeStream(stream));
                EXPECT_PATTERN(targets[to], SIZE, seed);
            }
        }
    }
    /* 1.2 row 3 */
    EXPECT_CODE(aclrtMemcpyAsync(targets[1], SIZE, sources[1], SIZE, (aclrtMemcpyKind)6, stream), 100000);
    /* 1.2 row 5 */
    EXPECT_CODE(aclrtMemcpyAsync(targets[1], 1, sources[1], 2, ACL_MEMCPY_HOST_TO_DEVICE, stream), 107000);

    fill_pattern(sources[1], SIZE, 99);
    EXPECT_OK(aclrtMemcpy(targets[1], SIZE, sources[1], SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE));
    EXPECT_PATTERN(targets[1], SIZE, 99);

    /* Section 6: 2D copies are not supported; the checks of the upper layer come first. */
    EXPECT_CODE(aclrtMemcpy2d(NULL, 64, sources[1], 64, 32, 4, ACL_MEMCPY_HOST_TO_DEVICE), 100000);
    EXPECT_CODE(aclrtMemcpy2d(targets[1], 64, sources[0], 64, 32, 4, ACL_MEMCPY_HOST_TO_DEVICE), 207000);
    EXPECT_CODE(aclrtMemcpy2dAsync(targets[1], 64, sources[0], 64, 32, 4, ACL_MEMCPY_HOST_TO_DEVICE, stream), 207000);

    EXPECT_OK(aclrtFreeHost(sources[0]));
    EXPECT_OK(aclrtFreeHost(targets[0]));
    EXPECT_OK(aclrtFree(sources[1]));
    EXPECT_OK(aclrtFree(targets[1]));
    free(sources[2]);
    free(targets[2]);
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
