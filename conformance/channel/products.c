/* Channels exist on training chips only, and the form without a capacity on one of them. */
#include "../expect.h"

#include "acl/acl_tdt.h"

int main(void)
{
    const char *soc = aclrtGetSocName();
    REQUIRE_TRUE(soc != NULL, "the name of the chip");
    int has_channels = strncmp(soc, "Ascend310", 9) != 0;
    int is_old = strncmp(soc, "Ascend910", 9) == 0 && strncmp(soc, "Ascend910B", 10) != 0 &&
                 strncmp(soc, "Ascend910_93", 12) != 0 && strncmp(soc, "Ascend910C", 10) != 0;
    acltdtChannelHandle *bounded = acltdtCreateChannelWithCapacity(0, "bounded", 2);
    acltdtChannelHandle *unbounded = acltdtCreateChannel(0, "unbounded");
    EXPECT_TRUE((bounded != NULL) == has_channels, "%s: a channel with a capacity", soc);
    EXPECT_TRUE((unbounded != NULL) == is_old, "%s: a channel without a capacity", soc);
    if (bounded != NULL) {
        EXPECT_OK(acltdtDestroyChannel(bounded));
    }
    if (unbounded != NULL) {
        EXPECT_OK(acltdtDestroyChannel(unbounded));
    }
    return finish();
}
