// soc: Ascend910B Ascend910C
/* Correction 8: a wait for an event inside a graph that takes longer than aclrtSetOpWaitTimeout allows fails the run.
 * The synchronize returns 507011, once; outside a graph it would be 107020. */
#include "../expect.h"
#include "../gate.h"
#include "graph.h"

static struct gate gate = GATE_INITIALIZER;

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), blocked = new_stream();
    aclrtEvent event = NULL;
    aclmdlRI graph = NULL;
    static int ran;
    REQUIRE_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_OK(aclrtStreamWaitEventWithFlag(stream, event, 0, ACL_EVENT_WAIT_EXTERNAL));
    EXPECT_OK(aclrtMemsetAsync(device_memory(64), 64, 1, 64, stream));
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));

    gate_close(&gate, blocked);
    EXPECT_OK(aclrtRecordEvent(event, blocked));
    EXPECT_OK(aclrtSetOpWaitTimeout(1));
    EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 5), 507046); /* not yet */
    EXPECT_CODE(aclrtSynchronizeStream(stream), 507011);
    EXPECT_OK(aclrtSynchronizeStream(stream));

    /* Without a limit, a run waits for the record. */
    EXPECT_OK(aclrtSetOpWaitTimeout(0));
    EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
    EXPECT_OK(aclrtLaunchHostFunc(stream, count_up, &ran));
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 1200), 507046);
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(count_of(&ran) == 1, "the stream did not continue");

    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_OK(aclrtSynchronizeStream(blocked));
    EXPECT_OK(aclrtDestroyEvent(event));
    EXPECT_OK(aclrtDestroyStream(blocked));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
