/*
 * A loader thread fills a pinned buffer and the main thread uploads it. A join stands for the queue
 * between them.
 *
 * buggy.c lets the loader refill the buffer as soon as the upload is submitted, while the copy may
 * still be queued.
 * fixed.c lets the loader refill the buffer when the upload has finished.
 */
#include <pthread.h>

#include "../zoo.h"

#define WORDS (64 * 1024)
#define SIZE (WORDS * sizeof(uint32_t))

static uint32_t *buffer;

static void *load(void *value)
{
    fill(buffer, WORDS, (uint32_t)(uintptr_t)value);
    return NULL;
}

static void load_in_thread(uintptr_t value)
{
    pthread_t loader;
    if (pthread_create(&loader, NULL, load, (void *)value) != 0) {
        exit(1);
    }
    pthread_join(loader, NULL);
}

int main(void)
{
    void *device;
    aclrtStream stream;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMallocHost((void **)&buffer, SIZE));
    OK(aclrtMalloc(&device, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));

    load_in_thread(1);
    OK(aclrtMemcpyAsync(device, SIZE, buffer, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    OK(aclrtSynchronizeStream(stream));
    load_in_thread(2); /* the next sample */

    size_t wrong = wrong_on_device(device, WORDS, 1);
    OK(aclrtFree(device));
    OK(aclrtFreeHost(buffer));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, WORDS, "words");
}
