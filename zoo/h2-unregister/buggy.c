/*
 * Registers host memory for one upload.
 *
 * buggy.c unregisters the memory when the copy call returns, not when the copy has finished.
 * fixed.c waits for the copy before it unregisters the memory.
 */
#include "../zoo.h"

#define WORDS 4096
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    void *device, *region = aligned_alloc(4096, SIZE);
    aclrtStream stream;
    if (region == NULL) {
        return 1;
    }
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMalloc(&device, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    fill(region, WORDS, 7);

    OK(aclrtHostRegisterV2(region, SIZE, ACL_HOST_REG_PINNED));
    OK(aclrtMemcpyAsync(device, SIZE, region, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    OK(aclrtHostUnregister(region)); /* from here on the pages may move */
    OK(aclrtSynchronizeStream(stream));

    size_t wrong = wrong_on_device(device, WORDS, 7);
    OK(aclrtFree(device));
    OK(aclrtDestroyStream(stream));
    end();
    free(region);
    return verdict(wrong, WORDS, "words");
}
