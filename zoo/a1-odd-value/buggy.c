/*
 * A producer stream hands a block to a consumer stream with a flag in device memory. The flag stands
 * in a control block, after a header of 12 bytes.
 *
 * buggy.c packs the control block, so the flag is not aligned to 8 bytes. The documentation of
 * aclrtValueWrite requires that, and names no code for other addresses.
 * fixed.c pads the header to 16 bytes.
 */
#include "../zoo.h"

#define WORDS 4096
#define SIZE (WORDS * sizeof(uint32_t))
#define HEADER 12

int main(void)
{
    uint32_t *source, *result;
    char *control;
    void *block;
    aclrtStream producer, consumer;
    begin();
    OK(aclrtCreateStream(&producer));
    OK(aclrtCreateStream(&consumer));
    OK(aclrtMallocHost((void **)&source, SIZE));
    OK(aclrtMallocHost((void **)&result, SIZE));
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc((void **)&control, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(control, 64, 0, 64));
    fill(source, WORDS, 9);

    OK(aclrtMemcpyAsync(block, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, producer));
    OK(aclrtValueWrite(control + HEADER, 1, 0, producer));
    OK(aclrtValueWait(control + HEADER, 1, ACL_STREAM_WAIT_VALUE_GEQ, consumer));
    OK(aclrtMemcpyAsync(result, SIZE, block, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, consumer));
    OK(aclrtSynchronizeStream(consumer));
    OK(aclrtSynchronizeStream(producer));

    size_t wrong = wrong_words(result, WORDS, 9);
    OK(aclrtFree(control));
    OK(aclrtFree(block));
    OK(aclrtFreeHost(result));
    OK(aclrtFreeHost(source));
    OK(aclrtDestroyStream(consumer));
    OK(aclrtDestroyStream(producer));
    end();
    return verdict(wrong, WORDS, "words");
}
