// soc: Ascend910B
/* A stream waits for an unrecorded event while another thread
 * records it: the wait completes, whichever call comes first. */
#include "../expect.h"
#include <stdatomic.h>

enum { ROUNDS = 3000 };

static aclrtEvent event;
static aclrtStream waiting, recording;
static atomic_int current_round, recorded;
static int rounds;

static void spin(int count)
{
    for (volatile int i = 0; i < count; i++) {
    }
}

static void *record_each_round(void *unused)
{
    REQUIRE_OK(aclrtSetDevice(0));
    for (int round = 1; round <= rounds; round++) {
        while (atomic_load(&current_round) < round) {
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
    REQUIRE_TRUE(pthread_create(&thread, NULL, record_each_round, NULL) == 0, "pthread_create");
    for (int round = 1; round <= rounds; round++) {
        REQUIRE_OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
        atomic_store(&current_round, round);
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
