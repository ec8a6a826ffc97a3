// softacl-only
// soc: Ascend910B
// env: SOFTACL_FAULTS=copy@2=507013; copy@3=slow 20ms
// schedules: all
/* Fault rules apply to the steps of a graph when it is launched, not when they are captured. A failure of a step
 * reaches the program as 507011, at the query and at the wait, whatever its code. */
#include "../expect.h"

#define SIZE 64

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE), *device = (uint8_t *)device_memory(SIZE);
    aclmdlRI graph = NULL;
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));
    static const aclError expected[] = {0, 507011, 0, 0};
    for (uint32_t run = 0; run < 4; run++) {
        fill_pattern(pinned, SIZE, run);
        EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
        if (expected[run] != 0) {
            aclrtStreamStatus status;
            aclError found;
            while ((found = aclrtStreamQuery(stream, &status)) == 0 && status == ACL_STREAM_STATUS_NOT_READY) {
            }
            EXPECT_CODE(found, expected[run]);
        }
        EXPECT_CODE(aclrtSynchronizeStream(stream), expected[run]);
        EXPECT_OK(aclrtSynchronizeStream(stream)); /* reported once */
        EXPECT_DEVICE_PATTERN(device, SIZE, expected[run] == 0 ? run : run - 1);
    }
    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
