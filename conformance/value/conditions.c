// soc: Ascend910B Ascend950
// schedules: all
/* aclrtValueWait: the four conditions, resolved by a value that a
 * stream, a blocking copy, an asynchronous copy or a memset writes. */
#include "../expect.h"

/* With value `before` in memory the wait is pending; value `after` resolves it. */
static const struct row { uint32_t flag; uint64_t operand, before, after; } rows[] = {
    {ACL_STREAM_WAIT_VALUE_GEQ, 7, 6, 7},
    /* GEQ is (int64_t)(x - value) >= 0: counters may wrap around (correction 3) */
    {ACL_STREAM_WAIT_VALUE_GEQ, 7, UINT64_MAX, 8},
    {ACL_STREAM_WAIT_VALUE_GEQ, UINT64_MAX, UINT64_MAX - 1, 3},
    {ACL_STREAM_WAIT_VALUE_GEQ, 7, 8 + (uint64_t)INT64_MAX, 7 + (uint64_t)INT64_MAX},
    {ACL_STREAM_WAIT_VALUE_EQ, 7, 8, 7},
    {ACL_STREAM_WAIT_VALUE_EQ, 1ull << 40, 0, 1ull << 40},
    {ACL_STREAM_WAIT_VALUE_AND, 6, 9, 2},
    {ACL_STREAM_WAIT_VALUE_NOR, 0xffff, ~0xffffull, ~0x1ffffull},
};
#define ROWS (sizeof rows / sizeof rows[0])

static void write_cell(uint64_t *cell, uint64_t value)
{
    REQUIRE_OK(aclrtMemcpy(cell, 8, &value, 8, ACL_MEMCPY_HOST_TO_DEVICE));
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream writer = new_stream(), waiter = new_stream();
    uint64_t *cell = (uint64_t *)device_memory(16);
    uint64_t *pinned = (uint64_t *)pinned_memory(8);
    static int ran;
    int expected = 0;
    for (size_t i = 0; i < ROWS; i++) {
        for (int writer_kind = 0; writer_kind < 3; writer_kind++) {
            write_cell(cell, rows[i].before);
            EXPECT_OK(aclrtValueWait(cell, rows[i].operand, rows[i].flag, waiter));
            EXPECT_OK(aclrtLaunchHostFunc(waiter, count_up, &ran));
            EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(waiter, 5), 507046);
            EXPECT_TRUE(count_of(&ran) == expected, "row %zu passed too early", i);
            if (writer_kind == 0) {
                EXPECT_OK(aclrtValueWrite(cell, rows[i].after, 0, writer));
            } else if (writer_kind == 1) {
                write_cell(cell, rows[i].after);
            } else {
                *pinned = rows[i].after;
                EXPECT_OK(aclrtMemcpyAsync(cell, 8, pinned, 8, ACL_MEMCPY_HOST_TO_DEVICE, writer));
            }
            EXPECT_OK(aclrtSynchronizeStream(waiter));
            EXPECT_TRUE(count_of(&ran) == ++expected, "row %zu, writer %d", i, writer_kind);
            EXPECT_OK(aclrtSynchronizeStream(writer));
            /* A condition that already holds does not block. */
            EXPECT_OK(aclrtValueWait(cell, rows[i].operand, rows[i].flag, waiter));
            EXPECT_OK(aclrtSynchronizeStream(waiter));
        }
    }
    EXPECT_OK(aclrtMemset(cell, 8, 0, 8));
    EXPECT_OK(aclrtValueWait(cell, 0x0101010101010101u, ACL_STREAM_WAIT_VALUE_EQ, waiter));
    EXPECT_OK(aclrtMemset(cell, 8, 1, 8));
    EXPECT_OK(aclrtSynchronizeStream(waiter));
    /* A write changes exactly 64 bits. */
    EXPECT_OK(aclrtMemset(cell, 16, 0, 16));
    EXPECT_OK(aclrtValueWrite(cell, 0x0807060504030201u, 0, writer));
    EXPECT_OK(aclrtSynchronizeStream(writer));
    uint8_t *bytes = device_bytes(cell, 16);
    for (int i = 0; i < 16; i++) {
        EXPECT_TRUE(bytes[i] == (i < 8 ? i + 1 : 0), "byte %d is %d", i, bytes[i]);
    }
    free(bytes);
    EXPECT_OK(aclrtFree(cell));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(writer));
    EXPECT_OK(aclrtDestroyStream(waiter));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
