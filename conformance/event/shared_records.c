// soc: Ascend910B
// schedules: all
// softacl-only
// expects: L1
/* Records of an IPC event: a later record on another stream does not complete
 * an earlier one, and a dropped record does not leave waits pending. */
#include "../expect.h"

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream blocked = new_stream(), free_stream = new_stream(), waiting = new_stream();
    aclrtEvent event = NULL, opened = NULL;
    aclrtIpcEventHandle handle;
    uint64_t *value = (uint64_t *)device_memory(64);
    EXPECT_OK(aclrtMemset(value, 64, 0, 64));
    REQUIRE_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
    REQUIRE_OK(aclrtIpcGetEventHandle(event, &handle));
    REQUIRE_OK(aclrtIpcOpenEventHandle(handle, &opened));

    EXPECT_OK(aclrtValueWait(value, 1, 0, blocked));
    EXPECT_OK(aclrtRecordEvent(event, blocked));
    EXPECT_OK(aclrtStreamWaitEvent(waiting, opened));
    EXPECT_OK(aclrtRecordEvent(event, free_stream));
    EXPECT_OK(aclrtSynchronizeStream(free_stream));
    EXPECT_OK(aclrtSynchronizeEventWithTimeout(opened, 20000));
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(waiting, 20), 507046);
    EXPECT_OK(aclrtValueWrite(value, 1, 0, free_stream));
    EXPECT_OK(aclrtSynchronizeStreamWithTimeout(waiting, 20000));
    EXPECT_OK(aclrtSynchronizeStreamWithTimeout(blocked, 20000));

    for (int is_destroyed = 0; is_destroyed < 2; is_destroyed++) {
        EXPECT_OK(aclrtMemset(value, 64, 0, 64));
        EXPECT_OK(aclrtValueWait(value, 1, 0, blocked));
        EXPECT_OK(aclrtRecordEvent(event, blocked));
        EXPECT_OK(aclrtStreamWaitEvent(waiting, opened));
        EXPECT_CODE(aclrtSynchronizeEventWithTimeout(event, 20), 507047);
        EXPECT_OK(is_destroyed ? aclrtDestroyStreamForce(blocked) : aclrtStreamAbort(blocked));
        EXPECT_OK(aclrtSynchronizeEventWithTimeout(opened, 20000));
        EXPECT_OK(aclrtSynchronizeEventWithTimeout(event, 20000));
        EXPECT_OK(aclrtSynchronizeStreamWithTimeout(waiting, 20000));
    }
    EXPECT_OK(aclrtDestroyEvent(opened));
    EXPECT_OK(aclrtDestroyEvent(event));
    EXPECT_OK(aclrtFree(value));
    EXPECT_OK(aclrtDestroyStream(free_stream));
    EXPECT_OK(aclrtDestroyStream(waiting));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
