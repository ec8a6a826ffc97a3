/* Uploads four requests through a ring of two pinned blocks; a callback after each upload counts it as complete.
 * buggy.c refills a block without waiting for the count.
 * fixed.c waits until the upload that used the block is counted. A pattern of transfer engines. */
#include "../zoo.h"
#include <semaphore.h>

#define WORDS 1024
#define SIZE (WORDS * sizeof(uint32_t))
#define REQUESTS 4
#define BLOCKS 2

static sem_t complete;

static void count_completion(void *unused)
{
    (void)unused;
    sem_post(&complete);
}

int main(void)
{
    void *block[BLOCKS], *request[REQUESTS];
    aclrtStream stream;
    begin();
    sem_init(&complete, 0, 0);
    OK(aclrtCreateStream(&stream));
    for (int i = 0; i < BLOCKS; i++) {
        OK(aclrtMallocHost(&block[i], SIZE));
    }
    for (int i = 0; i < REQUESTS; i++) {
        OK(aclrtMalloc(&request[i], SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    }

    for (int i = 0; i < REQUESTS; i++) {
        if (i >= BLOCKS) {
            /* Wrong: the upload of the block may still be queued. */
        }
        fill(block[i % BLOCKS], WORDS, 100 + i);
        OK(aclrtMemcpyAsync(request[i], SIZE, block[i % BLOCKS], SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        OK(aclrtLaunchHostFunc(stream, count_completion, NULL));
    }
    OK(aclrtSynchronizeStream(stream));

    size_t wrong = 0;
    for (int i = 0; i < REQUESTS; i++) {
        wrong += wrong_on_device(request[i], WORDS, 100 + i);
        OK(aclrtFree(request[i]));
    }
    for (int i = 0; i < BLOCKS; i++) {
        OK(aclrtFreeHost(block[i]));
    }
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, REQUESTS * WORDS, "words");
}
