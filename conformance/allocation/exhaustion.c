// soc: Ascend910B Ascend310P
// softacl-only
// env: SOFTACL_MEMORY=64MiB
// schedules: all
// expects: R1
/* Device memory allocation fails with 207001 when the device is full, and succeeds again after memory is freed. */
#include "../expect.h"

#define BLOCK ((size_t)8 << 20)
#define MAX_BLOCKS 9

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    void *blocks[MAX_BLOCKS] = {NULL};
    int count = 0;
    aclError got = 0;
    while (count < MAX_BLOCKS && (got = aclrtMalloc(&blocks[count], BLOCK, ACL_MEM_MALLOC_HUGE_FIRST)) == 0) {
        count++;
    }
    EXPECT_CODE(got, 207001); /* 1.14: out of memory */
    EXPECT_TRUE(count >= 6 && count <= 8, "%d blocks of 8 MiB in 64 MiB", count);
    REQUIRE_TRUE(count >= 2, "too few blocks to continue");
    void *more = NULL;
    EXPECT_CODE(aclrtMalloc(&more, BLOCK, ACL_MEM_MALLOC_HUGE_FIRST), 207001);
    EXPECT_TRUE(aclGetRecentErrMsg() != NULL, "no message");
    EXPECT_OK(aclrtFree(blocks[1]));
    EXPECT_OK(aclrtMalloc(&blocks[1], BLOCK, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT_CODE(aclrtMalloc(&more, (size_t)128 << 20, ACL_MEM_MALLOC_HUGE_FIRST), 207001);

    /* The memory of another device is separate. */
    REQUIRE_OK(aclrtSetDevice(1));
    EXPECT_OK(aclrtMalloc(&more, BLOCK, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT_OK(aclrtFree(more));
    REQUIRE_OK(aclrtResetDevice(1));
    REQUIRE_OK(aclrtSetDevice(0));
    for (int i = 0; i < count; i++) {
        EXPECT_OK(aclrtFree(blocks[i]));
    }
    /* Adjacent free blocks are merged. */
    EXPECT_OK(aclrtMalloc(&more, 6 * BLOCK, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT_OK(aclrtFree(more));
    REQUIRE_OK(aclrtResetDeviceForce(0));
    return finish();
}
