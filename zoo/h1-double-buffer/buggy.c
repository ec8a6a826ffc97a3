/*
 * Uploads the data of each step through two slots of one pinned page: one slot is filled while the
 * other is copied.
 *
 * buggy.c waits for the event of a slot before the copy instead of before the writes, and refills
 * the slot while its last upload may still be queued.
 * fixed.c waits before it refills the slot.
 */
#include "../zoo.h"

#define STEPS 6
#define WORDS 512
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    uint32_t *slots;
    char *device;
    aclrtStream stream;
    aclrtEvent sent[2];
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMallocHost((void **)&slots, 2 * SIZE));
    OK(aclrtMalloc((void **)&device, STEPS * SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    for (int s = 0; s < 2; s++) {
        OK(aclrtCreateEventExWithFlag(&sent[s], ACL_EVENT_SYNC));
    }

    for (size_t step = 0; step < STEPS; step++) {
        int slot = step % 2;
        fill(slots + slot * WORDS, WORDS, step + 1);
        OK(aclrtSynchronizeEvent(sent[slot])); /* returns at once if never recorded */
        OK(aclrtMemcpyAsync(device + step * SIZE, (STEPS - step) * SIZE, slots + slot * WORDS, SIZE,
                            ACL_MEMCPY_HOST_TO_DEVICE, stream));
        OK(aclrtRecordEvent(sent[slot], stream));
    }
    OK(aclrtSynchronizeStream(stream));

    size_t wrong = 0;
    for (size_t step = 0; step < STEPS; step++) {
        wrong += wrong_on_device(device + step * SIZE, WORDS, step + 1);
    }
    for (int s = 0; s < 2; s++) {
        OK(aclrtDestroyEvent(sent[s]));
    }
    OK(aclrtFree(device));
    OK(aclrtFreeHost(slots));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, STEPS * WORDS, "words");
}
