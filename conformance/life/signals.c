// soc: Ascend910B Ascend310P
// schedules: all
// sanitize: address (a signal every millisecond is more than the thread sanitizer can take)
/* A signal every millisecond, handled without SA_RESTART, ends no wait early and makes no call fail. */
#include "../expect.h"
#include <signal.h>
#include <sys/time.h>

#define SIZE (1u << 20)

static volatile sig_atomic_t signals;

static void handle(int number)
{
    (void)number;
    signals++;
}

/* Blocks its stream until 20 signals have arrived. */
static void wait_for_signals(void *unused)
{
    (void)unused;
    int start = signals;
    while (signals < start + 20) {
    }
}

static struct flag subscribed = FLAG_INITIALIZER, finished = FLAG_INITIALIZER;

static void *process_reports(void *unused)
{
    EXPECT_OK(aclrtSetDevice(0));
    flag_await(&subscribed, 1);
    while (!flag_get(&finished)) {
        aclError code = aclrtProcessReport(20);
        EXPECT_TRUE(code == 0 || code == 507012, "%d", code);
    }
    EXPECT_OK(aclrtResetDevice(0));
    return unused;
}

int main(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handle;
    REQUIRE_TRUE(sigaction(SIGALRM, &action, NULL) == 0, "sigaction");
    struct itimerval timer = {{0, 1000}, {0, 1000}};
    REQUIRE_TRUE(setitimer(ITIMER_REAL, &timer, NULL) == 0, "setitimer");

    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), reported = new_stream();
    aclrtEvent event = NULL;
    REQUIRE_OK(aclrtCreateEvent(&event));
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE), *device = (uint8_t *)device_memory(SIZE);
    uint8_t *pageable = (uint8_t *)pageable_memory(SIZE);
    static int reports;
    pthread_t thread;
    REQUIRE_TRUE(pthread_create(&thread, NULL, process_reports, NULL) == 0, "pthread_create");
    REQUIRE_OK(aclrtSubscribeReport((uint64_t)thread, reported));
    flag_set(&subscribed, 1);
    for (int round = 0; round < 10; round++) {
        fill_pattern(pinned, SIZE, (uint32_t)round);
        EXPECT_OK(aclrtLaunchHostFunc(stream, wait_for_signals, NULL));
        EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        EXPECT_OK(aclrtRecordEvent(event, stream));
        switch (round % 5) {
        case 0:
            EXPECT_OK(aclrtSynchronizeStream(stream));
            break;
        case 1:
            EXPECT_OK(aclrtSynchronizeEvent(event));
            break;
        case 2:
            EXPECT_OK(aclrtSynchronizeDevice());
            break;
        case 3:
            EXPECT_OK(aclrtSynchronizeStreamWithTimeout(stream, 20000));
            break;
        default:
            EXPECT_OK(aclrtSynchronizeEventWithTimeout(event, 20000));
        }
        EXPECT_OK(aclrtMemcpy(pageable, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
        EXPECT_PATTERN(pageable, SIZE, (uint32_t)round);
        EXPECT_OK(aclrtLaunchCallback(count_up, &reports, ACL_CALLBACK_BLOCK, reported));
        EXPECT_OK(aclrtSynchronizeStream(reported));
        EXPECT_TRUE(count_of(&reports) == round + 1, "%d", count_of(&reports));
        /* A wait that times out is not ended early by signals either. */
        EXPECT_OK(aclrtLaunchHostFunc(stream, wait_for_signals, NULL));
        EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 2), 507046);
        EXPECT_OK(aclrtSynchronizeStream(stream));
    }
    flag_set(&finished, 1);
    REQUIRE_TRUE(pthread_join(thread, NULL) == 0, "pthread_join");
    EXPECT_TRUE(signals > 100, "%d signals", (int)signals);
    timer.it_interval.tv_usec = timer.it_value.tv_usec = 0;
    setitimer(ITIMER_REAL, &timer, NULL);
    EXPECT_OK(aclrtUnSubscribeReport((uint64_t)thread, reported));
    free(pageable);
    EXPECT_OK(aclrtDestroyEvent(event));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtDestroyStream(reported));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
