// soc: all
// schedules: all
// expects: S2
/* Callbacks run on the thread that processes reports. ACL_CALLBACK_BLOCK blocks
 * the stream until the callback returns, ACL_CALLBACK_NO_BLOCK does not. */
#include "../expect.h"

#define SIZE 256

static struct flag stop = FLAG_INITIALIZER;
static struct flag subscribed = FLAG_INITIALIZER;
static struct flag entered = FLAG_INITIALIZER;
static struct flag release = FLAG_INITIALIZER;
static pthread_t worker;
static struct flag in_worker = FLAG_INITIALIZER;

static void *process_reports(void *unused)
{
    (void)unused;
    flag_await(&subscribed, 1);
    while (!flag_get(&stop)) {
        aclrtProcessReport(20);
    }
    return NULL;
}

/* Records that it runs, and on which thread; returns after `release` is set. */
static void blocking_callback(void *unused)
{
    (void)unused;
    flag_set(&in_worker, pthread_equal(pthread_self(), worker) ? 1 : -1);
    flag_set(&entered, 1);
    flag_await(&release, 1);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE);
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    REQUIRE_TRUE(pthread_create(&worker, NULL, process_reports, NULL) == 0, "pthread_create");
    REQUIRE_OK(aclrtSubscribeReport((uint64_t)worker, stream));
    flag_set(&subscribed, 1);

    /* BLOCK: later tasks of the stream wait until the callback has returned. */
    fill_pattern(pinned, SIZE, 1);
    EXPECT_OK(aclrtLaunchCallback(blocking_callback, NULL, ACL_CALLBACK_BLOCK, stream));
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    flag_await(&entered, 1);
    EXPECT_TRUE(flag_get(&in_worker) == 1, "not run by the subscribed thread");
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 5), 507046);
    EXPECT_DEVICE_VALUE(device, SIZE, 0);
    flag_set(&release, 1);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(device, SIZE, 1);

    /* NO_BLOCK: later tasks of the stream run while the callback still runs. */
    flag_set(&entered, 0);
    flag_set(&release, 0);
    fill_pattern(pinned, SIZE, 2);
    EXPECT_OK(aclrtLaunchCallback(blocking_callback, NULL, ACL_CALLBACK_NO_BLOCK, stream));
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(device, SIZE, 2);
    flag_await(&entered, 1);
    flag_set(&release, 1);

    /* No callback is lost. */
    static int ran;
    for (int i = 0; i < 200; i++) {
        EXPECT_OK(aclrtLaunchCallback(count_up, &ran, ACL_CALLBACK_BLOCK, stream));
    }
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(count_of(&ran) == 200, "%d of 200", count_of(&ran));

    EXPECT_OK(aclrtUnSubscribeReport((uint64_t)worker, stream));
    flag_set(&stop, 1);
    REQUIRE_TRUE(pthread_join(worker, NULL) == 0, "pthread_join");
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
