/*
 * Offloads the last block and shuts down.
 *
 * buggy.c destroys the stream by force so that the shutdown cannot hang. Copies that have not run
 * are dropped, and with them the blocks that they should save.
 * fixed.c synchronizes the stream first.
 */
#include "../zoo.h"

#define WORDS 4096
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    uint32_t *saved;
    void *block;
    aclrtStream stream;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMallocHost((void **)&saved, SIZE));
    fill(saved, WORDS, 0);
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(block, SIZE, 0x11, SIZE));

    OK(aclrtMemcpyAsync(saved, SIZE, block, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtDestroyStreamForce(stream));

    size_t wrong = wrong_words(saved, WORDS, 0x11111111);
    OK(aclrtFree(block));
    OK(aclrtFreeHost(saved));
    end();
    return verdict(wrong, WORDS, "saved words");
}
