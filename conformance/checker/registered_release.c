// soc: Ascend910B
// softacl-only
// sanitize: none (memory is freed while it is in use)
// valgrind: none (memory is freed while it is in use)
// must-find: H2
// expects: L4
/* Registered memory that is freed or unmapped while a copy uses it. */
#include "../expect.h"
#include <sys/mman.h>

#define SIZE 65536

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    void *heap = aligned_alloc(4096, SIZE), *mapped, *view;
    REQUIRE_TRUE(heap != NULL, "aligned_alloc");
    memset(heap, 1, SIZE);
    REQUIRE_OK(aclrtHostRegister(heap, SIZE, ACL_HOST_REGISTER_MAPPED, &view));
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, heap, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    void *volatile registered = heap; /* hides from gcc that the memory is gone */
    free(heap); /* H2 */
    (void)aclrtSynchronizeStream(stream);
    mapped = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE_TRUE(mapped != MAP_FAILED, "mmap");
    REQUIRE_OK(aclrtHostRegister(mapped, SIZE, ACL_HOST_REGISTER_MAPPED, &view));
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, mapped, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_TRUE(munmap(mapped, SIZE) == 0, "munmap"); /* H2 */
    (void)aclrtSynchronizeStream(stream);
    (void)aclrtHostUnregister(registered);
    (void)aclrtHostUnregister(mapped);
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
