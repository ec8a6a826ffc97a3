// soc: Ascend910B Ascend910C Ascend310P
// schedules: all
/* An IPC event orders two processes: a stream of the child waits for a record on a stream of the parent. The child is
 * forked before the first AscendCL call and receives the handle through a pipe. */
#include "../expect.h"
#include "../peer.h"

/* The two processes run in lockstep: each sends a byte after a step. */
static int child(struct peer parent)
{
    if (family() == FAMILY_310P) {
        return 0;
    }
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtIpcEventHandle handle;
    peer_receive(parent, &handle, sizeof handle);
    aclrtEvent event;
    REQUIRE_OK(aclrtIpcOpenEventHandle(handle, &event));
    aclrtStream stream = new_stream();
    aclrtEventRecordedStatus recorded = ACL_EVENT_RECORDED_STATUS_COMPLETE;
    EXPECT_OK(aclrtQueryEventStatus(event, &recorded));
    EXPECT_TRUE(recorded == ACL_EVENT_RECORDED_STATUS_NOT_READY, "the parent's stream is not blocked");
    EXPECT_CODE(aclrtSynchronizeEventWithTimeout(event, 20), 507047);
    EXPECT_OK(aclrtStreamWaitEvent(stream, event));
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 20), 507046);
    peer_send_byte(parent, 'w');
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtSynchronizeEvent(event));
    EXPECT_OK(aclrtQueryEventStatus(event, &recorded));
    EXPECT_TRUE(recorded == ACL_EVENT_RECORDED_STATUS_COMPLETE, "the parent's stream has not continued");
    peer_expect_byte(parent, 'g');
    /* The parent has destroyed its event; the opened event stays valid. */
    EXPECT_OK(aclrtRecordEvent(event, stream));
    EXPECT_OK(aclrtSynchronizeEvent(event));
    EXPECT_OK(aclrtDestroyEvent(event));
    aclrtEvent again;
    EXPECT_FAILS(aclrtIpcOpenEventHandle(handle, &again));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}

int main(void)
{
    struct peer peer = peer_fork(child);
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtEvent event, ordinary;
    aclrtIpcEventHandle handle;
    if (family() == FAMILY_310P) { /* not on this product */
        EXPECT_CODE(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC), 207000);
        peer_join(peer);
        EXPECT_OK(aclrtResetDevice(0));
        return finish();
    }
    REQUIRE_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
    REQUIRE_OK(aclrtCreateEvent(&ordinary));
    EXPECT_CODE(aclrtIpcGetEventHandle(NULL, &handle), 100000);
    EXPECT_CODE(aclrtIpcGetEventHandle(event, NULL), 100000);
    EXPECT_FAILS(aclrtIpcGetEventHandle(ordinary, &handle));
    memset(&handle, 0x5a, sizeof handle);
    EXPECT_FAILS(aclrtIpcOpenEventHandle(handle, &ordinary));
    REQUIRE_OK(aclrtIpcGetEventHandle(event, &handle));

    static struct gate gate = GATE_INITIALIZER;
    aclrtStream stream = new_stream();
    gate_close(&gate, stream);
    EXPECT_OK(aclrtRecordEvent(event, stream));
    peer_send(peer, &handle, sizeof handle);
    peer_expect_byte(peer, 'w');
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtDestroyEvent(event));
    peer_send_byte(peer, 'g');
    peer_join(peer);
    EXPECT_OK(aclrtDestroyEvent(ordinary));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
