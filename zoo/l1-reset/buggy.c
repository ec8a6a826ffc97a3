/*
 * A program saves a block and resets the device, which destroys the stream.
 *
 * buggy.c does not wait for the copy first, so the reset waits, and no call returns its result.
 * fixed.c waits first.
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
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(block, SIZE, 0x11, SIZE));

    OK(aclrtMemcpyAsync(saved, SIZE, block, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    OK(aclrtResetDevice(0));
    size_t wrong = wrong_words(saved, WORDS, 0x11111111);
    OK(aclrtFreeHost(saved));
    OK(aclFinalize());
    return verdict(wrong, WORDS, "words");
}
