// soc: Ascend910B Ascend910C Ascend950
// schedules: all
/* The flag EXTERNAL of record and wait: only on a capturing stream, only Ex events with the SYNC flag alone, without a
 * timeout, once per event and graph, and not in sub-graphs. Events of other processes cannot be captured. */
#include "../expect.h"
#include "graph.h"

static aclError record(aclrtEvent event, aclrtStream stream)
{
    return aclrtRecordEventWithFlag(event, stream, ACL_EVENT_RECORD_EXTERNAL);
}

static aclError wait_for(aclrtStream stream, aclrtEvent event)
{
    return aclrtStreamWaitEventWithFlag(stream, event, 0, ACL_EVENT_WAIT_EXTERNAL);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), side = new_stream();
    aclrtEvent first = new_event(), second = new_event(), third = new_event(), refused[4];
    aclmdlRI graph = NULL, another = NULL, inner[1] = {NULL}, ended = NULL;
    aclmdlRICaptureStatus status;
    aclmdlRICondHandle condition = NULL;
    REQUIRE_OK(aclrtCreateEvent(&refused[0]));
    REQUIRE_OK(aclrtCreateEventWithFlag(&refused[1], ACL_EVENT_SYNC));
    REQUIRE_OK(aclrtCreateEventExWithFlag(&refused[2], ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE));
    REQUIRE_OK(aclrtCreateEventExWithFlag(&refused[3], ACL_EVENT_IPC));

    /* The stream must be capturing. */
    EXPECT_FAILS(record(first, stream));
    EXPECT_FAILS(wait_for(stream, first));
    EXPECT_FAILS(record(first, NULL));

    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_FAILS(record(first, side));
    for (int i = 0; i < 4; i++) {
        EXPECT_FAILS(record(refused[i], stream));
        EXPECT_FAILS(wait_for(stream, refused[i]));
    }
    EXPECT_FAILS(aclrtRecordEvent(refused[3], stream)); /* an IPC event, without the flag */
    EXPECT_FAILS(aclrtStreamWaitEvent(stream, refused[3]));
    EXPECT_FAILS(aclrtStreamWaitEventWithFlag(stream, first, 1, ACL_EVENT_WAIT_EXTERNAL));
    EXPECT_OK(wait_for(stream, first));
    EXPECT_FAILS(wait_for(stream, first)); /* once per event and graph */
    EXPECT_OK(record(second, stream));
    EXPECT_FAILS(record(second, stream));

    EXPECT_OK(aclmdlRICaptureGetInfo(stream, &status, &graph));
    REQUIRE_OK(aclmdlRICondHandleCreate(graph, 1, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, &condition));
    aclmdlRICondTaskParams params = {condition, ACL_MODEL_RI_COND_TYPE_IF, 1, inner};
    REQUIRE_OK(aclmdlRIAddCondTask(params, stream, 0));
    REQUIRE_OK(aclmdlRICaptureToModelRIBegin(side, inner[0], ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_FAILS(record(third, side));
    EXPECT_FAILS(wait_for(side, third));
    EXPECT_OK(aclmdlRICaptureEnd(side, &ended));
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph)); /* the refusals had no effect on the capture */

    /* Another graph may use the same events. */
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_OK(wait_for(stream, first));
    EXPECT_OK(record(second, stream));
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &another));
    EXPECT_OK(aclrtRecordEvent(first, side));
    EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
    EXPECT_OK(aclrtSynchronizeEvent(second));
    EXPECT_OK(aclmdlRIExecuteAsync(another, stream));
    EXPECT_OK(aclrtSynchronizeEvent(second));
    EXPECT_OK(aclrtSynchronizeStream(stream));

    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_OK(aclmdlRIDestroy(another));
    for (int i = 0; i < 4; i++) {
        EXPECT_OK(aclrtDestroyEvent(refused[i]));
    }
    EXPECT_OK(aclrtDestroyEvent(first));
    EXPECT_OK(aclrtDestroyEvent(second));
    EXPECT_OK(aclrtDestroyEvent(third));
    EXPECT_OK(aclrtDestroyStream(side));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
