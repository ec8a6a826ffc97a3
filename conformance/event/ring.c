// soc: all
// schedules: all
/* A ring of streams passes data through events for many rounds. */
#include "../expect.h"

#define STREAMS 5
#define ROUNDS 40
#define SIZE 333

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream streams[STREAMS];
    aclrtEvent done[STREAMS];
    uint8_t *cells[STREAMS];
    uint8_t *results = (uint8_t *)pinned_memory(ROUNDS * SIZE);
    uint8_t *inputs = (uint8_t *)pinned_memory(ROUNDS * SIZE);
    for (int s = 0; s < STREAMS; s++) {
        streams[s] = new_stream();
        REQUIRE_OK(s % 2 == 0 ? aclrtCreateEventExWithFlag(&done[s], ACL_EVENT_SYNC) : aclrtCreateEvent(&done[s]));
        cells[s] = (uint8_t *)device_memory(SIZE);
    }
    for (int round = 0; round < ROUNDS; round++) {
        fill_pattern(inputs + round * SIZE, SIZE, (uint32_t)round);
        for (int s = 0; s < STREAMS; s++) {
            int previous = (s + STREAMS - 1) % STREAMS;
            if (round > 0 || s > 0) {
                EXPECT_OK(aclrtStreamWaitEvent(streams[s], done[previous]));
            }
            if (s == 0) {
                EXPECT_OK(aclrtMemcpyAsync(cells[0], SIZE, inputs + round * SIZE, SIZE, ACL_MEMCPY_HOST_TO_DEVICE,
                                           streams[0]));
            } else {
                EXPECT_OK(aclrtMemcpyAsync(cells[s], SIZE, cells[previous], SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE,
                                           streams[s]));
            }
            if (s == STREAMS - 1) {
                EXPECT_OK(aclrtMemcpyAsync(results + round * SIZE, SIZE, cells[s], SIZE, ACL_MEMCPY_DEVICE_TO_HOST,
                                           streams[s]));
            }
            EXPECT_OK(aclrtRecordEvent(done[s], streams[s]));
        }
    }
    EXPECT_OK(aclrtSynchronizeEvent(done[STREAMS - 1]));
    for (int round = 0; round < ROUNDS; round++) {
        EXPECT_PATTERN(results + round * SIZE, SIZE, (uint32_t)round);
    }
    EXPECT_OK(aclrtSynchronizeDevice());
    for (int s = 0; s < STREAMS; s++) {
        EXPECT_OK(aclrtDestroyEvent(done[s]));
        EXPECT_OK(aclrtDestroyStream(streams[s]));
        EXPECT_OK(aclrtFree(cells[s]));
    }
    EXPECT_OK(aclrtFreeHost(results));
    EXPECT_OK(aclrtFreeHost(inputs));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
