// soc: all
/* Questions without a topic: ids, names and numbers of a device, its primary context, the flags of a stream,
 * memory in use, sizes of types, half floats. What must hold on every host is checked, not the figures of a chip. */
#include "../expect.h"

#include <math.h>

static void ids(void)
{
    uint32_t count = 0;
    REQUIRE_OK(aclrtGetDeviceCount(&count));
    for (int32_t device = 0; device < (int32_t)count; device++) {
        int32_t physical = -1, logical = -1, user = -1;
        EXPECT_OK(aclrtGetPhyDevIdByUserDevId(device, &physical));
        EXPECT_OK(aclrtGetUserDevIdByPhyDevId(physical, &user));
        EXPECT_TRUE(user == device, "device %d is %d again", device, user);
        EXPECT_OK(aclrtGetLogicDevIdByPhyDevId(physical, &logical));
        EXPECT_OK(aclrtGetLogicDevIdByUserDevId(device, &user));
        EXPECT_TRUE(logical == user, "logical ids %d and %d", logical, user);
        EXPECT_OK(aclrtGetPhyDevIdByLogicDevId(logical, &user));
        EXPECT_TRUE(user == physical, "physical ids %d and %d", user, physical);
    }
    int32_t id = 0;
    EXPECT_FAILS(aclrtGetUserDevIdByPhyDevId(4711, &id));
    EXPECT_FAILS(aclrtGetLogicDevIdByPhyDevId(-1, &id));
    EXPECT_FAILS(aclrtGetLogicDevIdByPhyDevId(0, NULL));
}

static void names(void)
{
    aclrtUuid first, again, second;
    int code = aclrtDeviceGetUuid(0, &first);
    if (code == 207000) { /* not on this product */
        return;
    }
    EXPECT_OK(code);
    EXPECT_OK(aclrtDeviceGetUuid(0, &again));
    EXPECT_TRUE(memcmp(&first, &again, sizeof first) == 0, "the id of a device changed");
    EXPECT_OK(aclrtDeviceGetUuid(1, &second));
    EXPECT_TRUE(memcmp(&first, &second, sizeof first) != 0, "two devices have the same id");
    EXPECT_FAILS(aclrtDeviceGetUuid(4711, &first));
}

/* Numbers of cores and the like differ by chip; both functions know the same ones. */
static void capabilities(void)
{
    static const struct {
        aclDeviceInfo info;
        aclrtDevAttr attr;
    } same[] = {
        {ACL_DEVICE_INFO_AI_CORE_NUM, ACL_DEV_ATTR_AICORE_CORE_NUM},
        {ACL_DEVICE_INFO_VECTOR_CORE_NUM, ACL_DEV_ATTR_VECTOR_CORE_NUM},
        {ACL_DEVICE_INFO_L2_SIZE, ACL_DEV_ATTR_L2_CACHE_SIZE},
    };
    int known = 0;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        int64_t first = -1, second = -1;
        int code = aclGetDeviceCapability(0, same[i].info, &first);
        EXPECT_CODE(aclrtGetDeviceInfo(0, same[i].attr, &second), code);
        EXPECT_TRUE(first == second && (code == 0 ? first >= 0 : first == -1), "%lld and %lld", (long long)first,
                    (long long)second);
        known += code == 0;
    }
    /* softacl knows no numbers of 310B and 950. */
    EXPECT_TRUE(family() == FAMILY_310B || family() == FAMILY_950 || known > 0, "no number is known");
    int64_t value = 0;
    EXPECT_FAILS(aclGetDeviceCapability(0, (aclDeviceInfo)4711, &value));
    EXPECT_FAILS(aclrtGetDeviceInfo(0, (aclrtDevAttr)4711, &value));
    EXPECT_FAILS(aclrtGetDeviceInfo(4711, ACL_DEV_ATTR_AICORE_CORE_NUM, &value));
    EXPECT_FAILS(aclGetDeviceCapability(4711, ACL_DEVICE_INFO_AI_CORE_NUM, &value));
    EXPECT_FAILS(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_AICORE_CORE_NUM, NULL));
    EXPECT_FAILS(aclGetDeviceCapability(0, ACL_DEVICE_INFO_AI_CORE_NUM, NULL));
}

