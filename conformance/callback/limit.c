// soc: Ascend910B Ascend310P
// softacl-only
/* At most 1024 threads can be subscribed (4.9). The thread ids
 * here are arbitrary; a card may require existing threads. */
#include "../expect.h"

#define MAX_THREADS 1024
#define STREAMS 1000

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    static aclrtStream streams[2][STREAMS];
    int threads = 0;
    int devices = 2;
    /* two devices, because on some products one has too few streams */
    for (int device = 0; device < devices; device++) {
        REQUIRE_OK(aclrtSetDevice(device));
        for (int i = 0; i < STREAMS; i++) {
            REQUIRE_OK(aclrtCreateStream(&streams[device][i]));
            aclError want = threads < MAX_THREADS ? 0 : 107000;
            EXPECT_SOFTACL_CODE(aclrtSubscribeReport(1000 + (uint64_t)threads, streams[device][i]), want);
            threads++;
        }
    }
    /* A subscribed thread may subscribe to another stream of its device. Unsubscribing makes room for another thread. */
    int last = STREAMS - 1;
    EXPECT_OK(aclrtSubscribeReport(1000 + STREAMS, streams[1][last]));
    EXPECT_OK(aclrtUnSubscribeReport(1001, streams[0][1]));
    EXPECT_OK(aclrtSubscribeReport(5000, streams[0][1]));
    EXPECT_FAILS(aclrtSubscribeReport(5001, streams[1][last - 1]));
    for (int device = 0; device < devices; device++) {
        REQUIRE_OK(aclrtSetDevice(device));
        size_t wrong = 0;
        for (int i = 0; i < STREAMS; i++) {
            wrong += aclrtDestroyStream(streams[device][i]) != 0;
        }
        EXPECT_TRUE(wrong == 0, "%zu streams could not be destroyed", wrong);
    }
    EXPECT_OK(aclrtResetDeviceForce(1));
    EXPECT_OK(aclrtResetDeviceForce(0));
    return finish();
}
