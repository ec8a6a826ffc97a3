/* Offloads a block of a cache into a registered host pool, and reads it for another request.
 * buggy.c reads the block when the copy is queued.
 * fixed.c waits for the copy. A pattern of offloading to host memory. */
#include "../zoo.h"
#include <sys/mman.h>

#define WORDS 4096
#define SIZE (WORDS * sizeof(uint32_t))
#define BLOCKS 16

int main(void)
{
    void *device, *view;
    aclrtStream stream;
    begin();
    OK(aclrtCreateStream(&stream));
    uint8_t *pool = mmap(NULL, BLOCKS * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pool == MAP_FAILED) {
        return 1;
    }
    OK(aclrtHostRegister(pool, BLOCKS * SIZE, ACL_HOST_REGISTER_MAPPED, &view));
    OK(aclrtMalloc(&device, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(device, SIZE, 7, SIZE));

    uint8_t *block = pool + 3 * SIZE;
    OK(aclrtMemcpyAsync(block, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    OK(aclrtSynchronizeStream(stream));
    size_t wrong = wrong_words(block, WORDS, 0x07070707);
    OK(aclrtSynchronizeStream(stream));

    OK(aclrtFree(device));
    OK(aclrtHostUnregister(pool));
    munmap(pool, BLOCKS * SIZE);
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, WORDS, "words");
}
