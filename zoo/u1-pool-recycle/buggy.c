/*
 * A stream gets a block of a pool twice; the second time it is the block of the first.
 *
 * buggy.c reads the second block without writing it, and finds what the first owner left.
 * fixed.c writes it first.
 */
#include "../zoo.h"
#include "acl/acl_rt_memory_soma.h"

#define WORDS 4096
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    uint32_t *source, *result;
    void *block;
    aclrtMemPool pool;
    aclrtMemPoolProps properties;
    aclrtStream stream;
    begin();
    memset(&properties, 0, sizeof properties);
    properties.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    OK(aclrtMemPoolCreate(&pool, &properties));
    OK(aclrtCreateStream(&stream));
    OK(aclrtMallocHost((void **)&source, SIZE));
    OK(aclrtMallocHost((void **)&result, SIZE));
    fill(source, WORDS, 9);

    OK(aclrtMemPoolMallocAsync(&block, SIZE, pool, stream));
    OK(aclrtMemcpyAsync(block, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    OK(aclrtMemPoolFreeAsync(block, stream));
    OK(aclrtMemPoolMallocAsync(&block, SIZE, pool, stream));
    OK(aclrtMemcpyAsync(result, SIZE, block, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    OK(aclrtMemPoolFreeAsync(block, stream));
    OK(aclrtSynchronizeStream(stream));

    size_t wrong = wrong_words(result, WORDS, 9);
    OK(aclrtMemPoolDestroy(pool));
    OK(aclrtFreeHost(result));
    OK(aclrtFreeHost(source));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, WORDS, "words");
}
