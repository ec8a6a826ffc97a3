// soc: all
// schedules: all
// expects: C2 S2
/* Host registration turns pageable memory into pinned memory
 * on A2, A3 and 950, and is refused on the other products. */
#include "../expect.h"

#define PAGE 4096
#define SIZE (4 * PAGE)

static struct gate gate = GATE_INITIALIZER;
static uint8_t *memory;

static void check_arguments(void)
{
    void *mapped = NULL;
    EXPECT_CODE(aclrtHostRegister(NULL, SIZE, ACL_HOST_REGISTER_MAPPED, &mapped), 100000); /* 1.13 HostRegister */
    EXPECT_CODE(aclrtHostRegister(memory, 0, ACL_HOST_REGISTER_MAPPED, &mapped), 100000);
    EXPECT_CODE(aclrtHostRegister(memory, SIZE, ACL_HOST_REGISTER_MAPPED, NULL), 100000);
    EXPECT_CODE(aclrtHostRegister(memory, SIZE, (aclrtHostRegisterType)1, &mapped), 207000);
    EXPECT_CODE(aclrtHostRegister(memory, SIZE, (aclrtHostRegisterType)0x10, &mapped), 207000);
    /* Reserved types (corrections, rule 10) */
    EXPECT_CODE(aclrtHostRegister(memory, SIZE, ACL_HOST_REGISTER_IOMEMORY, &mapped), 207000);
    EXPECT_CODE(aclrtHostRegister(memory, SIZE, ACL_HOST_REGISTER_READONLY, &mapped), 207000);
    EXPECT_CODE(aclrtHostRegisterV2(NULL, SIZE, ACL_HOST_REG_MAPPED), 100000);             /* 1.13 HostRegisterV2 */
    EXPECT_CODE(aclrtHostRegisterV2(memory, 0, ACL_HOST_REG_MAPPED), 100000);
    EXPECT_CODE(aclrtHostUnregister(NULL), 100000);                   /* 1.13 HostUnregister */
    EXPECT_CODE(aclrtHostGetDevicePointer(NULL, &mapped, 0), 100000); /* 1.13 HostGetDevicePointer */
    EXPECT_CODE(aclrtHostGetDevicePointer(memory, NULL, 0), 100000);
    EXPECT_CODE(aclrtHostGetDevicePointer(memory, &mapped, 1), 100000);

    aclrtHostMemMapCapability capability;
    EXPECT_CODE(aclrtHostMemMapCapabilities(0, ACL_RT_HAC_TYPE_SDMA, NULL), 100000); /* 1.13 HostMemMapCapabilities */
    EXPECT_FAILS(aclrtHostMemMapCapabilities(63, ACL_RT_HAC_TYPE_SDMA, &capability));
    EXPECT_EITHER(aclrtHostMemMapCapabilities(0, (aclrtHacType)10, &capability), 107000, 207000);
    EXPECT_EITHER(aclrtHostMemMapCapabilities(0, ACL_RT_HAC_TYPE_SDMA, &capability), 0, 207000);
}

static void *without_context(void *unused)
{
    (void)unused;
    void *mapped = NULL;
    /* 1.13 HostRegister, no context */
    EXPECT_CODE(aclrtHostRegister(memory, SIZE, ACL_HOST_REGISTER_MAPPED, &mapped), 107002);
    return NULL;
}

static aclrtMemLocationType type_of(const void *pointer)
{
    aclrtPtrAttributes attributes;
    REQUIRE_OK(aclrtPointerGetAttributes(pointer, &attributes));
    return attributes.location.type;
}

