/*
 * A callback marks a pinned header as sent, and the next upload of the header is queued behind it.
 *
 * buggy.c launches the callback without blocking: the upload does not wait for it, and reads a mixture.
 * fixed.c launches it blocking.
 */
#include "../zoo.h"
#include <pthread.h>
#include <stdatomic.h>

#define WORDS 1024
#define SIZE (WORDS * sizeof(uint32_t))

static atomic_int is_done;

static void mark_sent(void *header)
{
    fill(header, WORDS, 2);
}

static void *process_reports(void *unused)
{
    OK(aclrtSetDevice(0));
    while (!atomic_load(&is_done)) {
        (void)aclrtProcessReport(20);
    }
    return unused;
}

int main(void)
{
    void *header, *block;
    aclrtStream stream;
    pthread_t thread;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMallocHost(&header, SIZE));
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    fill(header, WORDS, 1);
    pthread_create(&thread, NULL, process_reports, NULL);
    OK(aclrtSubscribeReport((uint64_t)thread, stream));

    OK(aclrtLaunchCallback(mark_sent, header, ACL_CALLBACK_BLOCK, stream));
    OK(aclrtMemcpyAsync(block, SIZE, header, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    OK(aclrtSynchronizeStream(stream));

    OK(aclrtUnSubscribeReport((uint64_t)thread, stream));
    atomic_store(&is_done, 1);
    pthread_join(thread, NULL);
    size_t wrong = wrong_on_device(block, WORDS, 2);
    OK(aclrtFree(block));
    OK(aclrtFreeHost(header));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, WORDS, "words");
}
