/*
 * Keeps a cache on the device for the lifetime of the process, like a C++ global.
 *
 * buggy.c releases the cache in an exit handler, after main has called aclFinalize.
 * fixed.c releases the cache before aclFinalize.
 */
#include "../zoo.h"

#define WORDS 1024
#define SIZE (WORDS * sizeof(uint32_t))

static void *cache;
static aclrtStream stream;

static void destroy_cache(void)
{
    logged("aclrtFree", aclrtFree(cache));
    logged("aclrtDestroyStream", aclrtDestroyStream(stream));
    logged("aclrtResetDevice", aclrtResetDevice(0));
}

int main(void)
{
    atexit(destroy_cache);
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    OK(aclrtCreateStream(&stream));
    OK(aclrtMalloc(&cache, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemsetAsync(cache, SIZE, 0x11, SIZE, stream));
    OK(aclrtSynchronizeStream(stream));
    size_t wrong = wrong_on_device(cache, WORDS, 0x11111111);
    OK(aclFinalize());
    return verdict(wrong, WORDS, "words");
}
