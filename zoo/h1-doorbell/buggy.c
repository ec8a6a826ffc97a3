/*
 * Queues an upload after a notify wait and fills its staging array. Recording the notify starts the
 * upload. Filling the array while the upload waits is correct.
 *
 * buggy.c records the notify before it fills the array, so the old contents may arrive on the
 * device.
 * fixed.c fills the array first.
 */
#include "../zoo.h"

#define TOKENS 4096
#define SIZE (TOKENS * sizeof(uint32_t))

int main(void)
{
    uint32_t *staging;
    void *batch;
    aclrtStream stream, ringer;
    aclrtNotify bell;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateStream(&ringer));
    OK(aclrtCreateNotify(&bell, 0));
    OK(aclrtMallocHost((void **)&staging, SIZE));
    OK(aclrtMalloc(&batch, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));

    /* Queued in advance: the upload can start as soon as the notify is recorded. */
    OK(aclrtWaitAndResetNotify(bell, stream, 0));
    OK(aclrtMemcpyAsync(batch, SIZE, staging, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    OK(aclrtRecordNotify(bell, ringer));
    fill(staging, TOKENS, 7);
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtSynchronizeStream(ringer));

    size_t wrong = wrong_on_device(batch, TOKENS, 7);
    OK(aclrtFree(batch));
    OK(aclrtFreeHost(staging));
    OK(aclrtDestroyNotify(bell));
    OK(aclrtDestroyStream(ringer));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, TOKENS, "tokens");
}
