/*
 * Two worker threads submit uploads to one stream.
 *
 * buggy.c uploads both requests into one slot. A stream keeps the order of its tasks, but nothing
 * orders the threads that submit them: the host's scheduler decides which request is in the slot.
 * fixed.c gives each worker a slot.
 */
#include <pthread.h>

#include "../zoo.h"

#define WORDS 4096
#define SIZE (WORDS * sizeof(uint32_t))

struct request {
    aclrtStream stream;
    void *host, *device;
};

static void *upload(void *argument)
{
    struct request *r = argument;
    OK(aclrtSetDevice(0));
    OK(aclrtMemcpyAsync(r->device, SIZE, r->host, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, r->stream));
    OK(aclrtResetDevice(0));
    return NULL;
}

int main(void)
{
    struct request request[2];
    pthread_t worker[2];
    aclrtStream stream;
    void *slot[2];
    begin();
    OK(aclrtCreateStream(&stream));
    for (int w = 0; w < 2; w++) {
        OK(aclrtMalloc(&slot[w], SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
        request[w] = (struct request){stream, NULL, slot[0]}; /* the latest request wins */
        OK(aclrtMallocHost(&request[w].host, SIZE));
        fill(request[w].host, WORDS, 1 + w);
    }
    for (int w = 0; w < 2; w++) {
        if (pthread_create(&worker[w], NULL, upload, &request[w]) != 0) {
            return 1;
        }
    }
    for (int w = 0; w < 2; w++) {
        pthread_join(worker[w], NULL);
    }
    OK(aclrtSynchronizeStream(stream));

    size_t wrong = wrong_on_device(request[1].device, WORDS, 2);
    for (int w = 0; w < 2; w++) {
        OK(aclrtFree(slot[w]));
        OK(aclrtFreeHost(request[w].host));
    }
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, WORDS, "words of the latest request");
}
