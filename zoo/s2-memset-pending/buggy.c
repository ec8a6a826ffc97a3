/* A block is offloaded asynchronously, then scrubbed for the next user. */
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
