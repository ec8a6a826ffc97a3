// soc: all
// schedules: all
// expects: L2
/* aclInit is reference counted: aclFinalize sets the count to 0, aclFinalizeReference decrements it. */
#include "../expect.h"

int main(void)
{
    /* 4.1: without aclInit, the first aclFinalize succeeds and the next fails. */
    EXPECT_OK(aclFinalize());
    EXPECT_CODE(aclFinalize(), 100037);

    EXPECT_OK(aclInit(NULL));
    EXPECT_CODE(aclInit(NULL), 100002); /* 4.1, 4.7: no effect besides the code */
    EXPECT_CODE(aclInit(NULL), 100002);
    EXPECT_OK(aclFinalize()); /* 4.1: sets the count to 0 */
    EXPECT_CODE(aclFinalize(), 100037);

    uint64_t count = 99;
    EXPECT_OK(aclInit(NULL));
    EXPECT_CODE(aclInit(NULL), 100002);
    EXPECT_CODE(aclInit(NULL), 100002);
    EXPECT_OK(aclFinalizeReference(&count));
    EXPECT_TRUE(count == 2, "count %lu", (unsigned long)count);
    EXPECT_OK(aclFinalizeReference(&count));
    EXPECT_TRUE(count == 1, "count %lu", (unsigned long)count);
    EXPECT_CODE(aclInit(NULL), 100002); /* still initialized */
    EXPECT_OK(aclFinalizeReference(&count));
    EXPECT_OK(aclFinalizeReference(&count));
    EXPECT_TRUE(count == 0, "count %lu", (unsigned long)count);
    EXPECT_CODE(aclFinalizeReference(&count), 100037);
    EXPECT_CODE(aclFinalizeReference(NULL), 100037);
    /* Corrections, documented: the pointer may be NULL. */
    EXPECT_OK(aclInit(NULL));
    EXPECT_CODE(aclInit(NULL), 100002);
    EXPECT_OK(aclFinalizeReference(NULL));
    EXPECT_OK(aclFinalizeReference(&count));
    EXPECT_TRUE(count == 0, "count %lu", (unsigned long)count);
    EXPECT_CODE(aclFinalize(), 100037);

    /* 4.1: aclFinalize releases no objects of the program; 0: no call requires aclInit. */
    EXPECT_OK(aclInit(NULL));
    REQUIRE_OK(aclrtSetDevice(0));
    void *device = device_memory(64);
    device_fill(device, 64, 1);
    EXPECT_OK(aclFinalize());
    EXPECT_DEVICE_PATTERN(device, 64, 1);
    EXPECT_OK(aclrtFree(device));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
