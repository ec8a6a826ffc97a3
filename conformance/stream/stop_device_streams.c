// soc: Ascend910B Ascend910C Ascend950
// schedules: all
// env: SOFTACL_CANN=9.0
// softacl-only
/* Correction 7: up to CANN 9.0, A2 and A3 stop only streams that were created DEVICE_USE_ONLY. */
#include "../expect.h"

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream plain = new_stream(), device_only = NULL;
    REQUIRE_OK(aclrtCreateStreamWithConfig(&device_only, 0, ACL_STREAM_DEVICE_USE_ONLY));
    EXPECT_CODE(aclrtStreamStop(plain), family() == FAMILY_950 ? 0 : 207000);
    EXPECT_OK(aclrtStreamAbort(plain));

    aclrtNotify notify = NULL;
    aclrtEvent event = NULL;
    static int ran;
    REQUIRE_OK(aclrtCreateNotify(&notify, ACL_NOTIFY_DEFAULT));
    REQUIRE_OK(aclrtCreateEvent(&event));
    EXPECT_OK(aclrtWaitAndResetNotify(notify, device_only, 0)); /* never recorded */
    EXPECT_OK(aclrtLaunchHostFunc(device_only, count_up, &ran));
    EXPECT_OK(aclrtRecordEvent(event, device_only)); /* a synchronize does not wait for such a stream, an event does */
    EXPECT_CODE(aclrtSynchronizeEventWithTimeout(event, 5), 507047);
    EXPECT_OK(aclrtStreamStop(device_only));
    EXPECT_OK(aclrtSynchronizeEvent(event));
    EXPECT_TRUE(count_of(&ran) == 1, "the task after the stopped one ran %d times", count_of(&ran));
    EXPECT_OK(aclrtDestroyEvent(event));
    EXPECT_OK(aclrtDestroyNotify(notify));
    EXPECT_OK(aclrtDestroyStream(device_only));
    EXPECT_OK(aclrtDestroyStream(plain));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
