/*
 * A caching allocator gives a block to one stream and, when that has freed it, to another one.
 *
 * buggy.c does not let the second stream wait for the first, which may still use the block.
 * fixed.c records an event at the free and waits for it before the block is allocated again.
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
    OK(softaclAnnotateRead(first, block, SIZE)); /* a kernel */
    OK(softaclAnnotateFree(block, SIZE, first));
    OK(aclrtRecordEvent(freed, first));
    OK(aclrtStreamWaitEvent(second, freed));
    OK(softaclAnnotateAlloc(block, SIZE, second));
    OK(aclrtMemcpyAsync(block, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, second));
    OK(aclrtMemcpyAsync(result, SIZE, block, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, second));
    OK(softaclAnnotateFree(block, SIZE, second));
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
