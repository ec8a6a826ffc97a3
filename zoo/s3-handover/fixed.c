/*
 * A helper thread uploads default settings. The main thread uploads the settings of the first
 * request to the same block.
 *
 * buggy.c does not order the two threads, so the defaults may come last.
 * fixed.c waits for a semaphore that the helper posts: an order that no wait of the runtime shows.
 */
#include <pthread.h>
#include <semaphore.h>

#include "../zoo.h"

#define WORDS 4096
#define SIZE (WORDS * sizeof(uint32_t))

static sem_t uploaded;
static aclrtStream stream;
static void *block, *defaults;

static void *helper(void *unused)
{
    OK(aclrtSetDevice(0));
    OK(aclrtMemcpyAsync(block, SIZE, defaults, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    sem_post(&uploaded);
    OK(aclrtResetDevice(0));
    return unused;
}

int main(void)
{
    void *request;
    pthread_t thread;
    sem_init(&uploaded, 0, 0);
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMallocHost(&defaults, SIZE));
    OK(aclrtMallocHost(&request, SIZE));
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    fill(defaults, WORDS, 1);
    fill(request, WORDS, 2);
    if (pthread_create(&thread, NULL, helper, NULL) != 0) {
        return 1;
    }
    while (sem_wait(&uploaded) != 0) {
    }
    OK(aclrtMemcpyAsync(block, SIZE, request, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    pthread_join(thread, NULL);
    OK(aclrtSynchronizeStream(stream));

    size_t wrong = wrong_on_device(block, WORDS, 2);
    OK(aclrtFree(block));
    OK(aclrtFreeHost(request));
    OK(aclrtFreeHost(defaults));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, WORDS, "words of the request");
}
