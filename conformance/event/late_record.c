// soc: Ascend910B
/* A stream waits for an event that was never recorded, in the moment in which another thread records it: whichever comes
 * first, the wait ends. */
#include "../expect.h"
#include <stdatomic.h>

enum { ROUNDS = 3000 };

static aclrtEvent event;
static aclrtStream waiting, recording;
static atomic_int begun, recorded;
static int rounds;

static void spin(int turns)
{
    for (volatile int turn = 0; turn < turns; turn++) {
    }
}

static void *record(void *unused)
{
    REQUIRE_OK(aclrtSetDevice(0));
    for (int round = 1; round <= rounds; round++) {
        while (atomic_load(&begun) < round) {
        }
        spin(round % 64);
        EXPECT_OK(aclrtRecordEvent(event, recording));
        atomic_store(&recorded, round);
    }
    return unused;
}

int main(void)
{
    rounds = iterations(ROUNDS);
    REQUIRE_OK(aclrtSetDevice(0));
    waiting = new_stream();
    recording = new_stream();
    pthread_t thread;
    REQUIRE_TRUE(pthread_create(&thread, NULL, record, NULL) == 0, "pthread_create");
    for (int round = 1; round <= rounds; round++) {
        REQUIRE_OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
        atomic_store(&begun, round);
        spin(round / 64 % 64);
        EXPECT_OK(aclrtStreamWaitEvent(waiting, event));
        while (atomic_load(&recorded) < round) {
        }
        REQUIRE_OK(aclrtSynchronizeStreamWithTimeout(waiting, 10000));
        EXPECT_OK(aclrtDestroyEvent(event));
    }
    REQUIRE_TRUE(pthread_join(thread, NULL) == 0, "pthread_join");
    EXPECT_OK(aclrtDestroyStream(waiting));
    EXPECT_OK(aclrtDestroyStream(recording));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
