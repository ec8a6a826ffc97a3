// soc: all
// schedules: all
/* aclrtMemcpy finds the direction from the addresses; the kind is only validated. Odd sizes and addresses are fine. */
#include "../expect.h"

#define SPAN 5000

enum place { PINNED, DEVICE, PLAIN, PLACES };

static uint8_t *memory_at(enum place place)
{
    void *memory = place == PINNED ? pinned_memory(SPAN) : place == DEVICE ? device_memory(SPAN) : pageable_memory(SPAN);
    return (uint8_t *)memory;
}

static void release(enum place place, void *memory)
{
    if (place == PINNED) {
        EXPECT_OK(aclrtFreeHost(memory));
    } else if (place == DEVICE) {
        EXPECT_OK(aclrtFree(memory));
    } else {
        free(memory);
    }
}

static void clear(enum place place, void *memory)
{
    if (place == DEVICE) {
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
    for (int from = 0; from < PLACES; from++) {
        for (int to = 0; to < PLACES; to++) {
            uint8_t *source = memory_at((enum place)from);
            uint8_t *target = memory_at((enum place)to);
            for (int kind = 0; kind <= 5; kind++) { /* 1.1 row 4: all of 0..5, none compared with the location */
                size_t size = sizes[seed % 6];
                size_t offset = seed % 37;
                uint8_t *pattern = (uint8_t *)pageable_memory(size);
                fill_pattern(pattern, size, seed);
                clear((enum place)to, target);
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
            release((enum place)from, source);
            release((enum place)to, target);
        }
    }
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
