// soc: Ascend910B Ascend910C Ascend950 Ascend310P Ascend910A
// schedules: all
/* Corrections, documented: one thread may serve several streams of one device, but not of two. */
#include "../expect.h"

int main(void)
{
    uint32_t devices = 0;
    REQUIRE_OK(aclrtGetDeviceCount(&devices));
    REQUIRE_TRUE(devices >= 2, "this program needs two devices");
    uint64_t self = (uint64_t)pthread_self();
    REQUIRE_OK(aclrtSetDevice(1));
    aclrtStream other = new_stream();
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream first = new_stream(), second = new_stream();
    EXPECT_OK(aclrtSubscribeReport(self, first));
    EXPECT_OK(aclrtSubscribeReport(self, second));
    EXPECT_SOFTACL_CODE(aclrtSubscribeReport(self, other), 107000);
    EXPECT_OK(aclrtUnSubscribeReport(self, first));
    EXPECT_SOFTACL_CODE(aclrtSubscribeReport(self, other), 107000);
    EXPECT_OK(aclrtUnSubscribeReport(self, second));
    EXPECT_OK(aclrtSubscribeReport(self, other)); /* serves no other device anymore */
    EXPECT_OK(aclrtUnSubscribeReport(self, other));
    EXPECT_OK(aclrtDestroyStream(first));
    EXPECT_OK(aclrtDestroyStream(second));
    REQUIRE_OK(aclrtSetDevice(1));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtResetDevice(1));
    EXPECT_OK(aclrtResetDevice(1));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
