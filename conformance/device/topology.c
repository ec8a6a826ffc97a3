// soc: all
// expects: C2
/* PCI addresses, links, atomic operations, optional features, kernel limits and compatible chips. */
#include "../expect.h"

static void check_pci(void)
{
    char text[32], other[32];
    int32_t device = -1;
    memset(text, 'x', sizeof text);
    if (!family_has_batches()) {
        EXPECT_CODE(aclrtDeviceGetPCIBusId(0, text, sizeof text), 207000);
        EXPECT_CODE(aclrtDeviceGetByPCIBusId("0000:10:00.0", &device), 207000);
        return;
    }
    EXPECT_CODE(aclrtDeviceGetPCIBusId(0, NULL, sizeof text), 100000);
    EXPECT_CODE(aclrtDeviceGetPCIBusId(99, text, sizeof text), 107001);
    EXPECT_FAILS(aclrtDeviceGetPCIBusId(0, text, 12)); /* no room for the zero */
    EXPECT_FAILS(aclrtDeviceGetPCIBusId(0, text, -1));
    EXPECT_TRUE(text[0] == 'x', "a refused call has written");
    REQUIRE_OK(aclrtDeviceGetPCIBusId(0, text, 13));
    REQUIRE_OK(aclrtDeviceGetPCIBusId(1, other, sizeof other));
    unsigned domain, bus, slot, function;
    EXPECT_TRUE(strlen(text) == 12 && sscanf(text, "%4x:%2x:%2x.%1x", &domain, &bus, &slot, &function) == 4, "%s", text);
    EXPECT_TRUE(strcmp(text, other) != 0, "two devices are at %s", text);
    EXPECT_OK(aclrtDeviceGetByPCIBusId(other, &device));
    EXPECT_TRUE(device == 1, "%d at %s", device, other);
    EXPECT_OK(aclrtDeviceGetByPCIBusId(text, &device));
    EXPECT_TRUE(device == 0, "%d at %s", device, text);
    EXPECT_CODE(aclrtDeviceGetByPCIBusId(NULL, &device), 100000);
    EXPECT_CODE(aclrtDeviceGetByPCIBusId(text, NULL), 100000);
    EXPECT_FAILS(aclrtDeviceGetByPCIBusId("0000:FE:1F.7", &device));
    EXPECT_FAILS(aclrtDeviceGetByPCIBusId("here", &device));
}

static void check_links(void)
{
    uint64_t link = 0, back = 0;
    EXPECT_CODE(aclrtGetDevicesTopo(0, 1, NULL), 100000);
    EXPECT_CODE(aclrtGetDevicesTopo(0, 99, &link), 107001);
    EXPECT_SOFTACL_CODE(aclrtGetDevicesTopo(0, 0, &link), 107000);
    if (on_softacl() && family() == FAMILY_950) { /* no bit for its links */
        EXPECT_CODE(aclrtGetDevicesTopo(0, 1, &link), 207000);
        return;
    }
    REQUIRE_OK(aclrtGetDevicesTopo(0, 1, &link));
    EXPECT_OK(aclrtGetDevicesTopo(1, 0, &back));
    EXPECT_TRUE(link == back && link != 0 && (link & ~(uint64_t)0x7f) == 0, "%#llx and %#llx",
                (unsigned long long)link, (unsigned long long)back);
    if (on_softacl()) {
        uint64_t expected = family() == FAMILY_A3                                  ? ACL_RT_DEVS_TOPOLOGY_SIO
                            : family() == FAMILY_310P || family() == FAMILY_310B ? ACL_RT_DEVS_TOPOLOGY_PHB
                                                                                  : ACL_RT_DEVS_TOPOLOGY_HCCS;
        EXPECT_TRUE(link == expected, "%#llx", (unsigned long long)link);
    }
}

