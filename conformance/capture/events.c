// soc: Ascend910B Ascend310P
// schedules: all
/* The host can neither wait for nor query an event whose latest record was captured (4.8, 107028). */
#include "../expect.h"
#include "graph.h"

static void expect_refused(aclrtEvent event, int classic)
{
    aclrtEventRecordedStatus status;
    EXPECT_CODE(aclrtSynchronizeEvent(event), 107028);
    EXPECT_CODE(aclrtSynchronizeEventWithTimeout(event, 10), 107028);
    EXPECT_CODE(aclrtQueryEventStatus(event, &status), 107028);
    if (classic) {
        aclrtEventWaitStatus wait_status;
        EXPECT_CODE(aclrtQueryEventWaitStatus(event, &wait_status), 107028);
    }
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), other = new_stream();
    aclrtEvent events[2] = {new_event(), NULL};
    REQUIRE_OK(aclrtCreateEvent(&events[1]));
    for (int i = 0; i < 2; i++) {
        aclrtEvent event = events[i];
        aclmdlRI graph = NULL;
        aclrtEventRecordedStatus status;
        EXPECT_OK(aclrtRecordEvent(event, other));
        EXPECT_OK(aclrtSynchronizeEvent(event));
        REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
        EXPECT_OK(aclrtSynchronizeEvent(event)); /* not captured yet */
        EXPECT_OK(aclrtRecordEvent(event, stream));
        expect_refused(event, i == 1);
        EXPECT_OK(aclrtStreamWaitEvent(stream, event)); /* a captured wait is allowed */
        EXPECT_OK(aclmdlRICaptureEnd(stream, &graph));
        /* A record outside the capture makes it an ordinary event again. */
        EXPECT_OK(aclrtRecordEvent(event, other));
        EXPECT_OK(aclrtSynchronizeEvent(event));
        EXPECT_OK(aclrtQueryEventStatus(event, &status));
        EXPECT_TRUE(status == ACL_EVENT_RECORDED_STATUS_COMPLETE, "not recorded");
        EXPECT_OK(aclrtStreamWaitEvent(stream, event));
        /* Running the graph does not change the event. */
        EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
        EXPECT_OK(aclrtSynchronizeStream(stream));
        EXPECT_OK(aclrtSynchronizeEvent(event));
        EXPECT_OK(aclmdlRIDestroy(graph));
        EXPECT_OK(aclrtDestroyEvent(event));
    }
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
