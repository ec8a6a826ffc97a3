// soc: all
// sanitize: address (the thread sanitizer does not know the reserved addresses)
// expects: M1
/* Managed memory (A2): host and device use the same address; copies take it as either side. */
#include "../expect.h"

#define SIZE (3u << 20)

static struct gate gate = GATE_INITIALIZER;

static uint8_t *managed_memory(size_t size)
{
    void *memory = NULL;
    REQUIRE_OK(aclrtMemAllocManaged(&memory, size, ACL_RT_MEM_ATTACH_GLOBAL));
    REQUIRE_TRUE(memory != NULL, "no address");
    return (uint8_t *)memory;
}

static void check_arguments(void)
{
    void *memory = NULL;
    EXPECT_CODE(aclrtMemAllocManaged(NULL, SIZE, ACL_RT_MEM_ATTACH_GLOBAL), 100000);
    EXPECT_FAILS(aclrtMemAllocManaged(&memory, 0, ACL_RT_MEM_ATTACH_GLOBAL));
    EXPECT_FAILS(aclrtMemAllocManaged(&memory, SIZE, 0));
    EXPECT_CODE(aclrtMemAllocManaged(&memory, (uint64_t)1 << 60, ACL_RT_MEM_ATTACH_GLOBAL), 207001);
    EXPECT_TRUE(memory == NULL, "a refused call has written");
}

static void check_copies(aclrtStream stream)
{
    uint8_t *managed = managed_memory(SIZE), *device = (uint8_t *)device_memory(SIZE);
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE), *pageable = (uint8_t *)pageable_memory(SIZE);

    /* written by the host, copied by the device */
    fill_pattern(managed, SIZE, 1);
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, managed, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    EXPECT_OK(aclrtMemcpyAsync(pinned, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(verify_pattern(pinned, SIZE, 1) == SIZE, "the device did not see what the host wrote");

    /* written by the device, read by the host */
    fill_pattern(pinned, SIZE, 2);
    EXPECT_OK(aclrtMemcpyAsync(managed, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(verify_pattern(managed, SIZE, 2) == SIZE, "the host does not see what the device wrote");
    EXPECT_OK(aclrtMemsetAsync(managed, SIZE, 0x5a, SIZE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(verify_value(managed, SIZE, 0x5a) == SIZE, "memset");

    /* in stream order: the copy sees what the host writes before the gate opens */
    gate_close(&gate, stream);
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, managed, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    fill_pattern(managed, SIZE, 3);
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtMemcpy(pageable, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_TRUE(verify_pattern(pageable, SIZE, 3) == SIZE, "the copy ran early");

    /* blocking, with either declaration */
    fill_pattern(pageable, SIZE, 4);
    EXPECT_OK(aclrtMemcpy(managed, SIZE, pageable, SIZE, ACL_MEMCPY_HOST_TO_DEVICE));
    EXPECT_TRUE(verify_pattern(managed, SIZE, 4) == SIZE, "to managed memory");
    memset(pageable, 0, SIZE);
    EXPECT_OK(aclrtMemcpy(pageable, SIZE, managed, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_TRUE(verify_pattern(pageable, SIZE, 4) == SIZE, "from managed memory");
    EXPECT_OK(aclrtMemcpy(device, SIZE, managed, SIZE, ACL_MEMCPY_HOST_TO_DEVICE));
    EXPECT_CODE(aclrtMemcpy(managed + 1, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE), 107000); /* one too far */

    EXPECT_OK(aclrtFree(managed));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    free(pageable);
}

static void check_life(void)
{
    aclrtPtrAttributes attributes;
    size_t before = 0, after = 0, total = 0;
    EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &before, &total));
    uint8_t *managed = managed_memory(SIZE);
    EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &after, &total));
    EXPECT_TRUE(before - after >= SIZE, "%zu bytes less", before - after);
    EXPECT_OK(aclrtPointerGetAttributes(managed + 5, &attributes));
    EXPECT_TRUE(attributes.location.type == ACL_MEM_LOCATION_TYPE_MANAGED && attributes.location.id == 0, "%d %u",
                attributes.location.type, attributes.location.id);
    EXPECT_CODE(aclrtFree(managed + 4096), 107000);
    EXPECT_OK(aclrtFree(managed));
    EXPECT_CODE(aclrtFree(managed), 107000);
    EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &after, &total));
    EXPECT_TRUE(before == after, "%zu bytes lost", before - after);

    managed_memory(SIZE); /* ends with the device */
    EXPECT_OK(aclrtResetDevice(0));
    REQUIRE_OK(aclrtSetDevice(0));
    EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &after, &total));
    EXPECT_TRUE(before == after, "%zu bytes lost", before - after);
}

int main(void)
{
    void *memory = NULL;
    REQUIRE_OK(aclrtSetDevice(0));
    if (family() != FAMILY_A2) {
        EXPECT_CODE(aclrtMemAllocManaged(&memory, SIZE, ACL_RT_MEM_ATTACH_GLOBAL), 207000);
        EXPECT_OK(aclrtResetDevice(0));
        return finish();
    }
    check_arguments();
    aclrtStream stream = new_stream();
    check_copies(stream);
    EXPECT_OK(aclrtDestroyStream(stream));
    check_life();
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
