/*
 * Uploads a block in a worker thread, on a stream that was created in the engine's context.
 *
 * buggy.c calls aclrtSetDevice in the worker, which makes another context current. Every copy on
 * the engine's stream then fails with 107003.
 * fixed.c makes the engine's context current in the worker.
 * Modeled on https://github.com/kvcache-ai/Mooncake/pull/3993.
 */
#include <pthread.h>

#include "../zoo.h"

#define WORDS 1024
#define SIZE (WORDS * sizeof(uint32_t))

static aclrtContext engine;
static aclrtStream stream;
static void *block;

static void *upload(void *unused)
{
    void *host;
    (void)unused;
    OK(aclrtSetDevice(0)); /* makes the primary context current, not the engine's */
    OK(aclrtMallocHost(&host, SIZE));
    fill(host, WORDS, 5);
    logged("aclrtMemcpyAsync",
           aclrtMemcpyAsync(block, SIZE, host, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtFreeHost(host));
    OK(aclrtResetDevice(0));
    return NULL;
}

int main(void)
{
    pthread_t worker;
    OK(aclInit(NULL));
    OK(aclrtCreateContext(&engine, 0));
    OK(aclrtCreateStream(&stream));
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(block, SIZE, 0, SIZE));
    if (pthread_create(&worker, NULL, upload, NULL) != 0) {
        return 1;
    }
    pthread_join(worker, NULL);

    size_t wrong = wrong_on_device(block, WORDS, 5);
    OK(aclrtFree(block));
    OK(aclrtDestroyStream(stream));
    OK(aclrtDestroyContext(engine));
    OK(aclFinalize());
    return verdict(wrong, WORDS, "words");
}
