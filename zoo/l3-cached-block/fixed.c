/*
 * A caching allocator, which keeps its memory, declares who owns a block. A request loads its block
 * and saves it.
 *
 * buggy.c gives the block back before it is saved.
 * fixed.c saves it first.
 */
#include "../zoo.h"
#include "softacl/annotate.h"

#define WORDS 4096
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    uint32_t *source, *result;
    void *block;
    aclrtStream first, second;
    aclrtEvent freed;
    begin();
    OK(aclrtCreateStream(&first));
    OK(aclrtCreateStream(&second));
    OK(aclrtCreateEventExWithFlag(&freed, ACL_EVENT_SYNC));
    OK(aclrtMallocHost((void **)&source, SIZE));
    OK(aclrtMallocHost((void **)&result, SIZE));
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(block, SIZE, 0, SIZE));
    fill(source, WORDS, 9);

    OK(softaclAnnotateAlloc(block, SIZE, first));
    OK(aclrtMemcpyAsync(block, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, first));
    OK(aclrtMemcpyAsync(result, SIZE, block, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, first));
    OK(softaclAnnotateFree(block, SIZE, first));
    OK(aclrtSynchronizeStream(first));
    OK(aclrtSynchronizeStream(second));

    size_t wrong = wrong_words(result, WORDS, 9);
    OK(aclrtFree(block));
    OK(aclrtFreeHost(result));
    OK(aclrtFreeHost(source));
    OK(aclrtDestroyEvent(freed));
    OK(aclrtDestroyStream(second));
    OK(aclrtDestroyStream(first));
    end();
    return verdict(wrong, WORDS, "words");
}
