// schedules: all
/* Unsubscribing fails pending blocking callbacks, so that they do not
 * block their stream forever, and ends aclrtProcessReport with 107012. */
#include "../expect.h"

static struct flag proceed = FLAG_INITIALIZER;
static aclrtStream stream;

static void must_not_run(void *unused)
{
    (void)unused;
    EXPECT_TRUE(0, "a callback ran after its thread unsubscribed");
}

static void *process_one_report(void *code)
{
    flag_await(&proceed, 1);
    *(aclError *)code = aclrtProcessReport(-1);
    return NULL;
}

static void *wait_idle(void *unused)
{
    flag_await(&proceed, 1);
    return unused;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    stream = new_stream();
    pthread_t thread;

    /* 4.9: a blocking callback is pending when its thread unsubscribes. */
    flag_set(&proceed, 0);
    REQUIRE_TRUE(pthread_create(&thread, NULL, wait_idle, NULL) == 0, "pthread_create");
    EXPECT_OK(aclrtSubscribeReport((uint64_t)thread, stream));
    EXPECT_OK(aclrtLaunchCallback(must_not_run, NULL, ACL_CALLBACK_BLOCK, stream));
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 50), 507046);
    EXPECT_OK(aclrtUnSubscribeReport((uint64_t)thread, stream));
    EXPECT_FAILS(aclrtSynchronizeStreamWithTimeout(stream, 20000));
    EXPECT_OK(aclrtSynchronizeStreamWithTimeout(stream, 20000));
    flag_set(&proceed, 1);
    REQUIRE_TRUE(pthread_join(thread, NULL) == 0, "pthread_join");

    /* Destroying a stream ends its subscription. */
    for (int round = 0; round < 3; round++) {
        aclrtStream other = new_stream();
        EXPECT_OK(aclrtSubscribeReport((uint64_t)pthread_self(), other));
        EXPECT_OK(aclrtDestroyStream(other));
        EXPECT_CODE(aclrtProcessReport(1), 107012);
    }

    /* Unsubscribing a thread that waits in aclrtProcessReport. */
    aclError code = -1;
    flag_set(&proceed, 0);
    REQUIRE_TRUE(pthread_create(&thread, NULL, process_one_report, &code) == 0, "pthread_create");
    EXPECT_OK(aclrtSubscribeReport((uint64_t)thread, stream));
    flag_set(&proceed, 1);
    EXPECT_OK(aclrtUnSubscribeReport((uint64_t)thread, stream));
    REQUIRE_TRUE(pthread_join(thread, NULL) == 0, "pthread_join");
    EXPECT_TRUE(code == 107012, "aclrtProcessReport returned %d", code);

    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
