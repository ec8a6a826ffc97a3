/*
 * Waits for an event in each step.
 *
 * buggy.c creates an event per step and destroys none of them. A chip has a limited number of
 * events, and a long run reaches the limit long after the line was written.
 * fixed.c destroys the event at the end of the step, and finalizes the runtime.
 */
#include "../zoo.h"

#define STEPS 8
#define WORDS 1024
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    uint32_t *host;
    void *block;
    aclrtStream stream;
    size_t wrong = 0;
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    OK(aclrtCreateStream(&stream));
    OK(aclrtMallocHost((void **)&host, SIZE));
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));

    for (int step = 0; step < STEPS; step++) {
        aclrtEvent done;
        OK(aclrtCreateEventExWithFlag(&done, ACL_EVENT_SYNC));
        OK(aclrtMemsetAsync(block, SIZE, step, SIZE, stream));
        OK(aclrtMemcpyAsync(host, SIZE, block, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
        OK(aclrtRecordEvent(done, stream));
        OK(aclrtSynchronizeEvent(done));
        wrong += wrong_words(host, WORDS, step * 0x01010101u);
    }

    OK(aclrtFree(block));
    OK(aclrtFreeHost(host));
    OK(aclrtDestroyStream(stream));
    return verdict(wrong, STEPS * WORDS, "words");
}
