/* An upload stands behind a notify until its staging array is filled. */
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

    /* Queued now, so that nothing but the ring stands between the data and the upload. */
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
