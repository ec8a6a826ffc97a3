// softacl-only
// env: SOFTACL_FAULTS=aclrtMalloc@3=207001; aclrtMalloc[size>=1MiB]@2+=ACL_ERROR_RT_MEMORY_ALLOCATION; aclrtCreateStream@2-3=207008; aclrtMemcpy[device=1]=507899; aclrtMemcpyAsync[stream=2]@1=507000; aclInit@1=100003
// schedules: all
/* Fault rules make calls fail, selected by occurrence, range,
 * size, device and stream. All other calls are unaffected. */
#include "../expect.h"

#define SIZE 256

int main(void)
{
    EXPECT_CODE(aclInit(NULL), 100003); /* also functions that do not use the machine */
    EXPECT_OK(aclInit(NULL));
    REQUIRE_OK(aclrtSetDevice(0));

    /* Only the third call fails, and it returns no pointer. */
    void *memory[5] = {NULL, NULL, NULL, NULL, NULL};
    for (int i = 0; i < 5; i++) {
        EXPECT_CODE(aclrtMalloc(&memory[i], SIZE, ACL_MEM_MALLOC_HUGE_FIRST), i == 2 ? 207001 : 0);
        EXPECT_TRUE((memory[i] == NULL) == (i == 2), "pointer %d", i);
    }
    /* 4.6: the failure sets the last error of the thread, and the message names the rule. */
    EXPECT_CODE(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), 207001);
    const char *message = aclGetRecentErrMsg();
    EXPECT_TRUE(message != NULL && strstr(message, "aclrtMalloc@3=207001") != NULL, "%s",
                message == NULL ? "(none)" : message);

    /* By size: only large allocations are counted, and the first of them succeeds. */
    void *large = NULL, *refused = NULL;
    EXPECT_OK(aclrtMalloc(&large, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT_CODE(aclrtMalloc(&refused, 2 << 20, ACL_MEM_MALLOC_HUGE_FIRST), 207001);
    EXPECT_CODE(aclrtMalloc(&refused, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST), 207001);
    EXPECT_OK(aclrtFree(large));

    /* A range of occurrences. */
    aclrtStream streams[4] = {NULL, NULL, NULL, NULL};
    for (int i = 0; i < 4; i++) {
        EXPECT_CODE(aclrtCreateStream(&streams[i]), i == 1 || i == 2 ? 207008 : 0);
    }

    /* By stream: the id is that of aclrtStreamGetId. */
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE);
    fill_pattern(pinned, SIZE, 1);
    for (int i = 0; i < 4; i += 3) {
        int32_t id = -1;
        EXPECT_OK(aclrtStreamGetId(streams[i], &id));
        aclError got = aclrtMemcpyAsync(memory[0], SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, streams[i]);
        EXPECT_TRUE(got == (id == 2 ? 507000 : 0), "stream %d returned %d", id, got);
        EXPECT_OK(aclrtMemcpyAsync(memory[0], SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, streams[i]));
        EXPECT_OK(aclrtSynchronizeStream(streams[i]));
    }
    EXPECT_DEVICE_PATTERN(memory[0], SIZE, 1);

    /* By device: the device of the current context. */
    uint32_t devices = 0;
    REQUIRE_OK(aclrtGetDeviceCount(&devices));
    if (devices > 1) {
        uint8_t *pageable = (uint8_t *)pageable_memory(SIZE);
        EXPECT_OK(aclrtMemcpy(pageable, SIZE, memory[0], SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
        REQUIRE_OK(aclrtSetDevice(1));
        EXPECT_CODE(aclrtMemcpy(pageable, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_HOST), 507899);
        EXPECT_OK(aclrtResetDevice(1));
        REQUIRE_OK(aclrtSetDevice(0));
        EXPECT_OK(aclrtResetDevice(0)); /* balances the second aclrtSetDevice(0) */
        free(pageable);
    }

    for (int i = 0; i < 5; i++) {
        if (memory[i] != NULL) {
            EXPECT_OK(aclrtFree(memory[i]));
        }
    }
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(streams[0]));
    EXPECT_OK(aclrtDestroyStream(streams[3]));
    EXPECT_OK(aclrtResetDevice(0));
    EXPECT_OK(aclFinalize());
    return finish();
}
