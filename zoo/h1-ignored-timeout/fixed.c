/* Uploads two requests through one pinned staging buffer; the first upload is slow.
 * buggy.c reuses the buffer when the wait for the first upload times out.
 * fixed.c waits until the copy has really ended. A pattern of request timeouts. */
#include "../zoo.h"

#define WORDS 4096
#define SIZE (WORDS * sizeof(uint32_t))

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
        fill(staging, WORDS, 100 + b);
        OK(aclrtMemcpyAsync(batch[b], SIZE, staging, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        aclError code = aclrtSynchronizeStreamWithTimeout(stream, 20);
        if (code != ACL_SUCCESS) {
            OK(aclrtSynchronizeStream(stream));
        }
    }
    OK(aclrtSynchronizeStream(stream));

    size_t wrong = 0;
    for (int b = 0; b < 2; b++) {
        wrong += wrong_on_device(batch[b], WORDS, 100 + b);
        OK(aclrtFree(batch[b]));
    }
    OK(aclrtFreeHost(staging));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, 2 * WORDS, "words");
}
