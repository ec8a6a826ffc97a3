// soc: all
// expects: C2
/* Execution parameters: queries return what was set, and invalid
 * arguments are refused. Their effect on operators is not tested. */
#include "../expect.h"

static void *check_thread_limit(void *stream)
{
    uint32_t value = 0;
    EXPECT_CODE(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_INFNAN), 107002);
    REQUIRE_OK(aclrtSetDevice(0));
    EXPECT_OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &value));
    EXPECT_TRUE(value == 3, "expected the limit of the device, got %u", value);
    EXPECT_OK(aclrtUseStreamResInCurrentThread(stream));
    EXPECT_OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &value));
    EXPECT_TRUE(value == 2, "expected the limit of the stream, got %u", value);
    EXPECT_OK(aclrtUnuseStreamResInCurrentThread(stream));
    EXPECT_OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &value));
    EXPECT_TRUE(value == 3, "expected the limit of the device again, got %u", value);
    EXPECT_OK(aclrtResetDevice(0));
    return NULL;
}

static void check_cores(aclrtStream stream)
{
    uint32_t all = 0, value = 0;
    EXPECT_CODE(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, NULL), 100000);
    EXPECT_CODE(aclrtGetDeviceResLimit(1000, ACL_RT_DEV_RES_CUBE_CORE, &value), 107001);
    EXPECT_FAILS(aclrtGetDeviceResLimit(0, (aclrtDevResLimitType)2, &value));
    EXPECT_CODE(aclrtSetDeviceResLimit(1000, ACL_RT_DEV_RES_CUBE_CORE, 1), 107001);
    EXPECT_FAILS(aclrtSetDeviceResLimit(0, (aclrtDevResLimitType)-1, 1));
    EXPECT_CODE(aclrtResetDeviceResLimit(1000), 107001);
    aclError known = aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, &all);
    EXPECT_TRUE(known == 0 ? all > 0 : known == 207000, "code %d, %u cores", known, all);
    EXPECT_OK(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, 3));
    EXPECT_OK(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, &value));
    EXPECT_TRUE(value == 3, "%u", value);
    EXPECT_OK(aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, &value));
    EXPECT_TRUE(value == 3, "expected the limit of the device, got %u", value);
    EXPECT_OK(aclrtSetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, 2));
    EXPECT_OK(aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, &value));
    EXPECT_TRUE(value == 2, "%u", value);
    in_new_thread(check_thread_limit, stream);
    EXPECT_CODE(aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, NULL), 100000);
    EXPECT_CODE(aclrtSetStreamResLimit(stale_stream(), ACL_RT_DEV_RES_CUBE_CORE, 1), 107017);
    EXPECT_CODE(aclrtUseStreamResInCurrentThread(stale_stream()), 107017);
    EXPECT_CODE(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, NULL), 100000);
    EXPECT_OK(aclrtResetStreamResLimit(stream));
    EXPECT_OK(aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, &value));
    EXPECT_TRUE(value == 3, "%u", value);
    EXPECT_OK(aclrtResetDeviceResLimit(0));
    if (known == 0) {
        EXPECT_OK(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, &value));
        EXPECT_TRUE(value == all, "%u", value);
    }
}

static void check_overflow(aclrtStream stream)
{
    EXPECT_FAILS(aclrtSetDeviceSatMode((aclrtFloatOverflowMode)3));
    EXPECT_FAILS(aclrtSetDeviceSatMode((aclrtFloatOverflowMode)-1));
    EXPECT_CODE(aclrtGetDeviceSatMode(NULL), 100000);
    for (int mode = ACL_RT_OVERFLOW_MODE_SATURATION; mode <= ACL_RT_OVERFLOW_MODE_INFNAN; mode++) {
        aclrtFloatOverflowMode found = ACL_RT_OVERFLOW_MODE_UNDEF;
        EXPECT_OK(aclrtSetDeviceSatMode((aclrtFloatOverflowMode)mode));
        EXPECT_OK(aclrtGetDeviceSatMode(&found));
        EXPECT_TRUE((int)found == mode, "%d", found);
    }
    uint32_t flag = 7;
    if (!family_has_batches()) { /* not on this product */
        EXPECT_CODE(aclrtSetStreamOverflowSwitch(stream, 1), 207000);
        EXPECT_CODE(aclrtGetStreamOverflowSwitch(stream, &flag), 207000);
        return;
    }
    EXPECT_CODE(aclrtGetStreamOverflowSwitch(stream, NULL), 100000);
    EXPECT_CODE(aclrtSetStreamOverflowSwitch(stale_stream(), 1), 107017);
    EXPECT_OK(aclrtGetStreamOverflowSwitch(stream, &flag));
    EXPECT_TRUE(flag == 0, "initially %u", flag);
    EXPECT_OK(aclrtSetStreamOverflowSwitch(stream, 1));
    EXPECT_OK(aclrtGetStreamOverflowSwitch(stream, &flag));
    EXPECT_TRUE(flag == 1, "%u", flag);
    aclrtStreamAttrValue value;
    EXPECT_OK(aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK, &value));
    EXPECT_TRUE(value.overflowSwitch == 1, "the attribute differs from the switch");
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint64_t actual = 0;
    EXPECT_CODE(aclrtSetOpWaitTimeout(3), family() == FAMILY_310P ? 207000 : 0);
    EXPECT_OK(aclrtSetOpExecuteTimeOut(3));
    EXPECT_CODE(aclrtSetOpExecuteTimeOutV2(1000, NULL), 100000);
    EXPECT_OK(aclrtSetOpExecuteTimeOutV2(1000, &actual));
    EXPECT_TRUE(actual >= 1000, "%llu", (unsigned long long)actual);
    check_overflow(stream);
    check_cores(stream);

    uint32_t groups = 7;
    if (family() == FAMILY_310P) {
        EXPECT_CODE(aclrtGetGroupCount(NULL), 100000);
        EXPECT_OK(aclrtGetGroupCount(&groups));
        if (on_softacl()) {
            EXPECT_TRUE(groups == 0, "%u", groups);
            EXPECT_CODE(aclrtSetGroup(0), 107014);
        }
    } else { /* only the 310P has groups */
        EXPECT_CODE(aclrtGetGroupCount(&groups), 207000);
        EXPECT_CODE(aclrtSetGroup(0), 207000);
    }
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
