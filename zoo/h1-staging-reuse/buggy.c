/* Uploads the token ids of two batches through one pinned staging array.
 * buggy.c refills the array for the second batch while the upload of the first may still be queued.
 * fixed.c waits for each upload. Modeled on https://github.com/vllm-project/vllm-ascend/pull/16428. */
#include "../zoo.h"

#define TOKENS 4096
#define SIZE (TOKENS * sizeof(uint32_t))

int main(void)
{
    void *staging, *batch[2];
    aclrtStream stream;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMallocHost(&staging, SIZE));
    OK(aclrtMalloc(&batch[0], SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc(&batch[1], SIZE, ACL_MEM_MALLOC_HUGE_FIRST));

    for (int b = 0; b < 2; b++) {
        fill(staging, TOKENS, 100 + b);
        OK(aclrtMemcpyAsync(batch[b], SIZE, staging, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        /* Wrong: the array is still the source of a queued copy. */
    }
    OK(aclrtSynchronizeStream(stream));

    size_t wrong = 0;
    for (int b = 0; b < 2; b++) {
        wrong += wrong_on_device(batch[b], TOKENS, 100 + b);
        OK(aclrtFree(batch[b]));
    }
    OK(aclrtFreeHost(staging));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, 2 * TOKENS, "tokens");
}
