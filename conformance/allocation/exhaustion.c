// soc: Ascend910B Ascend310P
// softacl-only
// env: SOFTACL_MEMORY=64MiB
// schedules: all
// misuses: R1
/* A device runs out of memory with 207001, and recovers when something is freed. */
#include "../expect.h"

#define BLOCK ((size_t)8 << 20)
#define MOST 9

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    void *blocks[MOST] = {NULL};
    int count = 0;
    aclError got = 0;
    while (count < MOST && (got = aclrtMalloc(&blocks[count], BLOCK, ACL_MEM_MALLOC_HUGE_FIRST)) == 0) {
        count++;
    }
    EXPECT_CODE(got, 207001); /* 1.14: out of memory */
    EXPECT_TRUE(count >= 6 && count <= 8, "%d blocks of 8 MiB in 64 MiB", count);
    REQUIRE_TRUE(count >= 2, "some room");
    void *more = NULL;
    EXPECT_CODE(aclrtMalloc(&more, BLOCK, ACL_MEM_MALLOC_HUGE_FIRST), 207001);
    EXPECT_TRUE(aclGetRecentErrMsg() != NULL, "there is a message");
    EXPECT_OK(aclrtFree(blocks[1]));
    EXPECT_OK(aclrtMalloc(&blocks[1], BLOCK, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT_CODE(aclrtMalloc(&more, (size_t)128 << 20, ACL_MEM_MALLOC_HUGE_FIRST), 207001);

    /* The other device has its own memory. */
    REQUIRE_OK(aclrtSetDevice(1));
    EXPECT_OK(aclrtMalloc(&more, BLOCK, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT_OK(aclrtFree(more));
    REQUIRE_OK(aclrtResetDevice(1));
    REQUIRE_OK(aclrtSetDevice(0));
    for (int i = 0; i < count; i++) {
        EXPECT_OK(aclrtFree(blocks[i]));
    }
    /* Fragments come together again. */
    EXPECT_OK(aclrtMalloc(&more, 6 * BLOCK, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT_OK(aclrtFree(more));
    REQUIRE_OK(aclrtResetDeviceForce(0));
    return finish();
}
