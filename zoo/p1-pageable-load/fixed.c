/* A block is loaded behind the work of a stream, from memory that the device cannot reach. */
#include "../zoo.h"

#define WORDS (64 * 1024)
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    void *pool, *block;
    aclrtStream stream;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMallocHost(&pool, SIZE));
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    fill(pool, WORDS, 9);

    OK(aclrtMemsetAsync(block, SIZE, 0, SIZE, stream));
    OK(aclrtMemcpyAsync(block, SIZE, pool, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    OK(aclrtSynchronizeStream(stream));

    size_t wrong = wrong_on_device(block, WORDS, 9);
    OK(aclrtFree(block));
    OK(aclrtFreeHost(pool));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, WORDS, "words");
}
