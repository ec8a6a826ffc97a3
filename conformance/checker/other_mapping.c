// soc: Ascend910B
// softacl-only
// sanitize: none (a sanitizer has its own allocator)
// must-find: H1
// must-count: H3
/* Registered shared memory that is changed through its other mapping while a copy reads it. A destination in it cannot be
 * judged, and is counted. */
#include "../expect.h"
#include <sys/mman.h>

#define SIZE 16384

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    int file = memfd_create("weights", 0);
    REQUIRE_TRUE(file >= 0 && ftruncate(file, SIZE) == 0, "memfd");
    uint8_t *one = (uint8_t *)mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    uint8_t *other = (uint8_t *)mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    REQUIRE_TRUE(one != MAP_FAILED && other != MAP_FAILED, "mmap");
    memset(one, 1, SIZE);
    REQUIRE_OK(aclrtHostRegisterV2(one, SIZE, ACL_HOST_REG_PINNED));
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, one, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    memset(other + 100, 2, 50); /* H1 */
    EXPECT_OK(aclrtSynchronizeStream(stream));
    /* After the wait, both mappings belong to the program. */
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, one, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    memset(other, 3, SIZE);
    EXPECT_OK(aclrtMemcpyAsync(one, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(other[99] == 1, "byte 99 is %d", other[99]);
    EXPECT_OK(aclrtHostUnregister(one));
    EXPECT_TRUE(munmap(one, SIZE) == 0 && munmap(other, SIZE) == 0 && close(file) == 0, "munmap");
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
