// soc: Ascend310P Ascend910B Ascend910C Ascend950 Ascend310B Ascend910A
// schedules: all
// misuses: R1
/* Events with a resource of their own run out with 207007; those that take it when recorded do not. */
#include "../expect.h"

#define MOST 70000

static aclrtEvent events[MOST];

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    int limit = family() == FAMILY_310P ? 1023 : family() == FAMILY_910 ? 65535 : 65536;
    int count = 0;
    aclError got = 0;
    while (count < MOST && (got = aclrtCreateEventWithFlag(&events[count], ACL_EVENT_SYNC)) == 0) {
        count++;
    }
    EXPECT_CODE(got, 207007); /* 4.5 */
    EXPECT_TRUE(count <= limit && count >= limit - 64, "%d events, the limit is %d", count, limit);
    aclrtEvent lazy = NULL;
    EXPECT_OK(aclrtCreateEvent(&lazy)); /* 4.5: takes the resource at record time */
    EXPECT_OK(aclrtDestroyEvent(lazy));
    EXPECT_OK(aclrtCreateEventExWithFlag(&lazy, ACL_EVENT_SYNC));
    EXPECT_OK(aclrtDestroyEvent(lazy));
    size_t wrong = 0;
    for (int i = 0; i < count; i++) {
        wrong += aclrtDestroyEvent(events[i]) != 0;
    }
    EXPECT_TRUE(wrong == 0, "%zu could not be destroyed", wrong);
    EXPECT_OK(aclrtCreateEventWithFlag(&lazy, ACL_EVENT_SYNC));
    EXPECT_OK(aclrtDestroyEvent(lazy));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
