/* A block leaves the device: its content goes to the host, its memory to the allocator. */
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
    return verdict(wrong, WORDS, "words (softacl does not reuse the block yet, a card may)");
}
