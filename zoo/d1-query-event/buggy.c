/*
 * Polls an event until a block has arrived on the host.
 *
 * buggy.c calls the deprecated aclrtQueryEvent, where 0 means complete. In aclrtQueryEventStatus,
 * complete is 1, and half-ported code reads the status of one with the constants of the other.
 * fixed.c calls aclrtQueryEventStatus and uses its constants.
 */
#include "../zoo.h"

#define WORDS 1024
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    uint32_t *host;
    void *block;
    aclrtStream stream;
    aclrtEvent arrived;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateEvent(&arrived));
    OK(aclrtMallocHost((void **)&host, SIZE));
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(block, SIZE, 0x11, SIZE));

    OK(aclrtMemcpyAsync(host, SIZE, block, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    OK(aclrtRecordEvent(arrived, stream));
    aclrtEventStatus status = ACL_EVENT_STATUS_NOT_READY;
    while (status != ACL_EVENT_STATUS_COMPLETE) {
        OK(aclrtQueryEvent(arrived, &status));
    }

    size_t wrong = wrong_words(host, WORDS, 0x11111111);
    OK(aclrtFree(block));
    OK(aclrtFreeHost(host));
    OK(aclrtDestroyEvent(arrived));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, WORDS, "words");
}
