// soc: Ascend910B Ascend950 Ascend310P
// schedules: all
/* Copies larger than the 64 MiB of one transfer task, with unaligned
 * sizes and addresses, are complete and write no other bytes. */
#include "../expect.h"

#define MIB (1024u * 1024u)
#define SIZE ((size_t)65 * MIB + 12345)
#define MARGIN 77

static void write_marks(uint8_t *memory, size_t size, uint64_t salt)
{
    for (size_t i = 0; i + 8 <= size; i += 4096) {
        uint64_t value = i * 31 + salt;
        memcpy(memory + i, &value, 8);
    }
    memory[size - 1] = (uint8_t)salt;
}

static int has_marks(const uint8_t *memory, size_t size, uint64_t salt)
{
    for (size_t i = 0; i + 8 <= size; i += 4096) {
        uint64_t value;
        memcpy(&value, memory + i, 8);
        if (value != i * 31 + salt) {
            return 0;
        }
    }
    return memory[size - 1] == (uint8_t)salt;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE + 2 * MARGIN);
    uint8_t *first = (uint8_t *)device_memory(SIZE + 2 * MARGIN);
    uint8_t *second = (uint8_t *)device_memory(SIZE + 2 * MARGIN);

    write_marks(pinned + MARGIN, SIZE, 5);
    EXPECT_OK(aclrtMemcpyAsync(first + MARGIN, SIZE, pinned + MARGIN, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtMemcpyAsync(second + MARGIN, SIZE, first + MARGIN, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    memset(pinned, 0xAB, SIZE + 2 * MARGIN);
    EXPECT_OK(aclrtMemcpyAsync(pinned + MARGIN, SIZE, second + MARGIN, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(has_marks(pinned + MARGIN, SIZE, 5), "wrong contents");
    EXPECT_VALUE(pinned, MARGIN, 0xAB);
    EXPECT_VALUE(pinned + MARGIN + SIZE, MARGIN, 0xAB);
    EXPECT_DEVICE_VALUE(second, MARGIN, 0);
    EXPECT_DEVICE_VALUE(second + MARGIN + SIZE, MARGIN, 0);
    EXPECT_OK(aclrtFreeHost(pinned));

    uint8_t *pageable = (uint8_t *)pageable_memory(SIZE);
    EXPECT_OK(aclrtMemcpyAsync(pageable, SIZE, first + MARGIN, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_TRUE(has_marks(pageable, SIZE, 5), "wrong contents, pageable");
    write_marks(pageable, SIZE, 6);
    EXPECT_OK(aclrtMemcpyAsync(second, SIZE, pageable, SIZE, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream));
    memset(pageable, 0, SIZE);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtMemcpy(pageable, SIZE, second, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_TRUE(has_marks(pageable, SIZE, 6), "wrong contents, through the buffer");
    free(pageable);

    EXPECT_OK(aclrtFree(first));
    EXPECT_OK(aclrtFree(second));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
