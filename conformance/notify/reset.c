// soc: Ascend910B
/* One record releases one of several waiting streams.
 * aclrtNotifyBatchReset discards records. A wait fails after its timeout. */
#include "../expect.h"

#define WAITERS 4

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream recorder = new_stream(), waiters[WAITERS];
    aclrtNotify notifies[2];
    REQUIRE_OK(aclrtCreateNotify(&notifies[0], ACL_NOTIFY_DEFAULT));
    REQUIRE_OK(aclrtCreateNotify(&notifies[1], ACL_NOTIFY_DEFAULT));
    static struct flag passed = FLAG_INITIALIZER;
    static int ran;
    for (int i = 0; i < WAITERS; i++) {
        waiters[i] = new_stream();
        EXPECT_OK(aclrtWaitAndResetNotify(notifies[0], waiters[i], 0));
        EXPECT_OK(aclrtLaunchHostFunc(waiters[i], count_up, &ran));
    }
    for (int i = 1; i <= WAITERS; i++) {
        EXPECT_OK(aclrtRecordNotify(notifies[0], recorder));
        EXPECT_OK(aclrtSynchronizeStream(recorder));
        int busy = WAITERS;
        while (busy != WAITERS - i) { /* until one more stream has passed */
            poll_pause();
            busy = 0;
            for (int k = 0; k < WAITERS; k++) {
                busy += stream_is_busy(waiters[k]);
            }
        }
        EXPECT_TRUE(flag_never_becomes(&passed, 1) && count_of(&ran) == i, "%d have passed after %d records",
                    count_of(&ran), i);
    }

    EXPECT_OK(aclrtRecordNotify(notifies[0], recorder));
    EXPECT_OK(aclrtRecordNotify(notifies[1], recorder));
    EXPECT_OK(aclrtSynchronizeStream(recorder));
    EXPECT_OK(aclrtNotifyBatchReset(notifies, 2));
    EXPECT_OK(aclrtWaitAndResetNotify(notifies[0], waiters[0], 0));
    EXPECT_OK(aclrtWaitAndResetNotify(notifies[1], waiters[1], 0));
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(waiters[0], 5), 507046);
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(waiters[1], 5), 507046);
    EXPECT_OK(aclrtRecordNotify(notifies[0], recorder));
    EXPECT_OK(aclrtRecordNotify(notifies[1], recorder));
    EXPECT_OK(aclrtSynchronizeDevice());

    /* The timeout is in seconds. The stream then continues, and the next synchronize call reports the timeout once. */
    EXPECT_OK(aclrtWaitAndResetNotify(notifies[0], waiters[0], 1));
    EXPECT_OK(aclrtLaunchHostFunc(waiters[0], count_up, &ran));
    EXPECT_SOFTACL_CODE(aclrtSynchronizeStream(waiters[0]), 107020); /* correction 8 */
    EXPECT_OK(aclrtSynchronizeStream(waiters[0]));
    EXPECT_TRUE(count_of(&ran) == WAITERS + 1, "%d", count_of(&ran));
    /* A record within the timeout is not an error. */
    EXPECT_OK(aclrtWaitAndResetNotify(notifies[0], waiters[0], 50));
    EXPECT_OK(aclrtRecordNotify(notifies[0], recorder));
    EXPECT_OK(aclrtSynchronizeStream(waiters[0]));

    for (int i = 0; i < WAITERS; i++) {
        EXPECT_OK(aclrtDestroyStream(waiters[i]));
    }
    EXPECT_OK(aclrtDestroyStream(recorder));
    EXPECT_OK(aclrtDestroyNotify(notifies[0]));
    EXPECT_OK(aclrtDestroyNotify(notifies[1]));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
