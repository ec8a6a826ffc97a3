/*
 * Stages a KV block in pinned memory and sends it to another host.
 *
 * buggy.c sends the staging buffer before the download into it has finished.
 * fixed.c waits for the download first.
 * Modeled on https://github.com/kvcache-ai/Mooncake/pull/1399.
 */
#include "../zoo.h"

#define WORDS (32 * 1024)
#define SIZE (WORDS * sizeof(uint32_t))

static uint32_t received[WORDS]; /* at the other end of the wire */

static void send_block(const uint32_t *block)
{
    for (size_t i = 0; i < WORDS; i++) {
        received[i] = block[i];
    }
}

int main(void)
{
    uint32_t *staging;
    void *cache;
    aclrtStream stream;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMalloc(&cache, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(cache, SIZE, 0x11, SIZE));
    OK(aclrtMallocHost((void **)&staging, SIZE));
    fill(staging, WORDS, 0);

    OK(aclrtMemcpyAsync(staging, SIZE, cache, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    OK(aclrtSynchronizeStream(stream));
    send_block(staging);

    OK(aclrtFree(cache));
    OK(aclrtFreeHost(staging));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong_words(received, WORDS, 0x11111111), WORDS, "words received");
}
