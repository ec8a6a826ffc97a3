/*
 * Downloads logits and waits for an event before it reads them.
 *
 * buggy.c records the event before the copy. The wait looks right in review but covers everything
 * except the download.
 * fixed.c records the event after the copy.
 */
#include "../zoo.h"

#define WORDS 2048
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    uint32_t *host;
    void *logits;
    aclrtStream stream;
    aclrtEvent done;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateEventExWithFlag(&done, ACL_EVENT_SYNC));
    OK(aclrtMalloc(&logits, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMallocHost((void **)&host, SIZE));
    fill(host, WORDS, 0);

    OK(aclrtMemsetAsync(logits, SIZE, 0x22, SIZE, stream)); /* stands for the model */
    OK(aclrtMemcpyAsync(host, SIZE, logits, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    OK(aclrtRecordEvent(done, stream));
    OK(aclrtSynchronizeEvent(done));
    size_t wrong = wrong_words(host, WORDS, 0x22222222);

    OK(aclrtSynchronizeStream(stream));
    OK(aclrtDestroyEvent(done));
    OK(aclrtFree(logits));
    OK(aclrtFreeHost(host));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, WORDS, "logits");
}
