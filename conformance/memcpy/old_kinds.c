// soc: Ascend910B
// softacl-only
// env: SOFTACL_CANN=8.1
/* The documents up to 8.1 know copy kinds 0 to 4 only: 5, 6 and 7 are unknown values there. */
#include "../expect.h"

#define SIZE 256

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    void *pinned = pinned_memory(SIZE), *device = device_memory(SIZE), *other = device_memory(SIZE);
    for (int kind = 0; kind <= 4; kind++) {
        EXPECT_OK(aclrtMemcpy(device, SIZE, pinned, SIZE, (aclrtMemcpyKind)kind));
        EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, (aclrtMemcpyKind)kind, stream));
        EXPECT_OK(aclrtSynchronizeStream(stream));
    }
    for (int kind = 5; kind <= 7; kind++) {
        size_t size = 0;
        EXPECT_CODE(aclrtMemcpy(device, SIZE, pinned, SIZE, (aclrtMemcpyKind)kind), 100000);
        EXPECT_CODE(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, (aclrtMemcpyKind)kind, stream), 100000);
        EXPECT_CODE(aclrtMemcpyAsyncWithCondition(device, SIZE, pinned, SIZE, (aclrtMemcpyKind)kind, stream), 100000);
        EXPECT_CODE(aclrtMemcpy2d(device, 16, pinned, 16, 16, 4, (aclrtMemcpyKind)kind), 100000);
        EXPECT_CODE(aclrtGetMemcpyDescSize((aclrtMemcpyKind)kind, &size), 100000);
        EXPECT_CODE(aclrtSetMemcpyDesc(device, (aclrtMemcpyKind)kind, other, other, SIZE, NULL), 100000);
        EXPECT_CODE(aclrtMemcpyAsyncWithDesc(device, (aclrtMemcpyKind)kind, stream), 100000);
    }
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFree(other));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
