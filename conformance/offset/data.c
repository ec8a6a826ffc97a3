// soc: Ascend910B Ascend910C Ascend950 Ascend910A
// schedules: all
// expects: S2
/* aclrtMemcpyAsyncWithOffset reads the two address cells when the task runs and adds the offsets. */
#include "../expect.h"

#define SIZE 1024
#define INNER ACL_MEMCPY_INNER_DEVICE_TO_DEVICE

static struct gate gate = GATE_INITIALIZER;

static void set_cell(void *cell, const void *address)
{
    REQUIRE_OK(aclrtMemcpy(cell, sizeof address, &address, sizeof address, ACL_MEMCPY_HOST_TO_DEVICE));
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *source = (uint8_t *)device_memory(SIZE);
    uint8_t *other = (uint8_t *)device_memory(SIZE);
    uint8_t *target = (uint8_t *)device_memory(SIZE);
    void **dst = (void **)device_memory(sizeof(void *));
    void *cell = device_memory(sizeof(void *));
    const void **src = (const void **)cell;
    device_fill(source, SIZE, 1);
    device_fill(other, SIZE, 2);
    set_cell(dst, target);
    set_cell(cell, source);

    EXPECT_OK(aclrtMemcpyAsyncWithOffset(dst, SIZE, 0, src, SIZE, 0, INNER, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(target, SIZE, 1);

    /* Offsets on both sides, up to the last byte that fits. */
    REQUIRE_OK(aclrtMemset(target, SIZE, 0, SIZE));
    EXPECT_OK(aclrtMemcpyAsyncWithOffset(dst, SIZE, 1000, src, 24, 0, INNER, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_VALUE(target, 1000, 0);
    EXPECT_DEVICE_PATTERN(target + 1000, 24, 1);
    EXPECT_OK(aclrtMemcpyAsyncWithOffset(dst, SIZE, 10, src, 30, 17, INNER, NULL)); /* on the default stream */
    EXPECT_OK(aclrtSynchronizeStream(NULL));
    uint8_t *bytes = device_bytes(target, SIZE);
    for (size_t i = 0; i < 30; i++) {
        EXPECT_TRUE(bytes[10 + i] == pattern_byte(17 + i, 1), "byte %zu", i);
    }
    EXPECT_VALUE(bytes, 10, 0);
    EXPECT_VALUE(bytes + 40, 960, 0);
    free(bytes);

    /* The cells are read when the task runs. */
    gate_close(&gate, stream);
    EXPECT_OK(aclrtMemcpyAsyncWithOffset(dst, SIZE, 0, src, SIZE, 0, INNER, stream));
    EXPECT_TRUE(stream_is_busy(stream), "the stream is not blocked");
    set_cell(cell, other);
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(target, SIZE, 2);

    /* Invalid addresses in the cells fail the stream and have no other effect. */
    if (on_softacl()) {
        set_cell(cell, (const void *)(uintptr_t)0x12345);
        EXPECT_OK(aclrtMemcpyAsyncWithOffset(dst, SIZE, 0, src, SIZE, 0, INNER, stream));
        EXPECT_CODE(aclrtSynchronizeStream(stream), copy_failure());
        set_cell(cell, source);
        set_cell(dst, target + 1); /* one byte beyond the allocation */
        EXPECT_OK(aclrtMemcpyAsyncWithOffset(dst, SIZE, 0, src, SIZE, 0, INNER, stream));
        EXPECT_CODE(aclrtSynchronizeStream(stream), copy_failure());
        EXPECT_DEVICE_PATTERN(target, SIZE, 2);
        set_cell(dst, target);
        EXPECT_OK(aclrtMemcpyAsyncWithOffset(dst, SIZE, 0, src, SIZE, 0, INNER, stream));
        EXPECT_OK(aclrtSynchronizeStream(stream));
        EXPECT_DEVICE_PATTERN(target, SIZE, 1);
    }

    EXPECT_OK(aclrtFree(cell));
    EXPECT_OK(aclrtFree(dst));
    EXPECT_OK(aclrtFree(source));
    EXPECT_OK(aclrtFree(other));
    EXPECT_OK(aclrtFree(target));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