static void check_supported(void)
{
    void *mapped = NULL;
    in_new_thread(without_context, NULL);
    EXPECT_CODE(aclrtHostRegisterV2(memory, SIZE, 0), 107000);
    EXPECT_CODE(aclrtHostRegisterV2(memory, SIZE, 0x1), 107000);
    EXPECT_CODE(aclrtHostRegisterV2(memory, SIZE, ACL_HOST_REG_MAPPED | 0x100), 107000);
    EXPECT_CODE(aclrtHostUnregister(memory), 507911);
    EXPECT_CODE(aclrtHostGetDevicePointer(memory, &mapped, 0), 107000);

    /* Corrections, rule 10: an address inside a page; reserved flags; memory that is pinned already. */
    EXPECT_SOFTACL_CODE(aclrtHostRegister(memory + 1, PAGE, ACL_HOST_REGISTER_MAPPED, &mapped), 107000);
    EXPECT_SOFTACL_CODE(aclrtHostRegisterV2(memory + 64, PAGE, ACL_HOST_REG_MAPPED), 107000);
    EXPECT_SOFTACL_CODE(aclrtHostRegisterV2(memory + PAGE - 1, 1, ACL_HOST_REG_PINNED), 107000);
    EXPECT_SOFTACL_CODE(aclrtHostRegisterV2(memory, SIZE, ACL_HOST_REG_IOMEMORY), 207000);
    EXPECT_SOFTACL_CODE(aclrtHostRegisterV2(memory, SIZE, ACL_HOST_REG_MAPPED | ACL_HOST_REG_READONLY), 207000);
    EXPECT_TRUE(type_of(memory) == ACL_MEM_LOCATION_TYPE_UNREGISTERED, "a refused call registered the memory");
    void *pinned = pinned_memory(PAGE);
    EXPECT_SOFTACL_CODE(aclrtHostRegisterV2(pinned, PAGE, ACL_HOST_REG_PINNED), 507910);
    EXPECT_SOFTACL_CODE(aclrtHostRegisterV2(pinned, PAGE, ACL_HOST_REG_MAPPED | ACL_HOST_REG_PINNED), 507910);
    EXPECT_OK(aclrtHostRegisterV2(pinned, PAGE, ACL_HOST_REG_MAPPED)); /* pinned memory can be mapped */
    EXPECT_OK(aclrtHostGetDevicePointer(pinned, &mapped, 0));
    EXPECT_OK(aclrtHostUnregister(pinned));
    EXPECT_OK(aclrtFreeHost(pinned));

    EXPECT_OK(aclrtHostRegister(memory, SIZE, ACL_HOST_REGISTER_MAPPED, &mapped));
    EXPECT_TRUE(mapped != NULL, "no device address");
    EXPECT_CODE(aclrtHostRegister(memory, SIZE, ACL_HOST_REGISTER_MAPPED, &mapped), 507910);
    EXPECT_CODE(aclrtHostRegisterV2(memory, SIZE, ACL_HOST_REG_MAPPED), 507910);
    EXPECT_CODE(aclrtHostRegisterV2(memory + PAGE, PAGE, ACL_HOST_REG_MAPPED), 507910); /* an overlapping range */
    EXPECT_TRUE(type_of(memory) == ACL_MEM_LOCATION_TYPE_HOST
                && type_of(memory + SIZE - 1) == ACL_MEM_LOCATION_TYPE_HOST, "not pinned");
    EXPECT_TRUE(type_of(memory + SIZE) == ACL_MEM_LOCATION_TYPE_UNREGISTERED,
                "the byte after the range is registered");

    /* Registered memory is class H: copies to and from it are asynchronous. */
    aclrtStream stream = new_stream();
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    fill_pattern(memory, SIZE, 1);
    gate_close(&gate, stream);
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, memory, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_DEVICE_VALUE(device, SIZE, 0);
    EXPECT_CODE(aclrtMemcpyAsync(memory, PAGE, memory + PAGE, PAGE, ACL_MEMCPY_HOST_TO_HOST, stream), 207000);
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(device, SIZE, 1);

    EXPECT_OK(aclrtHostUnregister(memory));
    EXPECT_CODE(aclrtHostUnregister(memory), 507911);
    EXPECT_TRUE(type_of(memory) == ACL_MEM_LOCATION_TYPE_UNREGISTERED, "still registered");
    EXPECT_PATTERN(memory, SIZE, 1);

    EXPECT_OK(aclrtHostRegisterV2(memory, SIZE, ACL_HOST_REG_MAPPED | ACL_HOST_REG_PINNED));
    EXPECT_OK(aclrtHostGetDevicePointer(memory, &mapped, 0));
    EXPECT_TRUE(mapped != NULL, "no device address");
    EXPECT_TRUE(type_of(memory) == ACL_MEM_LOCATION_TYPE_HOST, "not pinned");
    EXPECT_OK(aclrtHostUnregister(memory));
    EXPECT_OK(aclrtHostRegisterV2(memory, SIZE, ACL_HOST_REG_PINNED));
    EXPECT_CODE(aclrtHostGetDevicePointer(memory, &mapped, 0), 107000); /* pinned, but not mapped */
    EXPECT_OK(aclrtHostUnregister(memory));

    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
}

int main(void)
{
    uint8_t *block = (uint8_t *)pageable_memory(SIZE + 2 * PAGE);
    memory = block + (PAGE - (uintptr_t)block % PAGE); /* page-aligned, with at least one byte after SIZE */
    REQUIRE_OK(aclrtSetDevice(0));
    check_arguments();
    if (family_has_batches()) {
        check_supported();
    } else {
        void *mapped = NULL;
        /* 1.13: not on this product */
        EXPECT_CODE(aclrtHostRegister(memory, SIZE, ACL_HOST_REGISTER_MAPPED, &mapped), 207000);
        EXPECT_CODE(aclrtHostRegisterV2(memory, SIZE, ACL_HOST_REG_MAPPED), 207000);
        EXPECT_CODE(aclrtHostUnregister(memory), 207000);
        EXPECT_CODE(aclrtHostGetDevicePointer(memory, &mapped, 0), 207000);
        EXPECT_TRUE(type_of(memory) == ACL_MEM_LOCATION_TYPE_UNREGISTERED, "the memory was registered");
    }
    free(block);
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
