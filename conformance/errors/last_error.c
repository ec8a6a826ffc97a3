// soc: all
// schedules: all
// expects: C2 M1
/* The last error is per thread. Runtime failures set it, failures of the upper
 * layer do not; aclrtGetLastError clears it, aclrtPeekAtLastError does not. */
#include "../expect.h"

#define SIZE 64
#define LEVEL ACL_RT_THREAD_LEVEL

static void *other_thread(void *unused)
{
    (void)unused;
    static uint8_t pageable[SIZE];
    EXPECT_CODE(aclrtPeekAtLastError(LEVEL), 0); /* 4.6: one last error per thread */
    EXPECT_CODE(aclrtMemcpy(pageable, SIZE, pageable + 1, SIZE - 1, ACL_MEMCPY_HOST_TO_HOST), 107002);
    EXPECT_CODE(aclrtGetLastError(LEVEL), 107002);
    return NULL;
}

int main(void)
{
    static uint8_t pageable[SIZE];
    EXPECT_CODE(aclrtGetLastError(LEVEL), 0);
    EXPECT_CODE(aclrtPeekAtLastError(LEVEL), 0);
    EXPECT_CODE(aclrtGetLastError((aclrtLastErrLevel)1), 100000); /* 4.6: other levels */
    EXPECT_CODE(aclrtPeekAtLastError((aclrtLastErrLevel)7), 100000);
    REQUIRE_OK(aclrtSetDevice(0));
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE);
    void *device = device_memory(SIZE);
    EXPECT_CODE(aclrtGetLastError(LEVEL), 0);

    /* 4.6: failures of the upper layer do not set it. */
    EXPECT_CODE(aclrtMemcpy(NULL, SIZE, pageable, SIZE, ACL_MEMCPY_HOST_TO_HOST), 100000);
    EXPECT_CODE(aclrtFree(NULL), 100000);
    EXPECT_CODE(aclrtPeekAtLastError(LEVEL), 0);

    /* Runtime failures set it. */
    EXPECT_CODE(aclrtMemcpy(device, 1, pageable, 2, ACL_MEMCPY_HOST_TO_DEVICE), 107000);
    EXPECT_CODE(aclrtPeekAtLastError(LEVEL), 107000);
    EXPECT_CODE(aclrtPeekAtLastError(LEVEL), 107000);
    EXPECT_CODE(aclrtGetLastError(LEVEL), 107000);
    EXPECT_CODE(aclrtGetLastError(LEVEL), 0);

    /* Success and failures of the upper layer do not clear it. A newer failure replaces an older one. */
    EXPECT_CODE(aclrtMemcpy(device, 1, pageable, 2, ACL_MEMCPY_HOST_TO_DEVICE), 107000);
    EXPECT_OK(aclrtMemcpy(device, SIZE, pageable, SIZE, ACL_MEMCPY_HOST_TO_DEVICE));
    EXPECT_CODE(aclrtMemcpy(NULL, 1, pageable, 1, ACL_MEMCPY_HOST_TO_DEVICE), 100000);
    EXPECT_CODE(aclrtPeekAtLastError(LEVEL), 107000);
    EXPECT_CODE(aclrtSynchronizeStream(stale_stream()), 107017);
    EXPECT_CODE(aclrtPeekAtLastError(LEVEL), 107017);
    EXPECT_CODE(aclrtSetDevice(64), 107001);
    EXPECT_CODE(aclrtPeekAtLastError(LEVEL), 107001);

    /* 1.2 row 10: this 207000 does not set it. */
    EXPECT_CODE(aclrtMemcpyAsync(pinned, 8, pinned + 8, 8, ACL_MEMCPY_HOST_TO_HOST, NULL), 207000);
    EXPECT_CODE(aclrtPeekAtLastError(LEVEL), 107001);
    in_new_thread(other_thread, NULL);
    EXPECT_CODE(aclrtGetLastError(LEVEL), 107001); /* unaffected by the other thread */
    EXPECT_CODE(aclrtGetLastError(LEVEL), 0);

    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtFree(device));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