static void check_atomics(void)
{
    const aclrtAtomicOperation operations[3] = {ACL_RT_ATOMIC_OPERATION_INTEGER_ADD, ACL_RT_ATOMIC_OPERATION_CAS,
                                                ACL_RT_ATOMIC_OPERATION_DMA_ADD};
    const aclrtAtomicOperation unknown = (aclrtAtomicOperation)20;
    uint32_t bits[4] = {7, 7, 7, 7};
    EXPECT_CODE(aclrtDeviceGetHostAtomicCapabilities(NULL, operations, 3, 0), 100000);
    EXPECT_CODE(aclrtDeviceGetHostAtomicCapabilities(bits, NULL, 3, 0), 100000);
    EXPECT_FAILS(aclrtDeviceGetHostAtomicCapabilities(bits, operations, 0, 0));
    EXPECT_FAILS(aclrtDeviceGetHostAtomicCapabilities(bits, &unknown, 1, 0));
    EXPECT_CODE(aclrtDeviceGetHostAtomicCapabilities(bits, operations, 3, 99), 107001);
    EXPECT_OK(aclrtDeviceGetHostAtomicCapabilities(bits, operations, 3, 0));
    EXPECT_TRUE(bits[3] == 7, "%u results for 3 operations", bits[3]);
    if (on_softacl()) { /* a device without kernels */
        EXPECT_TRUE(bits[0] == 0 && bits[1] == 0 && bits[2] == 0, "%u %u %u", bits[0], bits[1], bits[2]);
    }
    bits[0] = bits[1] = bits[2] = 7;
    EXPECT_CODE(aclrtDeviceGetP2PAtomicCapabilities(bits, operations, 3, 0, 99), 107001);
    EXPECT_FAILS(aclrtDeviceGetP2PAtomicCapabilities(bits, operations, 3, 0, 0));
    EXPECT_OK(aclrtDeviceGetP2PAtomicCapabilities(bits, operations, 3, 0, 1));
    if (on_softacl()) {
        EXPECT_TRUE(bits[0] == 0 && bits[1] == 0 && bits[2] == 0, "%u %u %u", bits[0], bits[1], bits[2]);
    }
}

static void check_features(void)
{
    static const aclrtDevFeatureType features[] = {ACL_FEATURE_TSCPU_TASK_UPDATE_SUPPORT_AIC_AIV,
                                                   ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV};
    for (size_t i = 0; i < 2; i++) {
        int32_t value = 7;
        EXPECT_OK(aclrtGetDeviceCapability(0, features[i], &value));
        EXPECT_TRUE(value == ACL_DEV_FEATURE_NOT_SUPPORT || (!on_softacl() && value == ACL_DEV_FEATURE_SUPPORT), "%d",
                    value);
    }
    int32_t value = 7;
    EXPECT_CODE(aclrtGetDeviceCapability(0, features[0], NULL), 100000);
    EXPECT_CODE(aclrtGetDeviceCapability(99, features[0], &value), 107001);
    EXPECT_FAILS(aclrtGetDeviceCapability(0, (aclrtDevFeatureType)99, &value));
    EXPECT_OK(aclrtSetTsDevice(ACL_TS_ID_AICORE));
    EXPECT_FAILS(aclrtSetTsDevice((aclrtTsId)7));
}

static void check_compatibility(void)
{
    int32_t compatible = 7;
    EXPECT_CODE(aclrtCheckArchCompatibility(NULL, &compatible), 100000);
    EXPECT_CODE(aclrtCheckArchCompatibility("Ascend910B1", NULL), 100000);
    EXPECT_OK(aclrtCheckArchCompatibility(aclrtGetSocName(), &compatible));
    EXPECT_TRUE(compatible == 1, "%d for the chip itself", compatible);
    EXPECT_OK(aclrtCheckArchCompatibility(family() == FAMILY_310P ? "Ascend910B1" : "Ascend310P3", &compatible));
    EXPECT_TRUE(compatible == 0, "%d for another chip", compatible);
    if (family() == FAMILY_A2) {
        EXPECT_OK(aclrtCheckArchCompatibility("Ascend910B4", &compatible));
        EXPECT_TRUE(compatible == 1, "%d for a chip of the family", compatible);
    }
}

static void check_limits(void)
{
    size_t value = 7;
    if (!family_has_batches()) {
        EXPECT_CODE(aclrtDeviceSetLimit(ACL_RT_DEV_LIMIT_SIMT_STACK_SIZE, 1), 207000);
        EXPECT_CODE(aclrtDeviceGetLimit(ACL_RT_DEV_LIMIT_SIMT_STACK_SIZE, &value), 207000);
        return;
    }
    EXPECT_CODE(aclrtDeviceGetLimit(ACL_RT_DEV_LIMIT_SIMT_STACK_SIZE, NULL), 100000);
    EXPECT_FAILS(aclrtDeviceGetLimit((aclrtDeviceLimit)5, &value));
    EXPECT_FAILS(aclrtDeviceSetLimit((aclrtDeviceLimit)-1, 1024));
    EXPECT_SOFTACL_CODE(aclrtDeviceGetLimit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE, &value), 207000); /* unknown default */
    EXPECT_OK(aclrtDeviceSetLimit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE, 32768));
    EXPECT_OK(aclrtDeviceGetLimit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE, &value));
    EXPECT_TRUE(value == 32768, "%zu", value);
}

int main(void)
{
    EXPECT_CODE(aclrtSetTsDevice(ACL_TS_ID_AICORE), 107002);
    REQUIRE_OK(aclrtSetDevice(0));
    check_pci();
    check_links();
    check_atomics();
    check_features();
    check_compatibility();
    check_limits();
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
