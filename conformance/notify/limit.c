// soc: all
// softacl-only
// expects: R1
/* Corrections, documented: the number of notifies of a device is limited; a destroyed one makes room. */
#include "../expect.h"

int main(void)
{
    static const struct { enum family family; int limit; } limits[] = {
        {FAMILY_950, 65535}, {FAMILY_A2, 8192}, {FAMILY_A3, 8192}, {FAMILY_310B, 2048},
        {FAMILY_310P, 1024}, {FAMILY_910, 1024},
    };
    static aclrtNotify notifies[65536];
    aclrtNotify extra = NULL;
    REQUIRE_OK(aclrtSetDevice(0));
    int limit = 0, count = 0;
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        if (limits[i].family == family()) {
            limit = limits[i].limit;
        }
    }
    while (count < 65536 && aclrtCreateNotify(&notifies[count], ACL_NOTIFY_DEFAULT) == 0) {
        count++;
    }
    EXPECT_TRUE(count == limit, "%d notifies, not %d", count, limit);
    EXPECT_CODE(aclrtCreateNotify(&extra, ACL_NOTIFY_DEFAULT), 207009);
    EXPECT_OK(aclrtDestroyNotify(notifies[--count]));
    EXPECT_OK(aclrtCreateNotify(&notifies[count++], ACL_NOTIFY_DEFAULT));
    EXPECT_CODE(aclrtCreateNotify(&extra, ACL_NOTIFY_DEFAULT), 207009);
    while (count > 0) {
        EXPECT_OK(aclrtDestroyNotify(notifies[--count]));
    }
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
