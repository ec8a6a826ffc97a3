// soc: Ascend310P Ascend910B Ascend910C Ascend950 Ascend310B Ascend910A
// schedules: all
// expects: R1
/* Creating an event that reserves a hardware resource fails with 207007 at the limit. Events that take the resource
 * when they are recorded can still be created. */
#include "../expect.h"

#define MAX_EVENTS 70000

static aclrtEvent events[MAX_EVENTS];

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    int limit = family() == FAMILY_310P ? 1023 : family() == FAMILY_910 ? 65535 : 65536;
    int count = 0;
    aclError got = 0;
    while (count < MAX_EVENTS && (got = aclrtCreateEventWithFlag(&events[count], ACL_EVENT_SYNC)) == 0) {
        count++;
    }
    EXPECT_CODE(got, 207007); /* 4.5 */
    EXPECT_TRUE(count <= limit && count >= limit - 64, "%d events, the limit is %d", count, limit);
    aclrtEvent event = NULL;
    EXPECT_OK(aclrtCreateEvent(&event)); /* 4.5: takes the resource when recorded */
    EXPECT_OK(aclrtDestroyEvent(event));
    EXPECT_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    EXPECT_OK(aclrtDestroyEvent(event));
    size_t wrong = 0;
    for (int i = 0; i < count; i++) {
        wrong += aclrtDestroyEvent(events[i]) != 0;
    }
    EXPECT_TRUE(wrong == 0, "%zu could not be destroyed", wrong);
    EXPECT_OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    EXPECT_OK(aclrtDestroyEvent(event));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
