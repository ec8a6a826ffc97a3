/*
 * Evicts a block: offloads its contents to the host and frees its memory.
 *
 * buggy.c frees the block while the offload is queued. aclrtFree does not wait, and the next
 * allocation may get the same bytes.
 * fixed.c waits for the offload before it frees the block.
 */
#include "../zoo.h"

#define WORDS 8192
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    uint32_t *saved;
    void *block, *next;
    aclrtStream stream;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMallocHost((void **)&saved, SIZE));
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(block, SIZE, 0x11, SIZE));

    OK(aclrtMemcpyAsync(saved, SIZE, block, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    OK(aclrtFree(block));
    OK(aclrtMalloc(&next, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(next, SIZE, 0x22, SIZE));
    OK(aclrtSynchronizeStream(stream));

    size_t wrong = wrong_words(saved, WORDS, 0x11111111);
    OK(aclrtFree(next));
    OK(aclrtFreeHost(saved));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, WORDS, "words (softacl does not reuse the block yet; a card may)");
}
