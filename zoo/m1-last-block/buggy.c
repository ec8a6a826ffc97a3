/*
 * Uploads seven and a half blocks of tokens, block by block.
 *
 * buggy.c copies a whole block at the end and reads past the end of the buffer. A card may do that
 * silently; softacl refuses the copy.
 * fixed.c copies only the rest of the buffer.
 */
#include "../zoo.h"

#define BLOCK_WORDS 1024
#define BLOCK (BLOCK_WORDS * sizeof(uint32_t))
#define WORDS (7 * BLOCK_WORDS + BLOCK_WORDS / 2)
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    char *tokens, *device;
    aclrtStream stream;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMallocHost((void **)&tokens, SIZE));
    OK(aclrtMalloc((void **)&device, 8 * BLOCK, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(device, 8 * BLOCK, 0, 8 * BLOCK));
    fill(tokens, WORDS, 2);

    for (size_t at = 0; at < SIZE; at += BLOCK) {
        size_t count = BLOCK;
        logged("aclrtMemcpyAsync", aclrtMemcpyAsync(device + at, 8 * BLOCK - at, tokens + at, count,
                                                    ACL_MEMCPY_HOST_TO_DEVICE, stream));
    }
    OK(aclrtSynchronizeStream(stream));

    size_t wrong = wrong_on_device(device, WORDS, 2);
    OK(aclrtFree(device));
    OK(aclrtFreeHost(tokens));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, WORDS, "tokens");
}
