// soc: Ascend910B Ascend910C Ascend950 Ascend310P Ascend910A
// schedules: all
// expects: C1
/* Correction 4: an event orders streams of one device. A record or a wait of a stream of another device fails; the
 * host may wait for the event and query it with any device current. */
#include "../expect.h"

static aclError create_plain(aclrtEvent *event) { return aclrtCreateEvent(event); }
static aclError create_flagged(aclrtEvent *event) { return aclrtCreateEventWithFlag(event, ACL_EVENT_SYNC); }
static aclError create_extended(aclrtEvent *event) { return aclrtCreateEventExWithFlag(event, ACL_EVENT_SYNC); }

int main(void)
{
    uint32_t devices = 0;
    REQUIRE_OK(aclrtGetDeviceCount(&devices));
    REQUIRE_TRUE(devices >= 2, "this program needs two devices");
    aclrtContext contexts[2];
    aclrtStream streams[2];
    for (int32_t d = 0; d < 2; d++) {
        REQUIRE_OK(aclrtSetDevice(d));
        REQUIRE_OK(aclrtGetCurrentContext(&contexts[d]));
        streams[d] = new_stream();
    }
    aclError (*create[])(aclrtEvent *) = {create_plain, create_flagged, create_extended};
    for (int i = 0; i < 3; i++) {
        aclrtEvent event = NULL;
        aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
        REQUIRE_OK(aclrtSetCurrentContext(contexts[0]));
        REQUIRE_OK(create[i](&event));
        REQUIRE_OK(aclrtSetCurrentContext(contexts[1]));
        EXPECT_SOFTACL_CODE(aclrtRecordEvent(event, streams[1]), 107003);
        EXPECT_SOFTACL_CODE(aclrtRecordEvent(event, NULL), 107003);
        EXPECT_SOFTACL_CODE(aclrtStreamWaitEvent(streams[1], event), 107003);

        REQUIRE_OK(aclrtSetCurrentContext(contexts[0]));
        EXPECT_OK(aclrtRecordEvent(event, streams[0]));
        REQUIRE_OK(aclrtSetCurrentContext(contexts[1]));
        EXPECT_SOFTACL_CODE(aclrtStreamWaitEvent(streams[1], event), 107003);
        EXPECT_OK(aclrtSynchronizeEvent(event));
        EXPECT_OK(aclrtQueryEventStatus(event, &status));
        EXPECT_TRUE(status == ACL_EVENT_RECORDED_STATUS_COMPLETE, "status %d", (int)status);
        EXPECT_OK(aclrtDestroyEvent(event));
    }
    /* A second context of the same device is no obstacle. */
    aclrtContext second = NULL;
    aclrtEvent event = NULL;
    REQUIRE_OK(aclrtSetCurrentContext(contexts[0]));
    REQUIRE_OK(aclrtCreateEvent(&event));
    EXPECT_OK(aclrtRecordEvent(event, streams[0]));
    REQUIRE_OK(aclrtCreateContext(&second, 0));
    EXPECT_OK(aclrtStreamWaitEvent(NULL, event));
    EXPECT_OK(aclrtRecordEvent(event, NULL));
    EXPECT_OK(aclrtSynchronizeStream(NULL));
    EXPECT_OK(aclrtDestroyContext(second));
    EXPECT_OK(aclrtDestroyEvent(event));
    for (int32_t d = 0; d < 2; d++) {
        REQUIRE_OK(aclrtSetCurrentContext(contexts[d]));
        EXPECT_OK(aclrtDestroyStream(streams[d]));
        EXPECT_OK(aclrtResetDevice(d));
    }
    return finish();
}
