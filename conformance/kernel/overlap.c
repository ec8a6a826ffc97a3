// softacl-only
// schedules: threads
/* Kernels of two streams run at the same time, also if the library has no thread for them: two threads wait for the
 * streams, and a thread that waits runs kernels. A host function could not do this: a context has one thread for them. */
#include "../expect.h"
#include <softacl/softacl.h>

/* Seconds that a kernel gives the other one to start. */
#define LIMIT 30

static int started[2];

/* Says that it runs, and returns when the other kernel does. */
static int meet(void *argument)
{
    int self = (int)(intptr_t)argument;
    struct timespec now, start;
    __atomic_store_n(&started[self], 1, __ATOMIC_SEQ_CST);
    clock_gettime(CLOCK_MONOTONIC, &start);
    while (!__atomic_load_n(&started[1 - self], __ATOMIC_SEQ_CST)) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec - start.tv_sec > LIMIT) {
            return 507035;
        }
        sched_yield();
    }
    return 0;
}

static void *wait_for(void *stream)
{
    REQUIRE_OK(aclrtSetDevice(0));
    EXPECT_OK(aclrtSynchronizeStream((aclrtStream)stream));
    return NULL;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream streams[2] = {new_stream(), new_stream()};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        EXPECT_OK(softaclLaunchKernel(streams[i], meet, (void *)(intptr_t)i, NULL, NULL, 0, "meet"));
    }
    for (int i = 0; i < 2; i++) {
        REQUIRE_TRUE(pthread_create(&threads[i], NULL, wait_for, streams[i]) == 0, "pthread_create");
    }
    for (int i = 0; i < 2; i++) {
        REQUIRE_TRUE(pthread_join(threads[i], NULL) == 0, "pthread_join");
        EXPECT_TRUE(started[i] == 1, "kernel %d did not run", i);
    }
    for (int i = 0; i < 2; i++) {
        REQUIRE_OK(aclrtDestroyStream(streams[i]));
    }
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
