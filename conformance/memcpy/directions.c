// soc: all
// schedules: all
/* aclrtMemcpy derives the direction from the addresses; the kind
 * is only validated. Sizes and addresses need no alignment. */
#include "../expect.h"

#define SPAN 5000

enum memory_kind { PINNED, DEVICE, PAGEABLE, MEMORY_KINDS };

static uint8_t *allocate(enum memory_kind kind)
{
    void *memory = kind == PINNED ? pinned_memory(SPAN) : kind == DEVICE ? device_memory(SPAN) : pageable_memory(SPAN);
    return (uint8_t *)memory;
}

static void release(enum memory_kind kind, void *memory)
{
    if (kind == PINNED) {
        EXPECT_OK(aclrtFreeHost(memory));
    } else if (kind == DEVICE) {
        EXPECT_OK(aclrtFree(memory));
    } else {
        free(memory);
    }
}

static void clear(enum memory_kind kind, void *memory)
{
    if (kind == DEVICE) {
        REQUIRE_OK(aclrtMemset(memory, SPAN, 0xEE, SPAN));
    } else {
        memset(memory, 0xEE, SPAN);
    }
}

int main(void)
{
    static const size_t sizes[] = {1, 3, 64, 511, 4096, 4099};
    REQUIRE_OK(aclrtSetDevice(0));
    uint32_t seed = 1;
    for (int from = 0; from < MEMORY_KINDS; from++) {
        for (int to = 0; to < MEMORY_KINDS; to++) {
            uint8_t *source = allocate((enum memory_kind)from);
            uint8_t *target = allocate((enum memory_kind)to);
            for (int kind = 0; kind <= 5; kind++) { /* 1.1 row 4: 0 to 5 are valid, whatever the locations */
                size_t size = sizes[seed % 6];
                size_t offset = seed % 37;
                uint8_t *pattern = (uint8_t *)pageable_memory(size);
                fill_pattern(pattern, size, seed);
                clear((enum memory_kind)to, target);
                REQUIRE_OK(aclrtMemcpy(source + offset, size, pattern, size, ACL_MEMCPY_DEFAULT));
                EXPECT_OK(aclrtMemcpy(target + 100, size, source + offset, size, (aclrtMemcpyKind)kind));
                uint8_t *result = (uint8_t *)pageable_memory(SPAN);
                REQUIRE_OK(aclrtMemcpy(result, SPAN, target, SPAN, ACL_MEMCPY_DEFAULT));
                EXPECT_VALUE(result, 100, 0xEE);
                EXPECT_PATTERN(result + 100, size, seed);
                EXPECT_VALUE(result + 100 + size, SPAN - 100 - size, 0xEE);
                free(result);
                free(pattern);
                seed++;
            }
            release((enum memory_kind)from, source);
            release((enum memory_kind)to, target);
        }
    }
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
