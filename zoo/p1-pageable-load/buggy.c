/*
 * Loads a block after other work of a stream.
 *
 * buggy.c copies from pageable memory. The call is named asynchronous, but it drains the stream and
 * blocks the caller until the bytes have arrived.
 * fixed.c copies from pinned memory.
 * Modeled on https://github.com/sgl-project/sglang/pull/38826.
 */
#include "../zoo.h"

#define WORDS (64 * 1024)
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    void *pool, *block;
    aclrtStream stream;
    begin();
    OK(aclrtCreateStream(&stream));
    pool = aligned_alloc(4096, SIZE);
    if (pool == NULL) {
        return 1;
    }
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    fill(pool, WORDS, 9);

    OK(aclrtMemsetAsync(block, SIZE, 0, SIZE, stream));
    OK(aclrtMemcpyAsync(block, SIZE, pool, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    OK(aclrtSynchronizeStream(stream));

    size_t wrong = wrong_on_device(block, WORDS, 9);
    OK(aclrtFree(block));
    free(pool);
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, WORDS, "words");
}
