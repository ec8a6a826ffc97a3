// soc: Ascend910B Ascend950 Ascend310P
// softacl-only
// schedules: all
// expects: B1 M1 R1
/* Absurdly large sizes return an error without side effects, also if a sum or product of arguments overflows. */
#include "../batch/variants.h"

#define SIZE 256

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE);
    uint8_t *pageable = (uint8_t *)pageable_memory(SIZE);
    device_fill(device, SIZE, 1);
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX / 2 + 1, (size_t)1 << 48, (size_t)1 << 40};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t huge = sizes[i];
        void *memory = NULL;
        EXPECT_FAILS(aclrtMalloc(&memory, huge, ACL_MEM_MALLOC_HUGE_FIRST));
        EXPECT_FAILS(aclrtMallocAlign32(&memory, huge, ACL_MEM_MALLOC_HUGE_FIRST));
        EXPECT_FAILS(aclrtMallocWithCfg(&memory, huge, ACL_MEM_MALLOC_HUGE_FIRST, NULL));
        if (huge >= (size_t)1 << 48) {
            EXPECT_FAILS(aclrtMallocHost(&memory, huge));
        }
        /* too large for source and destination */
        EXPECT_FAILS(aclrtMemcpy(device, huge, pageable, huge, ACL_MEMCPY_HOST_TO_DEVICE));
        /* too large for source and destination */
        EXPECT_FAILS(aclrtMemcpy(pageable, huge, device, huge, ACL_MEMCPY_DEVICE_TO_HOST));
        EXPECT_CODE(aclrtMemcpyAsync(device, huge, pinned, huge, ACL_MEMCPY_HOST_TO_DEVICE, stream), 107000);
        EXPECT_CODE(aclrtMemcpyAsync(pinned, huge, device, huge, ACL_MEMCPY_DEVICE_TO_HOST, stream), 107000);
        EXPECT_FAILS(aclrtMemcpyAsync(device, huge, pageable, huge, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream));
        EXPECT_CODE(aclrtMemset(device, huge, 0, huge), 107000);
        EXPECT_CODE(aclrtMemsetAsync(device, huge, 0, huge, stream), 107000);
        EXPECT_FAILS(aclrtMemcpy2d(device, huge, pageable, huge, 16, 3, ACL_MEMCPY_HOST_TO_DEVICE));
        EXPECT_FAILS(aclrtMemcpy2dAsync(device, huge, pinned, huge, 16, 3, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        EXPECT_FAILS(aclrtReduceAsync(device, device, huge, ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX, ACL_FLOAT, stream, NULL));
        if (family_has_batches()) {
            EXPECT_FAILS(aclrtMemsetD32(device, huge, 0, huge / 4));
            EXPECT_FAILS(aclrtMemsetD32(device, SIZE, 0, huge));
            if (huge >= (size_t)1 << 48) {
                EXPECT_FAILS(aclrtHostRegisterV2(pageable, huge, ACL_HOST_REG_MAPPED));
            }
            void *dsts[2] = {device, device + 64}, *srcs[2] = {pinned, pinned + 64};
            size_t batch_sizes[2] = {64, huge}, indexes[1] = {0};
            aclrtMemcpyBatchAttr attrs[1] = {host_to_device()};
            struct batch b = {dsts, batch_sizes, srcs, batch_sizes, 2, attrs, indexes, 1};
            for (int f = SYNC; f <= SYNC_V2; f++) {
                size_t index = 0;
                EXPECT_FAILS(batch_call((enum variant)f, b, &index, stream));
            }
        }
        EXPECT_OK(aclrtSynchronizeStream(stream));
        EXPECT_DEVICE_PATTERN(device, SIZE, 1);
    }
    void *memory = NULL;
    EXPECT_CODE(aclrtMalloc(&memory, SIZE_MAX - 32, ACL_MEM_MALLOC_HUGE_FIRST), 100000); /* 1.14: size + 64 overflows */
    EXPECT_CODE(aclrtMalloc(&memory, (size_t)1 << 48, ACL_MEM_MALLOC_HUGE_FIRST), 207001); /* 1.14: out of memory */

    free(pageable);
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
