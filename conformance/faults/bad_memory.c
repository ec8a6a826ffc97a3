// softacl-only
// soc: Ascend910B Ascend910C Ascend950
// env: SOFTACL_FAULTS=allocation@2=ecc 1KiB+64; copy@2=ecc
// schedules: all
/* ECC faults: tasks that access bad memory fail until it is repaired, and the program can query where it is. */
#include "../expect.h"

#define SIZE 4096

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE), *good = (uint8_t *)device_memory(SIZE), *bad = NULL;
    aclrtMemUceInfo found[4];
    aclrtErrorInfo info;
    size_t count = 9;
    fill_pattern(pinned, SIZE, 1);
    EXPECT_OK(aclrtGetMemUceInfo(0, found, 4, &count));
    EXPECT_TRUE(count == 0, "%zu", count);

    /* An allocation with a bad range: the bytes around it are usable. */
    REQUIRE_OK(aclrtMalloc((void **)&bad, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT_OK(aclrtMemcpy(bad, 1024, pinned, 1024, ACL_MEMCPY_HOST_TO_DEVICE));
    EXPECT_OK(aclrtMemset(bad + 1088, SIZE - 1088, 1, SIZE - 1088));
    EXPECT_CODE(aclrtMemcpy(bad, 1025, pinned, 1025, ACL_MEMCPY_HOST_TO_DEVICE), 507054);
    EXPECT_CODE(aclrtMemcpy(pinned, 1, bad + 1087, 1, ACL_MEMCPY_DEVICE_TO_HOST), 507054);
    EXPECT_CODE(aclrtMemset(bad, SIZE, 1, SIZE), 507054);
    EXPECT_OK(aclrtMemsetAsync(bad, SIZE, 1, SIZE, stream)); /* reported when it runs */
    EXPECT_CODE(aclrtSynchronizeStream(stream), 507054);
    EXPECT_OK(aclrtSynchronizeStream(stream));

    EXPECT_OK(aclrtGetMemUceInfo(0, found, 4, &count));
    EXPECT_TRUE(count == 1 && found[0].addr == bad + 1024 && found[0].len == 64, "%zu: %zu bytes", count, found[0].len);
    EXPECT_OK(aclrtGetErrorVerbose(0, &info));
    EXPECT_TRUE(info.errorType == ACL_RT_ERROR_MEMORY && info.tryRepair && info.hasDetail, "type %d", info.errorType);
    EXPECT_TRUE(info.detail.uceInfo.arraySize == 1 && info.detail.uceInfo.memUceInfoArray[0].addr == bad + 1024,
                "wrong detail");
    EXPECT_OK(aclrtMemUceRepair(0, found, 1));
    EXPECT_OK(aclrtGetMemUceInfo(0, found, 4, &count));
    EXPECT_TRUE(count == 0, "%zu", count);
    EXPECT_OK(aclrtMemcpy(bad, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE));
    EXPECT_DEVICE_PATTERN(bad, SIZE, 1);

    /* A copy during which its device memory becomes bad. */
    EXPECT_OK(aclrtMemcpyAsync(good, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtMemcpyAsync(good + 64, 64, pinned, 64, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_CODE(aclrtSynchronizeStream(stream), 507054);
    EXPECT_CODE(aclrtMemcpy(pinned, 64, good + 64, 64, ACL_MEMCPY_DEVICE_TO_HOST), 507054);
    EXPECT_OK(aclrtMemcpy(pinned, 64, good, 64, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_OK(aclrtGetErrorVerbose(0, &info));
    EXPECT_OK(aclrtRepairError(0, &info));
    EXPECT_OK(aclrtMemcpy(pinned, SIZE, good, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_PATTERN(pinned, SIZE, 1);
    EXPECT_OK(aclrtGetErrorVerbose(0, &info));
    EXPECT_TRUE(info.errorType == ACL_RT_NO_ERROR, "type %d", info.errorType);

    EXPECT_OK(aclrtFree(good));
    EXPECT_OK(aclrtFree(bad));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
