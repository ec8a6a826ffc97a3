// soc: Ascend910B
// softacl-only
// env: SOFTACL_MEMORY=64MiB
/* No finding for an allocator that runs out of memory, frees its cache and retries, nor for a program that queries the
 * current device and context before it sets one. */
#include "../expect.h"

#define BLOCK ((size_t)8 << 20)
#define MAX_BLOCKS 9

int main(void)
{
    aclrtContext context = NULL;
    int32_t device = -1;
    EXPECT_CODE(aclrtGetCurrentContext(&context), 107002);
    EXPECT_CODE(aclrtGetDevice(&device), 107002);
    REQUIRE_OK(aclrtSetDevice(0));
    void *cache[MAX_BLOCKS] = {NULL};
    void *block = NULL;
    int count = 0;
    aclError got = 0;
    while (count < MAX_BLOCKS && (got = aclrtMalloc(&cache[count], BLOCK, ACL_MEM_MALLOC_HUGE_FIRST)) == 0) {
        count++;
    }
    EXPECT_CODE(got, 207001);
    while (count > 0) {
        EXPECT_OK(aclrtFree(cache[--count]));
    }
    EXPECT_OK(aclrtMalloc(&block, BLOCK, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT_OK(aclrtMemset(block, BLOCK, 0, BLOCK));
    EXPECT_OK(aclrtFree(block));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
