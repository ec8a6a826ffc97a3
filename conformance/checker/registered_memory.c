// soc: Ascend910B
// softacl-only
// sanitize: none (a sanitizer has its own allocator)
// must-find: H1 H3
/* Accesses to registered memory in flight are detected like those to pinned memory. */
#include "../expect.h"
#include <sys/mman.h>

#define SIZE 65536

static void *registered(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *device;
    REQUIRE_TRUE(memory != MAP_FAILED, "mmap");
    REQUIRE_OK(aclrtHostRegister(memory, size, ACL_HOST_REGISTER_MAPPED, &device));
    return memory;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    volatile uint8_t *from = (volatile uint8_t *)registered(SIZE), *to = (volatile uint8_t *)registered(SIZE);
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    EXPECT_OK(aclrtMemset(device, SIZE, 1, SIZE));
    EXPECT_OK(aclrtMemcpyAsync((void *)to, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    (void)to[SIZE / 2]; /* H3 */
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, (void *)from, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    from[SIZE / 2] = 9; /* H1 */
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(to[SIZE / 2] == 1 && to[0] == 1 && to[SIZE - 1] == 1, "wrong bytes");
    EXPECT_DEVICE_VALUE(device, SIZE / 2, 0);
    EXPECT_OK(aclrtHostUnregister((void *)from));
    EXPECT_OK(aclrtHostUnregister((void *)to));
    EXPECT_TRUE(munmap((void *)from, SIZE) == 0 && munmap((void *)to, SIZE) == 0, "munmap");
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
