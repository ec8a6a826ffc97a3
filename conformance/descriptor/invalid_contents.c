// soc: Ascend910B Ascend910C Ascend950 Ascend310B
// softacl-only
// schedules: all
/* A descriptor with invalid contents fails its task.
 * Other memory and streams are unaffected, and later tasks still run. */
#include "../expect.h"

#define SIZE 256
#define INNER ACL_MEMCPY_INNER_DEVICE_TO_DEVICE

static size_t size, length_at, source_at, target_at;
static uint8_t *descriptor;

static void write_descriptor(uint64_t source, uint64_t target, uint32_t length)
{
    uint8_t bytes[64] = {0};
    memcpy(bytes + length_at, &length, 4);
    memcpy(bytes + source_at, &source, 8);
    memcpy(bytes + target_at, &target, 8);
    REQUIRE_OK(aclrtMemcpy(descriptor, size, bytes, size, ACL_MEMCPY_HOST_TO_DEVICE));
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    int large = family() == FAMILY_950;
    size = large ? 64 : 32, length_at = large ? 48 : 12, source_at = large ? 32 : 16, target_at = large ? 40 : 24;
    aclrtStream stream = new_stream();
    aclrtStream other = new_stream();
    descriptor = (uint8_t *)device_memory(size);
    uint8_t *source = (uint8_t *)device_memory(SIZE);
    uint8_t *target = (uint8_t *)device_memory(SIZE);
    uint8_t *neighbor = (uint8_t *)device_memory(SIZE);
    uint8_t *freed = (uint8_t *)device_memory(SIZE);
    uint8_t *pageable = (uint8_t *)pageable_memory(SIZE);
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE);
    REQUIRE_OK(aclrtFree(freed));
    device_fill(source, SIZE, 1);
    device_fill(neighbor, SIZE, 9);
    fill_pattern(pinned, SIZE, 5);

    uint64_t from = (uint64_t)(uintptr_t)source, to = (uint64_t)(uintptr_t)target;
    const struct { uint64_t source, target; uint32_t length; } invalid[] = {
        {0, to, SIZE},
        {from, 0, SIZE},
        {from, 64, SIZE},
        {0xDEADBEEFDEADBEEFu, to, SIZE},
        {from, 0xDEADBEEFDEADBEEFu, SIZE},
        {from, UINT64_MAX - 8, SIZE},
        {(uint64_t)(uintptr_t)freed, to, SIZE},
        {from, (uint64_t)(uintptr_t)freed, SIZE},
        {(uint64_t)(uintptr_t)pageable, to, SIZE},
        {from, (uint64_t)(uintptr_t)pageable, SIZE},
        {from, to, SIZE + 1},
        {from, to, UINT32_MAX},
        {from - 1, to, SIZE},
        {from, to - 1, SIZE},
        {from + 1, to, SIZE},
    };
    for (size_t i = 0; i < sizeof invalid / sizeof invalid[0]; i++) {
        REQUIRE_OK(aclrtMemset(target, SIZE, 0, SIZE));
        write_descriptor(invalid[i].source, invalid[i].target, invalid[i].length);
        EXPECT_OK(aclrtMemcpyAsyncWithDesc(descriptor, INNER, stream));
        aclError got = aclrtSynchronizeStream(stream);
        EXPECT_TRUE(got == copy_failure(), "contents %zu: synchronize returned %d", i, got);
        EXPECT_TRUE(aclGetRecentErrMsg() != NULL, "contents %zu: no message", i);
        EXPECT_OK(aclrtSynchronizeStream(other));      /* other streams do not report it */
        EXPECT_OK(aclrtMemcpyAsync(target, SIZE, source, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
        EXPECT_OK(aclrtSynchronizeStream(stream));     /* reported once; the stream is usable */
        EXPECT_DEVICE_PATTERN(target, SIZE, 1);
        EXPECT_DEVICE_PATTERN(source, SIZE, 1);
        EXPECT_DEVICE_PATTERN(neighbor, SIZE, 9);
        EXPECT_VALUE(pageable, SIZE, 0);
    }

    /* 4.4: in the default failure mode later tasks of the stream still run. */
    write_descriptor(from, 64, SIZE);
    EXPECT_OK(aclrtMemcpyAsyncWithDesc(descriptor, INNER, stream));
    EXPECT_OK(aclrtMemcpyAsync(target, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_CODE(aclrtSynchronizeStream(stream), copy_failure());
    EXPECT_DEVICE_PATTERN(target, SIZE, 5);

    /* 1.2: a pageable copy returns the error of an earlier task of its stream. */
    EXPECT_OK(aclrtMemcpyAsyncWithDesc(descriptor, INNER, stream));
    EXPECT_CODE(aclrtMemcpyAsync(pageable, SIZE, source, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream), copy_failure());

    /* aclrtSynchronizeDevice reports it too. */
    EXPECT_OK(aclrtMemcpyAsyncWithDesc(descriptor, INNER, other));
    EXPECT_CODE(aclrtSynchronizeDevice(), copy_failure());

    free(pageable);
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtFree(descriptor));
    EXPECT_OK(aclrtFree(source));
    EXPECT_OK(aclrtFree(target));
    EXPECT_OK(aclrtFree(neighbor));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
