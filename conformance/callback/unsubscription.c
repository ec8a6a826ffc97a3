// schedules: all
/* Ending a subscription: a callback that nobody will run does not hold its stream for ever, and a thread that waits for
 * callbacks learns that it is no longer subscribed. */
#include "../expect.h"

static struct flag go = FLAG_INITIALIZER;
static aclrtStream stream;

static void never(void *unused)
{
    (void)unused;
    EXPECT_TRUE(0, "a callback ran that nobody could run");
}

static void *process(void *code)
{
    flag_await(&go, 1);
    *(aclError *)code = aclrtProcessReport(-1);
    return NULL;
}

static void *idle(void *unused)
{
    flag_await(&go, 1);
    return unused;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    stream = new_stream();
    pthread_t thread;

    /* 4.9: a blocking callback is on its way when its thread unsubscribes. */
    flag_set(&go, 0);
    REQUIRE_TRUE(pthread_create(&thread, NULL, idle, NULL) == 0, "pthread_create");
    EXPECT_OK(aclrtSubscribeReport((uint64_t)thread, stream));
    EXPECT_OK(aclrtLaunchCallback(never, NULL, ACL_CALLBACK_BLOCK, stream));
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 50), 507046);
    EXPECT_OK(aclrtUnSubscribeReport((uint64_t)thread, stream));
    EXPECT_FAILS(aclrtSynchronizeStreamWithTimeout(stream, 20000));
    EXPECT_OK(aclrtSynchronizeStreamWithTimeout(stream, 20000));
    flag_set(&go, 1);
    REQUIRE_TRUE(pthread_join(thread, NULL) == 0, "pthread_join");

    /* A stream that is destroyed takes its subscription with it. */
    for (int round = 0; round < 3; round++) {
        aclrtStream other = new_stream();
        EXPECT_OK(aclrtSubscribeReport((uint64_t)pthread_self(), other));
        EXPECT_OK(aclrtDestroyStream(other));
        EXPECT_CODE(aclrtProcessReport(1), 107012);
    }

    /* A thread inside aclrtProcessReport. */
    aclError code = -1;
    flag_set(&go, 0);
    REQUIRE_TRUE(pthread_create(&thread, NULL, process, &code) == 0, "pthread_create");
    EXPECT_OK(aclrtSubscribeReport((uint64_t)thread, stream));
    flag_set(&go, 1);
    EXPECT_OK(aclrtUnSubscribeReport((uint64_t)thread, stream));
    REQUIRE_TRUE(pthread_join(thread, NULL) == 0, "pthread_join");
    EXPECT_TRUE(code == 107012, "aclrtProcessReport gave %d", code);

    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
