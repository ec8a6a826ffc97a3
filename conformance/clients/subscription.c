// soc: all
// schedules: all
/* Client usage: aclrtSubscribeReport with the pthread_t of a thread that already loops in aclrtProcessReport. */
#include "../expect.h"

static struct flag looping = FLAG_INITIALIZER;
static struct flag stop = FLAG_INITIALIZER;

static void *process_reports(void *context)
{
    EXPECT_OK(aclrtSetCurrentContext(context));
    while (!flag_get(&stop)) {
        aclrtProcessReport(5); /* the client ignores the code: not subscribed, timeout, or one callback processed */
        flag_set(&looping, 1);
    }
    return NULL;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtContext context = NULL;
    REQUIRE_OK(aclrtGetCurrentContext(&context));
    aclrtStream first = new_stream(), second = new_stream();
    static int ran;
    pthread_t thread;
    REQUIRE_TRUE(pthread_create(&thread, NULL, process_reports, context) == 0, "pthread_create");
    flag_await(&looping, 1);
    EXPECT_OK(aclrtSubscribeReport((uint64_t)thread, first));
    EXPECT_OK(aclrtLaunchCallback(count_up, &ran, ACL_CALLBACK_BLOCK, first));
    EXPECT_OK(aclrtSynchronizeStream(first));
    EXPECT_TRUE(count_of(&ran) == 1, "the callback did not run");
    EXPECT_OK(aclrtSubscribeReport((uint64_t)thread, second)); /* another stream while the thread waits */
    for (int i = 0; i < 20; i++) {
        EXPECT_OK(aclrtLaunchCallback(count_up, &ran, ACL_CALLBACK_BLOCK, i % 2 == 0 ? first : second));
    }
    EXPECT_OK(aclrtSynchronizeStream(first));
    EXPECT_OK(aclrtSynchronizeStream(second));
    EXPECT_TRUE(count_of(&ran) == 21, "%d of 21", count_of(&ran));
    EXPECT_OK(aclrtUnSubscribeReport((uint64_t)thread, first));
    EXPECT_OK(aclrtUnSubscribeReport((uint64_t)thread, second));
    flag_set(&stop, 1);
    REQUIRE_TRUE(pthread_join(thread, NULL) == 0, "pthread_join");
    EXPECT_OK(aclrtDestroyStream(first));
    EXPECT_OK(aclrtDestroyStream(second));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
