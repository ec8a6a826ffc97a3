/*
 * Downloads small results of two requests into slots of one pinned page.
 *
 * buggy.c waits for the first result and reads both. Reading the first slot is correct, reading its
 * neighbor is not, and to the processor both are the same page.
 * fixed.c waits for the second result as well before it reads it.
 */
#include "../zoo.h"

#define WORDS 256
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    uint32_t *slots;
    char *results;
    aclrtStream stream;
    aclrtEvent arrived[2];
    size_t wrong = 0;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMalloc((void **)&results, 2 * SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(results, 2 * SIZE, 0x44, 2 * SIZE));
    OK(aclrtMallocHost((void **)&slots, 2 * SIZE));
    fill(slots, 2 * WORDS, 0);
    for (size_t r = 0; r < 2; r++) {
        OK(aclrtCreateEventExWithFlag(&arrived[r], ACL_EVENT_SYNC));
        OK(aclrtMemcpyAsync(slots + r * WORDS, (2 - r) * SIZE, results + r * SIZE, SIZE,
                            ACL_MEMCPY_DEVICE_TO_HOST, stream));
        OK(aclrtRecordEvent(arrived[r], stream));
    }

    OK(aclrtSynchronizeEvent(arrived[0]));
    wrong += wrong_words(slots, WORDS, 0x44444444); /* correct: this slot has arrived */
    OK(aclrtSynchronizeEvent(arrived[1]));
    wrong += wrong_words(slots + WORDS, WORDS, 0x44444444);

    OK(aclrtSynchronizeStream(stream));
    for (size_t r = 0; r < 2; r++) {
        OK(aclrtDestroyEvent(arrived[r]));
    }
    OK(aclrtFree(results));
    OK(aclrtFreeHost(slots));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, 2 * WORDS, "results");
}
