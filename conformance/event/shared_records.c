// soc: Ascend910B
// schedules: all
// softacl-only
// misuses: L1
/* Records of an event that processes share: a later one does not stand for an earlier one of another stream, and one that is
 * dropped keeps nobody waiting. */
#include "../expect.h"

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream slow = new_stream(), fast = new_stream(), waiting = new_stream();
    aclrtEvent event = NULL, opened = NULL;
    aclrtIpcEventHandle name;
    uint64_t *value = (uint64_t *)device_memory(64);
    EXPECT_OK(aclrtMemset(value, 64, 0, 64));
    REQUIRE_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
    REQUIRE_OK(aclrtIpcGetEventHandle(event, &name));
    REQUIRE_OK(aclrtIpcOpenEventHandle(name, &opened));

    EXPECT_OK(aclrtValueWait(value, 1, 0, slow));
    EXPECT_OK(aclrtRecordEvent(event, slow));
    EXPECT_OK(aclrtStreamWaitEvent(waiting, opened));
    EXPECT_OK(aclrtRecordEvent(event, fast));
    EXPECT_OK(aclrtSynchronizeStream(fast));
    EXPECT_OK(aclrtSynchronizeEventWithTimeout(opened, 20000));
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(waiting, 20), 507046);
    EXPECT_OK(aclrtValueWrite(value, 1, 0, fast));
    EXPECT_OK(aclrtSynchronizeStreamWithTimeout(waiting, 20000));
    EXPECT_OK(aclrtSynchronizeStreamWithTimeout(slow, 20000));

    for (int is_destroyed = 0; is_destroyed < 2; is_destroyed++) {
        EXPECT_OK(aclrtMemset(value, 64, 0, 64));
        EXPECT_OK(aclrtValueWait(value, 1, 0, slow));
        EXPECT_OK(aclrtRecordEvent(event, slow));
        EXPECT_OK(aclrtStreamWaitEvent(waiting, opened));
        EXPECT_CODE(aclrtSynchronizeEventWithTimeout(event, 20), 507047);
        EXPECT_OK(is_destroyed ? aclrtDestroyStreamForce(slow) : aclrtStreamAbort(slow));
        EXPECT_OK(aclrtSynchronizeEventWithTimeout(opened, 20000));
        EXPECT_OK(aclrtSynchronizeEventWithTimeout(event, 20000));
        EXPECT_OK(aclrtSynchronizeStreamWithTimeout(waiting, 20000));
    }
    EXPECT_OK(aclrtDestroyEvent(opened));
    EXPECT_OK(aclrtDestroyEvent(event));
    EXPECT_OK(aclrtFree(value));
    EXPECT_OK(aclrtDestroyStream(fast));
    EXPECT_OK(aclrtDestroyStream(waiting));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
