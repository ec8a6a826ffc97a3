// soc: all
// schedules: all
/* Long chains of unaligned copies on several concurrent streams run in stream order. */
#include "../expect.h"

#define STREAMS 4
#define PIECES 200
#define PIECE 97
#define SPAN (PIECES * PIECE)

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream streams[STREAMS];
    uint8_t *sources[STREAMS], *results[STREAMS], *first[STREAMS], *second[STREAMS];
    for (int s = 0; s < STREAMS; s++) {
        streams[s] = new_stream();
        sources[s] = (uint8_t *)pinned_memory(SPAN);
        results[s] = (uint8_t *)pinned_memory(SPAN);
        first[s] = (uint8_t *)device_memory(SPAN);
        second[s] = (uint8_t *)device_memory(SPAN);
        fill_pattern(sources[s], SPAN, (uint32_t)s + 1);
    }
    for (int i = 0; i < PIECES; i++) {
        for (int s = 0; s < STREAMS; s++) {
            size_t offset = (size_t)i * PIECE;
            EXPECT_OK(aclrtMemcpyAsync(first[s] + offset, PIECE, sources[s] + offset, PIECE, ACL_MEMCPY_HOST_TO_DEVICE,
                                       streams[s]));
            EXPECT_OK(aclrtMemcpyAsync(second[s] + offset, PIECE, first[s] + offset, PIECE, ACL_MEMCPY_DEVICE_TO_DEVICE,
                                       streams[s]));
            /* Overwrite the source: the result is correct only if the tasks run in order. */
            EXPECT_OK(aclrtMemsetAsync(first[s] + offset, PIECE, 0xFF, PIECE, streams[s]));
            EXPECT_OK(aclrtMemcpyAsync(results[s] + offset, PIECE, second[s] + offset, PIECE, ACL_MEMCPY_DEVICE_TO_HOST,
                                       streams[s]));
        }
    }
    for (int s = STREAMS - 1; s >= 0; s--) {
        EXPECT_OK(aclrtSynchronizeStream(streams[s]));
        EXPECT_PATTERN(results[s], SPAN, (uint32_t)s + 1);
        EXPECT_DEVICE_VALUE(first[s], SPAN, 0xFF);
    }
    for (int s = 0; s < STREAMS; s++) {
        EXPECT_OK(aclrtFreeHost(sources[s]));
        EXPECT_OK(aclrtFreeHost(results[s]));
        EXPECT_OK(aclrtFree(first[s]));
        EXPECT_OK(aclrtFree(second[s]));
        EXPECT_OK(aclrtDestroyStream(streams[s]));
    }
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
