// soc: all
/* aclrtValueWrite, aclrtValueWait and aclrtCmoAsync: the argument checks (1.15). */
#include "../expect.h"

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint64_t *cell = (uint64_t *)device_memory(64);
    uint64_t *pinned = (uint64_t *)pinned_memory(64);
    uint64_t pageable[8] = {0};
    if (!family_has_batches()) { /* not on this product */
        EXPECT_CODE(aclrtValueWrite(cell, 1, 0, stream), 207000);
        EXPECT_CODE(aclrtValueWait(cell, 0, ACL_STREAM_WAIT_VALUE_GEQ, stream), 207000);
        EXPECT_CODE(aclrtCmoAsync(cell, 64, ACL_RT_CMO_TYPE_PREFETCH, stream), 207000);
        EXPECT_OK(aclrtSynchronizeStream(stream));
        EXPECT_DEVICE_VALUE(cell, 64, 0);
    } else {
        EXPECT_CODE(aclrtValueWrite(NULL, 1, 0, stream), 100000);
        EXPECT_CODE(aclrtValueWrite(cell, 1, 1, stream), 107000);
        EXPECT_CODE(aclrtValueWrite(pinned, 1, 0, stream), 107000);
        EXPECT_CODE(aclrtValueWrite(pageable, 1, 0, stream), 107000);
        EXPECT_CODE(aclrtValueWrite(cell, 1, 0, stale_stream()), 107017);
        EXPECT_CODE(aclrtValueWait(NULL, 1, 0, stream), 100000);
        EXPECT_CODE(aclrtValueWait(cell, 1, 4, stream), 107000);
        EXPECT_CODE(aclrtValueWait(cell, 1, UINT32_MAX, stream), 107000);
        EXPECT_CODE(aclrtValueWait(pinned, 0, 0, stream), 107000);
        EXPECT_CODE(aclrtValueWait(pageable, 0, 0, stream), 107000);
        EXPECT_CODE(aclrtValueWait(cell, 0, 0, stale_stream()), 107017);
        EXPECT_CODE(aclrtCmoAsync(NULL, 64, ACL_RT_CMO_TYPE_PREFETCH, stream), 100000);
        EXPECT_CODE(aclrtCmoAsync(cell, 0, ACL_RT_CMO_TYPE_PREFETCH, stream), 100000);
        EXPECT_CODE(aclrtCmoAsync(cell, 64, ACL_RT_CMO_TYPE_PREFETCH, stale_stream()), 107017);
        EXPECT_OK(aclrtSynchronizeStream(stream));
        EXPECT_DEVICE_VALUE(cell, 64, 0);
        /* Cache operations do not change memory. */
        device_fill(cell, 64, 3);
        EXPECT_OK(aclrtCmoAsync(cell, 64, ACL_RT_CMO_TYPE_PREFETCH, stream));
        EXPECT_OK(aclrtCmoAsync(cell, 64, ACL_RT_CMO_TYPE_PREFETCH, NULL));
        /* Corrections, documented: PREFETCH only. */
        for (int type = ACL_RT_CMO_TYPE_WRITEBACK; type <= ACL_RT_CMO_TYPE_FLUSH + 1; type++) {
            EXPECT_SOFTACL_CODE(aclrtCmoAsync(cell, 64, (aclrtCmoType)type, stream), 207000);
        }
        EXPECT_OK(aclrtSynchronizeDevice());
        EXPECT_DEVICE_PATTERN(cell, 64, 3);
    }
    EXPECT_OK(aclrtFree(cell));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
