// soc: Ascend910B
// softacl-only
// env: SOFTACL_MEMORY=64MiB
/* A caching allocator that runs out of memory, frees what it keeps and asks again; and who asks which device and context are
 * current before there is one. Both are answers, not mistakes. */
#include "../expect.h"

#define BLOCK ((size_t)8 << 20)
#define MOST 9

int main(void)
{
    aclrtContext context = NULL;
    int32_t device = -1;
    EXPECT_CODE(aclrtGetCurrentContext(&context), 107002);
    EXPECT_CODE(aclrtGetDevice(&device), 107002);
    REQUIRE_OK(aclrtSetDevice(0));
    void *kept[MOST] = {NULL};
    void *wanted = NULL;
    int count = 0;
    aclError got = 0;
    while (count < MOST && (got = aclrtMalloc(&kept[count], BLOCK, ACL_MEM_MALLOC_HUGE_FIRST)) == 0) {
        count++;
    }
    EXPECT_CODE(got, 207001);
    while (count > 0) {
        EXPECT_OK(aclrtFree(kept[--count]));
    }
    EXPECT_OK(aclrtMalloc(&wanted, BLOCK, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT_OK(aclrtMemset(wanted, BLOCK, 0, BLOCK));
    EXPECT_OK(aclrtFree(wanted));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
