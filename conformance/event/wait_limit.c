// soc: all
/* Correction 8: aclrtSetOpWaitTimeout limits how long a stream waits for an event, in seconds, for waits that are
 * submitted afterwards; 0 is no limit. The synchronize after an expired wait returns 107020 once. */
#include "../expect.h"

static struct gate gate = GATE_INITIALIZER;

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    if (family() == FAMILY_310P) { /* not on this product */
        EXPECT_CODE(aclrtSetOpWaitTimeout(1), 207000);
        EXPECT_OK(aclrtResetDevice(0));
        return finish();
    }
    aclrtStream blocked = new_stream(), limited = new_stream(), unlimited = new_stream();
    aclrtEvent event = NULL, never = NULL;
    static int ran;
    REQUIRE_OK(aclrtCreateEvent(&event));
    REQUIRE_OK(aclrtCreateEventWithFlag(&never, ACL_EVENT_SYNC));
    gate_close(&gate, blocked);
    EXPECT_OK(aclrtRecordEvent(event, blocked));

    EXPECT_OK(aclrtStreamWaitEvent(unlimited, event)); /* before the limit */
    EXPECT_OK(aclrtSetOpWaitTimeout(1));
    EXPECT_OK(aclrtStreamWaitEvent(limited, event));
    EXPECT_OK(aclrtStreamWaitEvent(limited, never)); /* expires too */
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(limited, 5), 507046);
    EXPECT_CODE(aclrtSynchronizeStream(limited), 107020);
    EXPECT_OK(aclrtSynchronizeStream(limited)); /* reported once, and the stream continues */
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(unlimited, 5), 507046);
    EXPECT_OK(aclrtSetOpWaitTimeout(0));
    EXPECT_OK(aclrtStreamWaitEvent(limited, event));
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(limited, 1200), 507046);

    /* A record within the limit is no error. */
    EXPECT_OK(aclrtSetOpWaitTimeout(50));
    EXPECT_OK(aclrtStreamWaitEvent(limited, event));
    gate_open(&gate);
    EXPECT_OK(aclrtLaunchHostFunc(limited, count_up, &ran));
    EXPECT_OK(aclrtSynchronizeDevice());
    EXPECT_TRUE(count_of(&ran) == 1, "the stream did not continue");
    EXPECT_OK(aclrtSetOpWaitTimeout(0));

    EXPECT_OK(aclrtDestroyEvent(event));
    EXPECT_OK(aclrtDestroyEvent(never));
    EXPECT_OK(aclrtDestroyStream(blocked));
    EXPECT_OK(aclrtDestroyStream(limited));
    EXPECT_OK(aclrtDestroyStream(unlimited));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
