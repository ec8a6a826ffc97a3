// soc: all
// schedules: all
// expects: C2
/* Null pointers for every argument return an error, mostly 100000, with and without a current device. */
#include "../expect.h"

#define SIZE 64

static void check_nulls(int device_set)
{
    static uint8_t pageable[SIZE];
    size_t number = 0;
    float ms;

    EXPECT_CODE(aclrtMalloc(NULL, SIZE, ACL_MEM_MALLOC_HUGE_FIRST), 100000);
    EXPECT_CODE(aclrtMallocHost(NULL, SIZE), 100000);
    EXPECT_CODE(aclrtMallocAlign32(NULL, SIZE, ACL_MEM_MALLOC_HUGE_FIRST), 100000);
    EXPECT_CODE(aclrtMallocCached(NULL, SIZE, ACL_MEM_MALLOC_HUGE_FIRST), 100000);
    EXPECT_CODE(aclrtMallocWithCfg(NULL, SIZE, ACL_MEM_MALLOC_HUGE_FIRST, NULL), 100000);
    EXPECT_CODE(aclrtMallocHostWithCfg(NULL, SIZE, NULL), 100000);
    EXPECT_CODE(aclrtFree(NULL), 100000);
    EXPECT_CODE(aclrtFreeHost(NULL), 100000);
    EXPECT_CODE(aclrtFreeWithDevSync(NULL), 100000);
    EXPECT_CODE(aclrtFreeHostWithDevSync(NULL), 100000);
    EXPECT_CODE(aclrtGetMemInfo(ACL_HBM_MEM, NULL, &number), 100000);
    EXPECT_CODE(aclrtGetMemInfo(ACL_HBM_MEM, &number, NULL), 100000);
    EXPECT_CODE(aclrtPointerGetAttributes(NULL, NULL), 100000);
    EXPECT_CODE(aclrtPointerGetAttributes(pageable, NULL), 100000);
    EXPECT_CODE(aclrtHostRegister(NULL, SIZE, ACL_HOST_REGISTER_MAPPED, NULL), 100000);
    EXPECT_CODE(aclrtHostRegisterV2(NULL, SIZE, ACL_HOST_REG_MAPPED), 100000);
    EXPECT_CODE(aclrtHostUnregister(NULL), 100000);
    EXPECT_CODE(aclrtHostGetDevicePointer(NULL, NULL, 0), 100000);
    EXPECT_CODE(aclrtHostMemMapCapabilities(0, ACL_RT_HAC_TYPE_SDMA, NULL), 100000);
    EXPECT_CODE(aclrtMemset(NULL, SIZE, 0, SIZE), 100000);
    EXPECT_CODE(aclrtMemsetAsync(NULL, SIZE, 0, SIZE, NULL), 100000);
    EXPECT_CODE(aclrtMemsetD32(NULL, SIZE, 0, 1), 100000);
    EXPECT_CODE(aclrtMemsetD32Async(NULL, SIZE, 0, 1, NULL), 100000);
    EXPECT_CODE(aclrtMemcpy2d(NULL, SIZE, pageable, SIZE, SIZE, 1, ACL_MEMCPY_HOST_TO_DEVICE), 100000);
    EXPECT_CODE(aclrtMemcpy2d(pageable, SIZE, NULL, SIZE, SIZE, 1, ACL_MEMCPY_HOST_TO_DEVICE), 100000);
    EXPECT_CODE(aclrtReduceAsync(NULL, pageable, SIZE, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, NULL, NULL),
                100000);
    EXPECT_CODE(aclrtReduceAsync(pageable, NULL, SIZE, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, NULL, NULL),
                100000);
    EXPECT_CODE(aclrtCreateContext(NULL, 0), 100000);
    EXPECT_CODE(aclrtDestroyContext(NULL), 100000);
    EXPECT_CODE(aclrtSetCurrentContext(NULL), 100000);
    EXPECT_CODE(aclrtGetCurrentContext(NULL), 100000);
    EXPECT_FAILS(aclrtCtxGetCurrentDefaultStream(NULL));
    EXPECT_CODE(aclrtCreateStream(NULL), 100000);
    EXPECT_CODE(aclrtCreateStreamWithConfig(NULL, 0, 0), 100000);
    EXPECT_CODE(aclrtDestroyStream(NULL), 100000);
    EXPECT_FAILS(aclrtDestroyStreamForce(NULL));
    EXPECT_CODE(aclrtStreamQuery(NULL, NULL), 100000);
    EXPECT_CODE(aclrtCreateEvent(NULL), 100000);
    EXPECT_CODE(aclrtCreateEventWithFlag(NULL, ACL_EVENT_SYNC), 100000);
    EXPECT_CODE(aclrtCreateEventExWithFlag(NULL, ACL_EVENT_SYNC), 100000);
    EXPECT_CODE(aclrtDestroyEvent(NULL), 100000);
    EXPECT_CODE(aclrtRecordEvent(NULL, NULL), 100000);
    EXPECT_CODE(aclrtStreamWaitEvent(NULL, NULL), 100000);
    EXPECT_CODE(aclrtSynchronizeEvent(NULL), 100000);
    EXPECT_CODE(aclrtQueryEventStatus(NULL, NULL), 100000);
    EXPECT_CODE(aclrtEventElapsedTime(NULL, NULL, NULL), 100000);
    EXPECT_CODE(aclrtEventElapsedTime(&ms, NULL, NULL), 100000);
    EXPECT_FAILS(aclrtEventGetTimestamp(NULL, NULL));
    EXPECT_CODE(aclrtGetDevice(NULL), 100000);
    EXPECT_CODE(aclrtGetDeviceCount(NULL), 100000);
    EXPECT_CODE(aclrtGetRunMode(NULL), 100000);
    EXPECT_CODE(aclrtGetVersion(NULL, NULL, NULL), 100000);
    EXPECT_CODE(aclrtDevicePeerAccessStatus(0, 1, NULL), 100000);
    EXPECT_FAILS(aclrtLaunchHostFunc(NULL, NULL, NULL));
    EXPECT_FAILS(aclrtReserveMemAddress(NULL, SIZE, 0, NULL, 0));
    EXPECT_FAILS(aclrtReleaseMemAddress(NULL));
    EXPECT_FAILS(aclrtMallocPhysical(NULL, SIZE, NULL, 0));
    EXPECT_FAILS(aclrtFreePhysical(NULL));
    EXPECT_FAILS(aclrtMapMem(NULL, SIZE, 0, NULL, 0));
    EXPECT_FAILS(aclrtUnmapMem(NULL));
    EXPECT_FAILS(aclrtIpcMemGetExportKey(NULL, SIZE, NULL, 65, 0));
    EXPECT_FAILS(aclrtIpcMemImportByKey(NULL, NULL, 0));
    EXPECT_FAILS(aclrtIpcMemClose(NULL));
    if (device_set) {
        EXPECT_OK(aclrtSynchronizeStream(NULL)); /* the default stream */
    } else {
        EXPECT_CODE(aclrtSynchronizeStream(NULL), 107002);
    }
}

int main(void)
{
    check_nulls(0);
    REQUIRE_OK(aclrtSetDevice(0));
    check_nulls(1);
    REQUIRE_OK(aclrtResetDevice(0));
    check_nulls(0);
    return finish();
}
