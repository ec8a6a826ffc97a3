/*
 * Offloads a block asynchronously and zeroes it when it returns to the free list.
 *
 * buggy.c zeroes the block with the blocking call, which does not wait for any stream: the offload
 * may save zeros.
 * fixed.c zeroes the block on the stream of the offload.
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
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(block, SIZE, 0x66, SIZE));
    OK(aclrtMallocHost((void **)&saved, SIZE));

    OK(aclrtMemcpyAsync(saved, SIZE, block, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    OK(aclrtMemset(block, SIZE, 0, SIZE));
    OK(aclrtSynchronizeStream(stream));

    size_t wrong = wrong_words(saved, WORDS, 0x66666666);
    OK(aclrtFree(block));
    OK(aclrtFreeHost(saved));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, WORDS, "words of the saved block");
}
