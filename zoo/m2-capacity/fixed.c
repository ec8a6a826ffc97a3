/*
 * Writes blocks one after another into a pool on the device.
 *
 * buggy.c passes the size of the whole pool as destMax at every offset. From the second block on,
 * the check permits more than the space that is left.
 * fixed.c passes the space that is left.
 */
#include "../zoo.h"

#define BLOCKS 4
#define WORDS 1024
#define BLOCK (WORDS * sizeof(uint32_t))
#define POOL (BLOCKS * BLOCK)

int main(void)
{
    char *host, *pool;
    aclrtStream stream;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMallocHost((void **)&host, POOL));
    OK(aclrtMalloc((void **)&pool, POOL, ACL_MEM_MALLOC_HUGE_FIRST));
    fill(host, BLOCKS * WORDS, 3);
    for (size_t at = 0; at < POOL; at += BLOCK) {
        size_t room = POOL - at;
        OK(aclrtMemcpyAsync(pool + at, room, host + at, BLOCK, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    }
    OK(aclrtSynchronizeStream(stream));

    size_t wrong = wrong_on_device(pool, BLOCKS * WORDS, 3);
    OK(aclrtFree(pool));
    OK(aclrtFreeHost(host));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, BLOCKS * WORDS, "words");
}
