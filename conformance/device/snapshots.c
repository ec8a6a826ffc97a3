// soc: all
/* Callbacks of snapshots can be registered on the products that have snapshots. softacl takes none. */
#include "../expect.h"

static uint32_t on_stage(int32_t device, void *args)
{
    (void)device, (void)args;
    return 0;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    if (!family_has_batches()) {
        EXPECT_CODE(aclrtSnapShotCallbackRegister(ACL_RT_SNAPSHOT_LOCK_PRE, on_stage, NULL), 207000);
        EXPECT_CODE(aclrtSnapShotCallbackUnregister(ACL_RT_SNAPSHOT_LOCK_PRE, on_stage), 207000);
    } else {
        EXPECT_CODE(aclrtSnapShotCallbackRegister(ACL_RT_SNAPSHOT_LOCK_PRE, NULL, NULL), 100000);
        EXPECT_FAILS(aclrtSnapShotCallbackRegister((aclrtSnapShotStage)6, on_stage, NULL));
        EXPECT_FAILS(aclrtSnapShotCallbackUnregister(ACL_RT_SNAPSHOT_LOCK_PRE, on_stage));
        EXPECT_OK(aclrtSnapShotCallbackRegister(ACL_RT_SNAPSHOT_LOCK_PRE, on_stage, NULL));
        EXPECT_OK(aclrtSnapShotCallbackRegister(ACL_RT_SNAPSHOT_BACKUP_PRE, on_stage, NULL));
        EXPECT_SOFTACL_CODE(aclrtSnapShotCallbackRegister(ACL_RT_SNAPSHOT_LOCK_PRE, on_stage, NULL), 507913);
        EXPECT_OK(aclrtSnapShotCallbackUnregister(ACL_RT_SNAPSHOT_LOCK_PRE, on_stage));
        EXPECT_FAILS(aclrtSnapShotCallbackUnregister(ACL_RT_SNAPSHOT_LOCK_PRE, on_stage));
        EXPECT_OK(aclrtSnapShotCallbackUnregister(ACL_RT_SNAPSHOT_BACKUP_PRE, on_stage));
    }
    if (on_softacl()) {
        EXPECT_CODE(aclrtSnapShotProcessLock(getpid(), NULL), 207000);
    }
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
