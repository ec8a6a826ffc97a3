// soc: Ascend910B
// softacl-only
// sanitize: none (memory is replaced while it is in use)
// valgrind: none (memory is replaced while it is in use)
// must-find: H2
// expects: L4
/* Registered memory that is moved (mremap) or replaced (mmap with MAP_FIXED) while a copy uses it. The copies must end. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../expect.h"
#include <sys/mman.h>

#define SIZE 65536

static aclrtStream stream;
static uint8_t *device;

/* Maps and registers memory and queues a copy from it. */
static void *in_flight(void)
{
    void *view, *mapped = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE_TRUE(mapped != MAP_FAILED, "mmap");
    memset(mapped, 1, SIZE);
    REQUIRE_OK(aclrtHostRegister(mapped, SIZE, ACL_HOST_REGISTER_MAPPED, &view));
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, mapped, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    return mapped;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    stream = new_stream();
    device = (uint8_t *)device_memory(SIZE);
    void *moved = in_flight();
    void *now = mremap(moved, SIZE, 16 * SIZE, MREMAP_MAYMOVE); /* H2 */
    EXPECT_TRUE(now != MAP_FAILED, "mremap");
    (void)aclrtSynchronizeStream(stream);
    (void)aclrtHostUnregister(moved);

    void *replaced = in_flight();
    void *fixed = mmap(replaced, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0); /* H2 */
    EXPECT_TRUE(fixed == replaced, "mmap");
    (void)aclrtSynchronizeStream(stream);
    (void)aclrtHostUnregister(replaced);

    EXPECT_TRUE(munmap(now, 16 * SIZE) == 0 && munmap(fixed, SIZE) == 0, "munmap");
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
