// soc: all
// schedules: all
/* aclrtPointerGetAttributes classifies device, pinned and pageable
 * addresses; aclrtMemGetAddressRange returns the bounds of an allocation. */
#include "../expect.h"

#define SIZE 10000

static uint8_t *device, *pinned, *pageable;

static void expect_location(const void *pointer, aclrtMemLocationType type, int line)
{
    aclrtPtrAttributes attributes;
    memset(&attributes, 0xFF, sizeof attributes);
    expect_code(aclrtPointerGetAttributes(pointer, &attributes), 0, "aclrtPointerGetAttributes", __FILE__, line);
    expect_true(attributes.location.type == type, "type", __FILE__, line, "type %d, expected %d",
                (int)attributes.location.type, (int)type);
    if (type != ACL_MEM_LOCATION_TYPE_UNREGISTERED) { /* unregistered memory has no meaningful id */
        expect_true(attributes.location.id == 0, "id", __FILE__, line, "id %u", attributes.location.id);
        expect_true(attributes.pageSize >= 1024 && (attributes.pageSize & (attributes.pageSize - 1)) == 0, "page size",
                    __FILE__, line, "page size %u", attributes.pageSize);
    }
}

static void *check_attributes(void *unused)
{
    (void)unused;
    static uint8_t global;
    uint8_t local = 0;
    expect_location(device, ACL_MEM_LOCATION_TYPE_DEVICE, __LINE__);
    expect_location(device + 1, ACL_MEM_LOCATION_TYPE_DEVICE, __LINE__); /* 1.12: interior pointers work */
    expect_location(device + SIZE - 1, ACL_MEM_LOCATION_TYPE_DEVICE, __LINE__);
    expect_location(pinned, ACL_MEM_LOCATION_TYPE_HOST, __LINE__);
    expect_location(pinned + SIZE - 1, ACL_MEM_LOCATION_TYPE_HOST, __LINE__);
    expect_location(pageable, ACL_MEM_LOCATION_TYPE_UNREGISTERED, __LINE__);
    expect_location(&global, ACL_MEM_LOCATION_TYPE_UNREGISTERED, __LINE__);
    expect_location(&local, ACL_MEM_LOCATION_TYPE_UNREGISTERED, __LINE__);
    aclrtPtrAttributes attributes;
    EXPECT_CODE(aclrtPointerGetAttributes(NULL, &attributes), 100000); /* 1.12: null arguments */
    EXPECT_CODE(aclrtPointerGetAttributes(device, NULL), 100000);
    return NULL;
}

int main(void)
{
    EXPECT_TRUE(sizeof(aclrtPtrAttributes) == 28 && sizeof(aclrtMemLocation) == 8, "wrong layout");
    REQUIRE_OK(aclrtSetDevice(0));
    device = (uint8_t *)device_memory(SIZE);
    pinned = (uint8_t *)pinned_memory(SIZE);
    pageable = (uint8_t *)pageable_memory(SIZE);
    check_attributes(NULL);
    in_new_thread(check_attributes, NULL); /* 1.12: no context needed */

    uint32_t devices = 0;
    REQUIRE_OK(aclrtGetDeviceCount(&devices));
    if (devices > 1) {
        REQUIRE_OK(aclrtSetDevice(1));
        void *remote = device_memory(SIZE);
        REQUIRE_OK(aclrtSetDevice(0));
        aclrtPtrAttributes attributes;
        EXPECT_OK(aclrtPointerGetAttributes(remote, &attributes));
        EXPECT_TRUE(attributes.location.type == ACL_MEM_LOCATION_TYPE_DEVICE && attributes.location.id == 1, "id %u",
                    attributes.location.id);
        EXPECT_OK(aclrtFree(remote)); /* freed while another device is current */
        EXPECT_OK(aclrtResetDevice(1));
        EXPECT_OK(aclrtResetDevice(0));
    }
    void *base = NULL;
    size_t size = 0;
    EXPECT_OK(aclrtMemGetAddressRange(device + 5000, &base, &size));
    EXPECT_TRUE(base == device && size >= SIZE, "base %p size %zu", base, size);

    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    expect_location(pageable, ACL_MEM_LOCATION_TYPE_UNREGISTERED, __LINE__);
    free(pageable);
    REQUIRE_OK(aclrtResetDeviceForce(0));
    return finish();
}
