// soc: Ascend910B
// schedules: all
/* Correction 8 on every schedule: an event behind a wait that never ends lets the limit expire, and then the stream
 * continues; events that are recorded never do. */
#include "../expect.h"

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream blocked = new_stream(), limited = new_stream();
    aclrtEvent event = NULL, shared = NULL;
    aclrtNotify notify = NULL;
    static int ran;
    REQUIRE_OK(aclrtCreateEvent(&event));
    REQUIRE_OK(aclrtCreateEventExWithFlag(&shared, ACL_EVENT_IPC));
    REQUIRE_OK(aclrtCreateNotify(&notify, ACL_NOTIFY_DEFAULT));
    EXPECT_OK(aclrtSetOpWaitTimeout(1));
    EXPECT_OK(aclrtWaitAndResetNotify(notify, blocked, 0));
    EXPECT_OK(aclrtRecordEvent(event, blocked));
    EXPECT_OK(aclrtRecordEvent(shared, blocked));
    EXPECT_OK(aclrtStreamWaitEvent(limited, event));
    EXPECT_OK(aclrtLaunchHostFunc(limited, count_up, &ran));
    EXPECT_CODE(aclrtSynchronizeStream(limited), 107020);
    EXPECT_TRUE(count_of(&ran) == 1, "the stream did not continue");
    EXPECT_OK(aclrtStreamWaitEvent(limited, shared));
    EXPECT_CODE(aclrtSynchronizeStream(limited), 107020);

    /* With the record on its way nothing expires. */
    EXPECT_OK(aclrtRecordNotify(notify, NULL));
    EXPECT_OK(aclrtStreamWaitEvent(limited, event));
    EXPECT_OK(aclrtStreamWaitEvent(limited, shared));
    EXPECT_OK(aclrtSynchronizeStream(limited));
    EXPECT_OK(aclrtSynchronizeDevice());
    EXPECT_OK(aclrtSetOpWaitTimeout(0));
    EXPECT_OK(aclrtDestroyEvent(event));
    EXPECT_OK(aclrtDestroyEvent(shared));
    EXPECT_OK(aclrtDestroyNotify(notify));
    EXPECT_OK(aclrtDestroyStream(blocked));
    EXPECT_OK(aclrtDestroyStream(limited));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
