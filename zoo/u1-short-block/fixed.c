/*
 * Saves a block that is half filled. The rest should be padding.
 *
 * buggy.c offloads the whole block although half of it was never written, and saves whatever the
 * memory held.
 * fixed.c fills the block with padding first.
 */
#include "../zoo.h"

#define WORDS 2048
#define SIZE (WORDS * sizeof(uint32_t))
#define PADDING 0xffffffffu

int main(void)
{
    uint32_t *host, *saved;
    void *block;
    aclrtStream stream;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMallocHost((void **)&host, SIZE / 2));
    OK(aclrtMallocHost((void **)&saved, SIZE));
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    fill(host, WORDS / 2, 3);

    OK(aclrtMemsetAsync(block, SIZE, 0xff, SIZE, stream)); /* new memory is not zeroed */
    OK(aclrtMemcpyAsync(block, SIZE, host, SIZE / 2, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    OK(aclrtMemcpyAsync(saved, SIZE, block, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    OK(aclrtSynchronizeStream(stream));

    size_t wrong = wrong_words(saved, WORDS / 2, 3) + wrong_words(saved + WORDS / 2, WORDS / 2, PADDING);
    OK(aclrtFree(block));
    OK(aclrtFreeHost(saved));
    OK(aclrtFreeHost(host));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, WORDS, "words");
}
