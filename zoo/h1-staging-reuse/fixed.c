/* Token ids of two batches go to the device through one pinned staging array. */
#include "../zoo.h"

#define TOKENS 4096
#define SIZE (TOKENS * sizeof(uint32_t))

int main(void)
{
    uint32_t *staging;
    void *batch[2];
    aclrtStream stream;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMallocHost((void **)&staging, SIZE));
    for (int b = 0; b < 2; b++) {
        OK(aclrtMalloc(&batch[b], SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    }

    for (int b = 0; b < 2; b++) {
        fill(staging, TOKENS, 100 + b);
        OK(aclrtMemcpyAsync(batch[b], SIZE, staging, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        OK(aclrtSynchronizeStream(stream)); /* now the array is free again */
    }

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
