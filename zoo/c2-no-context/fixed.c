/*
 * Allocates and fills a block in a helper thread.
 *
 * buggy.c sets the device in the main thread only. A context belongs to a thread and a new thread
 * has none, so the allocation in the helper fails with 107002.
 * fixed.c sets the device in the helper thread as well.
 */
#include <pthread.h>

#include "../zoo.h"

#define WORDS 1024
#define SIZE (WORDS * sizeof(uint32_t))

static size_t wrong = WORDS;

static void *work(void *unused)
{
    void *block;
    (void)unused;
    OK(aclrtSetDevice(0));
    if (!logged("aclrtMalloc", aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST))) {
        OK(aclrtMemset(block, SIZE, 0x11, SIZE));
        wrong = wrong_on_device(block, WORDS, 0x11111111);
        OK(aclrtFree(block));
    }
    OK(aclrtResetDevice(0));
    return NULL;
}

int main(void)
{
    pthread_t thread;
    begin();
    if (pthread_create(&thread, NULL, work, NULL) != 0) {
        return 1;
    }
    pthread_join(thread, NULL);
    end();
    return verdict(wrong, WORDS, "words");
}
