// softacl-only
// env: SOFTACL_HOST_MEMORY=64MiB
// schedules: all
// expects: R1
/* Pinned memory allocation fails with 207001 at the limit of
 * SOFTACL_HOST_MEMORY, and succeeds again after memory is freed. */
#include "../expect.h"

#define BLOCK ((size_t)8 << 20)
#define MAX_BLOCKS 9

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    void *blocks[MAX_BLOCKS] = {NULL};
    int count = 0;
    aclError got = 0;
    while (count < MAX_BLOCKS && (got = aclrtMallocHost(&blocks[count], BLOCK)) == 0) {
        count++;
    }
    EXPECT_CODE(got, 207001);
    EXPECT_TRUE(count >= 6 && count <= 8, "%d blocks of 8 MiB in 64 MiB", count);
    REQUIRE_TRUE(count >= 2, "too few blocks to continue");
    void *more = NULL;
    EXPECT_CODE(aclrtMallocHost(&more, BLOCK), 207001);
    EXPECT_OK(aclrtFreeHost(blocks[1]));
    REQUIRE_OK(aclrtMallocHost(&blocks[1], BLOCK));

    /* Device memory is unaffected, and the pinned blocks are usable. */
    aclrtStream stream = new_stream();
    REQUIRE_OK(aclrtMalloc(&more, BLOCK, ACL_MEM_MALLOC_HUGE_FIRST));
    fill_pattern(blocks[1], BLOCK, 1);
    EXPECT_OK(aclrtMemcpyAsync(more, BLOCK, blocks[1], BLOCK, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtMemcpyAsync(blocks[0], BLOCK, more, BLOCK, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_PATTERN(blocks[0], BLOCK, 1);

    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtFree(more));
    for (int i = 0; i < count; i++) {
        EXPECT_OK(aclrtFreeHost(blocks[i]));
    }
    EXPECT_OK(aclrtMallocHost(&more, 4 * BLOCK));
    EXPECT_OK(aclrtFreeHost(more));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
