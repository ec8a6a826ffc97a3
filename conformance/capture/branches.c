// soc: Ascend910B Ascend950 Ascend310P
// schedules: all
/* Streams join a capture by waiting for its events, and must be joined back before it ends (4.8). */
#include "../expect.h"
#include "graph.h"

#define SIZE 8192
#define STREAMS 5

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), side[STREAMS];
    aclrtEvent fork = new_event(), join = new_event(), later = new_event();
    uint8_t *input = (uint8_t *)pinned_memory(SIZE), *output = (uint8_t *)pinned_memory(SIZE * STREAMS);
    uint8_t *device = (uint8_t *)device_memory(SIZE), *parts = (uint8_t *)device_memory(SIZE * STREAMS);
    aclmdlRI graph = NULL, other = NULL;
    for (int i = 0; i < STREAMS; i++) {
        side[i] = new_stream();
    }

    /* One upload, fanned out to side streams and joined in the first stream. */
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, input, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtRecordEvent(fork, stream));
    for (int i = 0; i < STREAMS; i++) {
        EXPECT_OK(aclrtStreamWaitEvent(side[i], fork));
        EXPECT_TRUE(capture_status(side[i]) == ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE, "stream %d has not joined", i);
        EXPECT_OK(aclrtMemcpyAsync(parts + SIZE * i, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, side[i]));
        if (i > 0) { /* a side stream may depend on another one */
            order_after(side[i], side[i - 1], later);
        }
    }
    EXPECT_CODE(aclrtSynchronizeStream(side[0]), 107027);
    EXPECT_CODE(aclrtDestroyStream(side[0]), 107027);
    EXPECT_CODE(aclmdlRICaptureEnd(side[0], &graph), 107036); /* 4.8: the capture began on another stream */
    EXPECT_CODE(aclmdlRICaptureBegin(side[0], ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), 107027);
    order_after(stream, side[STREAMS - 1], join); /* the other side streams are joined through it */
    EXPECT_OK(aclrtMemcpyAsync(output, SIZE * STREAMS, parts, SIZE * STREAMS, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtMemsetAsync(device, SIZE, 0, SIZE, stream));
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));
    for (int i = 0; i < STREAMS; i++) {
        EXPECT_TRUE(capture_status(side[i]) == ACL_MODEL_RI_CAPTURE_STATUS_NONE, "stream %d is still capturing", i);
        EXPECT_OK(aclrtSynchronizeStream(side[i]));
    }

    /* The graph outlives the streams it was captured from. */
    EXPECT_OK(aclrtDestroyStream(side[3]));
    side[3] = new_stream();
    for (uint32_t seed = 1; seed < 20; seed++) {
        fill_pattern(input, SIZE, seed);
        memset(output, 0, SIZE * STREAMS);
        EXPECT_OK(aclmdlRIExecuteAsync(graph, seed % 3 == 0 ? side[1] : stream));
        EXPECT_OK(aclrtSynchronizeStream(seed % 3 == 0 ? side[1] : stream));
        for (int i = 0; i < STREAMS; i++) {
            EXPECT_PATTERN(output + SIZE * i, SIZE, seed);
        }
    }
    /* Two launches on two streams: the runs of one graph do not overlap. */
    fill_pattern(input, SIZE, 30);
    EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
    EXPECT_OK(aclmdlRIExecuteAsync(graph, side[2]));
    EXPECT_OK(aclrtSynchronizeStream(side[2]));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    for (int i = 0; i < STREAMS; i++) {
        EXPECT_PATTERN(output + SIZE * i, SIZE, 30);
    }
    EXPECT_OK(aclmdlRIDestroy(graph));

    /* 4.8: a side stream that is not joined back. The capture ends nevertheless. */
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    order_after(side[0], stream, fork);
    EXPECT_CODE(aclmdlRICaptureEnd(stream, &graph), 107025);
    EXPECT_TRUE(capture_status(stream) == ACL_MODEL_RI_CAPTURE_STATUS_NONE, "the capture has not ended");
    EXPECT_TRUE(capture_status(side[0]) == ACL_MODEL_RI_CAPTURE_STATUS_NONE, "the capture has not ended");
    /* Joined back, but with a task after the join. */
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    order_after(side[0], stream, fork);
    order_after(stream, side[0], join);
    EXPECT_OK(aclrtMemsetAsync(device, SIZE, 0, SIZE, side[0]));
    EXPECT_CODE(aclmdlRICaptureEnd(stream, &graph), 107025);

    /* 4.8, 107031: the default stream cannot join. Without the
     * wait the graph would be incomplete: it is invalidated. */
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_OK(aclrtRecordEvent(fork, stream));
    EXPECT_CODE(aclrtStreamWaitEvent(NULL, fork), 107031);
    EXPECT_EITHER(aclmdlRICaptureEnd(stream, &graph), 507903, 0);
    if (on_softacl()) {
        /* softacl reports the capture as invalidated until it ends. */
        REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
        EXPECT_OK(aclrtRecordEvent(fork, stream));
        EXPECT_CODE(aclrtStreamWaitEvent(NULL, fork), 107031);
        EXPECT_TRUE(capture_status(stream) == ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED, "not invalidated");
        EXPECT_CODE(aclrtMemsetAsync(device, SIZE, 0, SIZE, stream), 507903);
        EXPECT_CODE(aclmdlRICaptureEnd(stream, &graph), 507903);
        EXPECT_TRUE(capture_status(stream) == ACL_MODEL_RI_CAPTURE_STATUS_NONE, "the capture has not ended");
    }

    /* 107032: two captures cannot depend on each other. */
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    REQUIRE_OK(aclmdlRICaptureBegin(side[0], ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_OK(aclrtRecordEvent(fork, stream));
    EXPECT_CODE(aclrtStreamWaitEvent(side[0], fork), 107032);
    EXPECT_EITHER(aclmdlRICaptureEnd(stream, &graph), 507903, 0);
    EXPECT_EITHER(aclmdlRICaptureEnd(side[0], &other), 507903, 0);

    /* 107024: a capture cannot depend on a task outside it. */
    EXPECT_OK(aclrtRecordEvent(fork, side[0]));
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_SOFTACL_CODE(aclrtStreamWaitEvent(stream, fork), 107024);
    EXPECT_EITHER(aclmdlRICaptureEnd(stream, &graph), 507903, 0);

    for (int i = 0; i < STREAMS; i++) {
        EXPECT_OK(aclrtDestroyStream(side[i]));
    }
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtDestroyEvent(fork));
    EXPECT_OK(aclrtDestroyEvent(join));
    EXPECT_OK(aclrtDestroyEvent(later));
    EXPECT_OK(aclrtFreeHost(input));
    EXPECT_OK(aclrtFreeHost(output));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFree(parts));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
