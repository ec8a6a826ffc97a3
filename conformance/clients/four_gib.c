// soc: Ascend910B
// env: SOFTACL_MEMORY=10GiB
// sanitize: none (a copy of 4 GiB takes too long there)
// schedules: all
/* Client usage: a single copy of more than 4 GiB. Most of the source is never written, to save memory. */
#include "../expect.h"

#define SIZE (((size_t)4 << 30) + 4096)

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *source = NULL, *target = NULL;
    REQUIRE_OK(aclrtMalloc((void **)&source, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    REQUIRE_OK(aclrtMalloc((void **)&target, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    static const size_t marks[] = {0, ((size_t)2 << 30) - 8, ((size_t)4 << 30) - 8, ((size_t)4 << 30), SIZE - 64};
    for (uint32_t i = 0; i < 5; i++) {
        device_fill(source + marks[i], 8, i + 1);
    }
    EXPECT_OK(aclrtMemcpyAsync(target, SIZE, source, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    for (uint32_t i = 0; i < 5; i++) {
        EXPECT_DEVICE_PATTERN(target + marks[i], 8, i + 1);
    }
    EXPECT_OK(aclrtFree(source));
    EXPECT_OK(aclrtFree(target));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
