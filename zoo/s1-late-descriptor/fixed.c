/*
 * A stream copies by a descriptor that the host sets later, behind a notify wait. Another stream downloads the result.
 *
 * buggy.c downloads without waiting for the copy.
 * fixed.c waits for an event that is recorded behind the copy.
 */
#include "../zoo.h"

#define WORDS 4096
#define SIZE (WORDS * sizeof(uint32_t))
#define KIND ACL_MEMCPY_INNER_DEVICE_TO_DEVICE

int main(void)
{
    uint32_t *source, *result;
    void *cache, *block, *descriptor;
    size_t size;
    aclrtStream copy, control, download;
    aclrtNotify decided;
    aclrtEvent copied;
    begin();
    OK(aclrtCreateStream(&copy));
    OK(aclrtCreateStream(&control));
    OK(aclrtCreateStream(&download));
    OK(aclrtCreateEventExWithFlag(&copied, ACL_EVENT_SYNC));
    OK(aclrtMallocHost((void **)&source, SIZE));
    OK(aclrtMallocHost((void **)&result, SIZE));
    OK(aclrtMalloc(&cache, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtGetMemcpyDescSize(KIND, &size));
    OK(aclrtMalloc(&descriptor, size, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtCreateNotify(&decided, 0));
    fill(source, WORDS, 9);
    OK(aclrtMemcpy(cache, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtMemset(block, SIZE, 0, SIZE));

    OK(aclrtWaitAndResetNotify(decided, copy, 0));
    OK(aclrtMemcpyAsyncWithDesc(descriptor, KIND, copy));
    OK(aclrtRecordEvent(copied, copy));
    OK(aclrtSetMemcpyDesc(descriptor, KIND, cache, block, SIZE, NULL));
    OK(aclrtRecordNotify(decided, control));
    OK(aclrtStreamWaitEvent(download, copied));
    OK(aclrtMemcpyAsync(result, SIZE, block, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, download));
    OK(aclrtSynchronizeStream(download));
    OK(aclrtSynchronizeStream(copy));
    OK(aclrtSynchronizeStream(control));

    size_t wrong = wrong_words(result, WORDS, 9);
    OK(aclrtDestroyNotify(decided));
    OK(aclrtDestroyEvent(copied));
    OK(aclrtFree(descriptor));
    OK(aclrtFree(block));
    OK(aclrtFree(cache));
    OK(aclrtFreeHost(result));
    OK(aclrtFreeHost(source));
    OK(aclrtDestroyStream(download));
    OK(aclrtDestroyStream(control));
    OK(aclrtDestroyStream(copy));
    end();
    return verdict(wrong, WORDS, "words");
}
