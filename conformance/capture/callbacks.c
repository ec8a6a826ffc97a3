// soc: Ascend910B Ascend910C Ascend950 Ascend310P
// schedules: all
// expects: S2
/* A callback on a capturing stream is captured: every run hands it to the thread that is subscribed to the captured
 * stream, and ACL_CALLBACK_BLOCK holds the graph until the callback returns (4.8, 4.9). */
#include "../expect.h"
#include "graph.h"

#define SIZE 256
#define RUNS 5

static struct flag stop = FLAG_INITIALIZER, subscribed = FLAG_INITIALIZER;
static struct flag entered = FLAG_INITIALIZER, release = FLAG_INITIALIZER, in_worker = FLAG_INITIALIZER;
static pthread_t worker;
static int ran;

static void *process_reports(void *unused)
{
    (void)unused;
    flag_await(&subscribed, 1);
    while (!flag_get(&stop)) {
        aclrtProcessReport(20);
    }
    return NULL;
}

static void blocking_callback(void *counter)
{
    flag_set(&in_worker, pthread_equal(pthread_self(), worker) ? 1 : -1);
    count_up(counter);
    flag_set(&entered, 1);
    flag_await(&release, 1);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), other = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE), *device = (uint8_t *)device_memory(SIZE);
    aclmdlRI graph = NULL;
    REQUIRE_TRUE(pthread_create(&worker, NULL, process_reports, NULL) == 0, "pthread_create");

    /* Subscribing works during the capture, and is required before a callback. */
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    EXPECT_CODE(aclrtLaunchCallback(count_up, &ran, ACL_CALLBACK_BLOCK, stream), 107015);
    REQUIRE_OK(aclrtSubscribeReport((uint64_t)worker, stream));
    flag_set(&subscribed, 1);
    EXPECT_OK(aclrtLaunchCallback(blocking_callback, &ran, ACL_CALLBACK_BLOCK, stream));
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));
    EXPECT_TRUE(count_of(&ran) == 0, "the callback ran during the capture");

    /* BLOCK holds the run, on whatever stream it was launched. */
    for (uint32_t run = 1; run <= RUNS; run++) {
        flag_set(&entered, 0);
        flag_set(&release, 0);
        flag_set(&in_worker, 0);
        fill_pattern(pinned, SIZE, run);
        EXPECT_OK(aclrtMemset(device, SIZE, 0, SIZE));
        EXPECT_OK(aclmdlRIExecuteAsync(graph, run % 2 == 0 ? stream : other));
        flag_await(&entered, 1);
        EXPECT_TRUE(flag_get(&in_worker) == 1, "run %u: not run by the subscribed thread", run);
        EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(run % 2 == 0 ? stream : other, 5), 507046);
        EXPECT_DEVICE_VALUE(device, SIZE, 0);
        flag_set(&release, 1);
        EXPECT_OK(aclrtSynchronizeStream(run % 2 == 0 ? stream : other));
        EXPECT_DEVICE_PATTERN(device, SIZE, run);
        EXPECT_TRUE(count_of(&ran) == (int)run, "%d runs", count_of(&ran));
    }
    EXPECT_OK(aclmdlRIDestroy(graph));

    /* NO_BLOCK: the run does not wait for the callback. */
    flag_set(&entered, 0);
    flag_set(&release, 0);
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_OK(aclrtLaunchCallback(blocking_callback, &ran, ACL_CALLBACK_NO_BLOCK, stream));
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));
    fill_pattern(pinned, SIZE, 77);
    EXPECT_OK(aclmdlRIExecuteAsync(graph, other));
    EXPECT_OK(aclrtSynchronizeStream(other));
    EXPECT_DEVICE_PATTERN(device, SIZE, 77);
    flag_await(&entered, 1);
    flag_set(&release, 1);
    EXPECT_OK(aclmdlRIDestroy(graph));

    /* Many callbacks, many runs: none is lost. */
    static int many;
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    for (int i = 0; i < 500; i++) {
        EXPECT_OK(aclrtLaunchCallback(count_up, &many, ACL_CALLBACK_BLOCK, stream));
    }
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));
    for (int run = 0; run < 3; run++) {
        EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
    }
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(count_of(&many) == 1500, "%d of 1500", count_of(&many));

    /* Without a subscribed thread a run cannot deliver the callback; a failure inside a graph is 507011. */
    EXPECT_OK(aclrtUnSubscribeReport((uint64_t)worker, stream));
    EXPECT_OK(aclmdlRIExecuteAsync(graph, other));
    EXPECT_SOFTACL_CODE(aclrtSynchronizeStream(other), 507011);
    EXPECT_TRUE(count_of(&many) == 1500, "%d of 1500", count_of(&many));
    EXPECT_OK(aclmdlRIDestroy(graph));

    flag_set(&stop, 1);
    REQUIRE_TRUE(pthread_join(worker, NULL) == 0, "pthread_join");
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
