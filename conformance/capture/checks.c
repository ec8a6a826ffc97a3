// soc: Ascend910B Ascend910C Ascend950 Ascend310P
// schedules: all
// expects: C2
/* Checks of capture begin and end, and the calls that a capturing stream refuses (4.8). */
#include "../expect.h"
#include "graph.h"

static aclrtStream stream;

static void *end_on_other_thread(void *unused)
{
    (void)unused;
    aclmdlRI graph = NULL;
    REQUIRE_OK(aclrtSetDevice(0));
    EXPECT_CODE(aclmdlRICaptureEnd(stream, &graph), 107038); /* 4.8: another thread */
    EXPECT_TRUE(capture_status(stream) == ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE, "the capture has ended");
    EXPECT_OK(aclrtResetDevice(0));
    return NULL;
}

static void *end_relaxed_on_other_thread(void *graph)
{
    REQUIRE_OK(aclrtSetDevice(0));
    EXPECT_OK(aclmdlRICaptureEnd(stream, (aclmdlRI *)graph));
    EXPECT_OK(aclrtResetDevice(0));
    return NULL;
}

static void *without_context(void *unused)
{
    (void)unused;
    EXPECT_CODE(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED), 107002);
    EXPECT_CODE(aclmdlRICaptureBegin(NULL, ACL_MODEL_RI_CAPTURE_MODE_RELAXED), 107002);
    return NULL;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    stream = new_stream();
    aclrtStream other = new_stream(), default_stream = NULL;
    REQUIRE_OK(aclrtCtxGetCurrentDefaultStream(&default_stream));
    aclmdlRI graph = NULL, seen = NULL;
    aclmdlRICaptureStatus status = ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE;
    aclrtStreamStatus state;

    /* 4.8: the default stream cannot be captured, neither as NULL nor by its handle. */
    EXPECT_CODE(aclmdlRICaptureBegin(NULL, ACL_MODEL_RI_CAPTURE_MODE_RELAXED), 107031);
    EXPECT_CODE(aclmdlRICaptureBegin(default_stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), 107031);
    EXPECT_CODE(aclmdlRICaptureBegin(stale_stream(), ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), 107017);
    EXPECT_FAILS(aclmdlRICaptureBegin(stream, (aclmdlRICaptureMode)3));
    EXPECT_FAILS(aclmdlRICaptureBegin(stream, (aclmdlRICaptureMode)-1));
    in_new_thread(without_context, NULL);
    EXPECT_CODE(aclmdlRICaptureEnd(stream, &graph), 107029); /* 4.8: not capturing */
    EXPECT_CODE(aclmdlRICaptureEnd(NULL, &graph), 107029);
    EXPECT_CODE(aclmdlRICaptureEnd(stale_stream(), &graph), 107017);
    EXPECT_CODE(aclmdlRICaptureGetInfo(stream, NULL, &seen), 100000);
    EXPECT_OK(aclmdlRICaptureGetInfo(NULL, &status, &seen));
    EXPECT_TRUE(status == ACL_MODEL_RI_CAPTURE_STATUS_NONE && seen == NULL, "the default stream is capturing");
    EXPECT_TRUE(capture_status(stream) == ACL_MODEL_RI_CAPTURE_STATUS_NONE, "already capturing");

    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL));
    EXPECT_OK(aclmdlRICaptureGetInfo(stream, &status, &seen));
    EXPECT_TRUE(status == ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE && seen != NULL, "status %d", (int)status);
    EXPECT_TRUE(capture_status(other) == ACL_MODEL_RI_CAPTURE_STATUS_NONE, "another stream is capturing");
    EXPECT_FAILS(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_CODE(aclmdlRICaptureEnd(stream, NULL), 100000);
    EXPECT_CODE(aclmdlRICaptureEnd(other, &graph), 107029);
    in_new_thread(end_on_other_thread, NULL);

    /* 4.8, 4.4, 4.2: a capturing stream cannot be waited for, queried or destroyed. */
    EXPECT_CODE(aclrtSynchronizeStream(stream), 107027);
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 10), 107027);
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 0), 107000);
    EXPECT_CODE(aclrtStreamQuery(stream, &state), 107027);
    EXPECT_CODE(aclrtStreamQuery(stream, NULL), 100000);
    EXPECT_CODE(aclrtDestroyStream(stream), 107027);
    EXPECT_CODE(aclrtSynchronizeDevice(), 107027);
    EXPECT_CODE(aclrtSynchronizeDeviceWithTimeout(10), 107027);
    EXPECT_OK(aclrtSynchronizeStream(other));
    EXPECT_OK(aclrtSynchronizeStream(NULL));
    EXPECT_TRUE(!stream_is_busy(other), "another stream is busy");

    /* The refusals have no effect: the capture succeeds, and its graph is the one that aclmdlRICaptureGetInfo named. */
    EXPECT_OK(aclmdlRICaptureEnd(stream, &graph));
    EXPECT_TRUE(graph == seen, "%p, earlier %p", graph, seen);
    EXPECT_TRUE(capture_status(stream) == ACL_MODEL_RI_CAPTURE_STATUS_NONE, "the capture has not ended");
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtSynchronizeDevice());

    /* 4.8: any thread may end a capture that was begun RELAXED. */
    aclmdlRI relaxed = NULL;
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    in_new_thread(end_relaxed_on_other_thread, &relaxed);
    EXPECT_TRUE(capture_status(stream) == ACL_MODEL_RI_CAPTURE_STATUS_NONE, "the capture has not ended");
    EXPECT_OK(aclmdlRIExecute(relaxed, -1));
    EXPECT_OK(aclmdlRIDestroy(relaxed));
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    in_new_thread(end_on_other_thread, NULL);
    EXPECT_OK(aclmdlRICaptureEnd(stream, &relaxed));
    EXPECT_OK(aclmdlRIDestroy(relaxed));

    /* An empty graph runs. */
    EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
    EXPECT_OK(aclmdlRIExecuteAsync(graph, NULL));
    EXPECT_OK(aclrtSynchronizeDevice());
    EXPECT_OK(aclmdlRIExecute(graph, -1));
    EXPECT_FAILS(aclmdlRIExecute(graph, 0));
    EXPECT_FAILS(aclmdlRIExecute(graph, -2));
    EXPECT_FAILS(aclmdlRIExecuteAsync(NULL, stream));
    EXPECT_FAILS(aclmdlRIExecuteAsync(stream, stream));
    EXPECT_CODE(aclmdlRIExecuteAsync(graph, stale_stream()), 107017);
    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_FAILS(aclmdlRIDestroy(graph));
    EXPECT_FAILS(aclmdlRIDestroy(NULL));
    EXPECT_FAILS(aclmdlRIExecuteAsync(graph, stream));

    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