static void primary_context(void)
{
    uint32_t flags = 7;
    int32_t active = 7;
    EXPECT_OK(aclrtGetPrimaryCtxState(0, &flags, &active));
    EXPECT_TRUE(active == 1 && flags == 0, "active %d, flags %u", active, flags);
    EXPECT_OK(aclrtGetPrimaryCtxState(1, &flags, &active));
    EXPECT_TRUE(active == 0, "device 1 was never set");
    EXPECT_FAILS(aclrtGetPrimaryCtxState(4711, &flags, &active));
}

static void stream_flags(void)
{
    aclrtStream plain = new_stream(), fast = NULL;
    uint32_t flags = 77;
    EXPECT_OK(aclrtStreamGetFlags(plain, &flags));
    EXPECT_TRUE(flags == 0, "flags %#x", flags);
    REQUIRE_OK(aclrtCreateStreamWithConfig(&fast, 0, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC));
    EXPECT_OK(aclrtStreamGetFlags(fast, &flags));
    EXPECT_TRUE(flags == (ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC), "flags %#x", flags);
    EXPECT_CODE(aclrtStreamGetFlags(stale_stream(), &flags), 107017);
    EXPECT_FAILS(aclrtStreamGetFlags(plain, NULL));
    EXPECT_OK(aclrtDestroyStream(fast));
    EXPECT_OK(aclrtDestroyStream(plain));
}

/* What a program has allocated is in the figures, and is out of them when it is freed. */
static void memory_in_use(void)
{
    aclrtMemUsageInfo before[4], during[4];
    size_t entries = 0;
    int code = aclrtGetMemUsageInfo(0, before, 4, &entries);
    if (code == 207000) { /* not on this product */
        return;
    }
    EXPECT_OK(code);
    EXPECT_TRUE(entries >= 1 && entries <= 4, "%zu entries", entries);
    void *device = device_memory(64 << 20);
    EXPECT_OK(aclrtGetMemUsageInfo(0, during, 4, &entries));
    uint64_t was = before[0].curMemSize, is = during[0].curMemSize;
    EXPECT_TRUE(is >= was + (64u << 20), "%llu after %llu", (unsigned long long)is, (unsigned long long)was);
    EXPECT_TRUE(during[0].memPeakSize >= is, "the peak is below the use");
    EXPECT_OK(aclrtFree(device));
    EXPECT_FAILS(aclrtGetMemUsageInfo(4711, before, 4, &entries));
}

static void types(void)
{
    EXPECT_TRUE(aclDataTypeSize(ACL_FLOAT) == 4 && aclDataTypeSize(ACL_FLOAT16) == 2, "sizes of floats");
    EXPECT_TRUE(aclDataTypeSize(ACL_INT8) == 1 && aclDataTypeSize(ACL_DOUBLE) == 8, "sizes of numbers");
    const float exact[] = {0.0f, -0.0f, 1.0f, -2.5f, 65504.0f, 6.103515625e-05f};
    for (size_t i = 0; i < sizeof exact / sizeof exact[0]; i++) {
        float back = aclFloat16ToFloat(aclFloatToFloat16(exact[i]));
        EXPECT_TRUE(back == exact[i] && signbit(back) == signbit(exact[i]), "%g became %g", exact[i], back);
    }
    EXPECT_TRUE(isinf(aclFloat16ToFloat(aclFloatToFloat16(1e10f))), "1e10 is not infinite");
    EXPECT_TRUE(isnan(aclFloat16ToFloat(aclFloatToFloat16(NAN))), "NAN became a number");
    EXPECT_TRUE(aclFloat16ToFloat(0x0001) > 0, "the smallest half is 0");
    aclAppLog(ACL_INFO, __func__, __FILE__, __LINE__, "%s %d", "text and a number:", 7);
}

static void versions(void)
{
    const aclCannAttr *list = NULL;
    size_t count = 0;
    EXPECT_OK(aclGetCannAttributeList(&list, &count));
    for (size_t i = 0; i < count; i++) {
        int32_t value = 7;
        EXPECT_OK(aclGetCannAttribute(list[i], &value));
        EXPECT_TRUE(value == 0 || value == 1, "attribute %d is %d", (int)list[i], value);
    }
    int32_t value = 0;
    EXPECT_FAILS(aclGetCannAttribute((aclCannAttr)4711, &value));
    EXPECT_FAILS(aclGetCannAttribute(list[0], NULL));
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    ids();
    names();
    capabilities();
    primary_context();
    stream_flags();
    memory_in_use();
    types();
    versions();
    aclrtUtilizationInfo use;
    memset(&use, 0, sizeof use);
    EXPECT_EITHER(aclrtGetDeviceUtilizationRate(0, &use), 0, 207000);
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
