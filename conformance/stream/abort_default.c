// soc: all
// schedules: all
/* Correction 19: aclrtStreamAbort(NULL) is the default stream on A2 and A3 (from CANN 9.0); elsewhere NULL is an error. */
#include "../expect.h"

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    if (family() != FAMILY_A2 && family() != FAMILY_A3) {
        EXPECT_CODE(aclrtStreamAbort(NULL), 100000);
    } else {
        aclrtNotify notify = NULL;
        static int ran;
        REQUIRE_OK(aclrtCreateNotify(&notify, ACL_NOTIFY_DEFAULT));
        EXPECT_OK(aclrtWaitAndResetNotify(notify, NULL, 0)); /* never recorded */
        EXPECT_OK(aclrtLaunchHostFunc(NULL, count_up, &ran));
        EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(NULL, 5), 507046);
        EXPECT_OK(aclrtStreamAbort(NULL));
        EXPECT_OK(aclrtSynchronizeStream(NULL));
        EXPECT_TRUE(count_of(&ran) == 0, "a task ran after the abort");
        EXPECT_OK(aclrtLaunchHostFunc(NULL, count_up, &ran));
        EXPECT_OK(aclrtSynchronizeStream(NULL));
        EXPECT_TRUE(count_of(&ran) == 1, "the stream is not usable after the abort");
        EXPECT_OK(aclrtDestroyNotify(notify));
    }
    EXPECT_CODE(aclrtStreamStop(NULL), 100000); /* correction 7: never the default stream */
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
