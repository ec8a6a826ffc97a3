// soc: Ascend310P
// env: SOFTACL_CANN=9.0
// softacl-only
// expects: R1
/* Corrections, documented: on a 310P in EP form, up to CANN 9.0, each context uses two streams of the 1,024. */
#include "../expect.h"

#define LIMIT 1024

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    static aclrtStream streams[LIMIT];
    aclrtStream extra = NULL;
    aclrtContext primary = NULL, other = NULL, third = NULL;
    REQUIRE_OK(aclrtGetCurrentContext(&primary));
    REQUIRE_OK(aclrtCreateContext(&other, 0));
    REQUIRE_OK(aclrtSetCurrentContext(primary));
    int count = 0;
    while (count < LIMIT && aclrtCreateStream(&streams[count]) == 0) {
        count++;
    }
    EXPECT_TRUE(count == LIMIT - 4, "%d streams beside two contexts", count);
    EXPECT_CODE(aclrtCreateStream(&extra), 207008);
    EXPECT_CODE(aclrtCreateContext(&third, 0), 207008);
    EXPECT_OK(aclrtDestroyContext(other));
    REQUIRE_OK(aclrtSetCurrentContext(primary));
    for (int i = 0; i < 2; i++) {
        EXPECT_OK(aclrtCreateStream(&streams[count++]));
    }
    EXPECT_CODE(aclrtCreateStream(&extra), 207008);
    while (count > 0) {
        EXPECT_OK(aclrtDestroyStream(streams[--count]));
    }
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
