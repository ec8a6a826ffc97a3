/*
 * A loader thread uploads a block on its own stream. The main thread saves the block on another one.
 *
 * buggy.c joins the thread, which orders the calls, and not the streams.
 * fixed.c waits on the stream for an event that the loader has recorded.
 */
#include <pthread.h>

#include "../zoo.h"

#define WORDS 4096
#define SIZE (WORDS * sizeof(uint32_t))

static aclrtStream load;
static aclrtEvent loaded;
static void *block, *source;

static void *loader(void *unused)
{
    OK(aclrtSetDevice(0));
    OK(aclrtMemcpyAsync(block, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, load));
    OK(aclrtRecordEvent(loaded, load));
    OK(aclrtResetDevice(0));
    return unused;
}

int main(void)
{
    void *saved;
    aclrtStream save;
    pthread_t thread;
    begin();
    OK(aclrtCreateStream(&load));
    OK(aclrtCreateStream(&save));
    OK(aclrtCreateEventExWithFlag(&loaded, ACL_EVENT_SYNC));
    OK(aclrtMallocHost(&source, SIZE));
    OK(aclrtMallocHost(&saved, SIZE));
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(block, SIZE, 0, SIZE));
    fill(source, WORDS, 8);
    if (pthread_create(&thread, NULL, loader, NULL) != 0) {
        return 1;
    }
    pthread_join(thread, NULL);
    OK(aclrtMemcpyAsync(saved, SIZE, block, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, save));
    OK(aclrtSynchronizeStream(save));
    size_t wrong = wrong_words(saved, WORDS, 8);

    OK(aclrtSynchronizeStream(load));
    OK(aclrtDestroyEvent(loaded));
    OK(aclrtFree(block));
    OK(aclrtFreeHost(saved));
    OK(aclrtFreeHost(source));
    OK(aclrtDestroyStream(save));
    OK(aclrtDestroyStream(load));
    end();
    return verdict(wrong, WORDS, "words");
}
