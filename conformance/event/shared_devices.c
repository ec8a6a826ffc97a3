// soc: Ascend910B Ascend910C
// schedules: all
/* Correction 4: an IPC event orders streams of two devices of one process, without an export. Corrections, documented:
 * it has no time and no id. */
#include "../expect.h"

#define ROUNDS 20

int main(void)
{
    uint32_t devices = 0;
    REQUIRE_OK(aclrtGetDeviceCount(&devices));
    REQUIRE_TRUE(devices >= 2, "this program needs two devices");
    aclrtContext contexts[2];
    aclrtStream streams[2];
    aclrtEvent event = NULL, plain = NULL;
    aclrtNotify notify = NULL;
    static int ran;
    for (int32_t d = 0; d < 2; d++) {
        REQUIRE_OK(aclrtSetDevice(d));
        REQUIRE_OK(aclrtGetCurrentContext(&contexts[d]));
        streams[d] = new_stream();
    }
    REQUIRE_OK(aclrtSetCurrentContext(contexts[0]));
    REQUIRE_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
    REQUIRE_OK(aclrtCreateNotify(&notify, ACL_NOTIFY_DEFAULT));
    for (int i = 0; i < ROUNDS; i++) { /* device 0 signals device 1 */
        REQUIRE_OK(aclrtSetCurrentContext(contexts[0]));
        EXPECT_OK(aclrtWaitAndResetNotify(notify, streams[0], 0));
        EXPECT_OK(aclrtRecordEvent(event, streams[0]));
        REQUIRE_OK(aclrtSetCurrentContext(contexts[1]));
        EXPECT_OK(aclrtStreamWaitEvent(streams[1], event));
        EXPECT_OK(aclrtLaunchHostFunc(streams[1], count_up, &ran));
        EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(streams[1], 1), 507046);
        EXPECT_TRUE(count_of(&ran) == i, "%d have passed in round %d", count_of(&ran), i);
        REQUIRE_OK(aclrtSetCurrentContext(contexts[0]));
        EXPECT_OK(aclrtRecordNotify(notify, NULL));
        REQUIRE_OK(aclrtSetCurrentContext(contexts[1]));
        EXPECT_OK(aclrtSynchronizeStream(streams[1]));
        EXPECT_TRUE(count_of(&ran) == i + 1, "%d have passed after round %d", count_of(&ran), i);
        EXPECT_OK(aclrtSynchronizeEvent(event));
        EXPECT_OK(aclrtRecordEvent(event, streams[1])); /* the event belongs to no device */
        EXPECT_OK(aclrtSynchronizeStream(streams[1]));
    }

    float ms = 0;
    uint32_t id = 0;
    uint64_t time = 0;
    REQUIRE_OK(aclrtSetCurrentContext(contexts[0]));
    REQUIRE_OK(aclrtCreateEvent(&plain));
    EXPECT_OK(aclrtRecordEvent(plain, streams[0]));
    EXPECT_OK(aclrtRecordEvent(event, streams[0]));
    EXPECT_OK(aclrtSynchronizeDevice());
    EXPECT_SOFTACL_CODE(aclrtEventElapsedTime(&ms, plain, event), 207000);
    EXPECT_SOFTACL_CODE(aclrtEventElapsedTime(&ms, event, plain), 207000);
    EXPECT_SOFTACL_CODE(aclrtEventGetTimestamp(event, &time), 207000);
    EXPECT_SOFTACL_CODE(aclrtGetEventId(event, &id), 207000);
    EXPECT_OK(aclrtGetEventId(plain, &id));

    EXPECT_OK(aclrtDestroyEvent(plain));
    EXPECT_OK(aclrtDestroyEvent(event));
    EXPECT_OK(aclrtDestroyNotify(notify));
    for (int32_t d = 0; d < 2; d++) {
        REQUIRE_OK(aclrtSetCurrentContext(contexts[d]));
        EXPECT_OK(aclrtDestroyStream(streams[d]));
        EXPECT_OK(aclrtResetDevice(d));
    }
    return finish();
}
