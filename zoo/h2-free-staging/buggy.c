/*
 * Uploads through a pinned staging buffer that is allocated for each copy.
 *
 * buggy.c frees the buffer when the asynchronous call returns. The allocator may hand out the
 * memory again while the copy reads it.
 * fixed.c waits for the copy before it frees the buffer.
 * Modeled on https://github.com/PaddlePaddle/PaddleCustomDevice/pull/357.
 */
#include "../zoo.h"

#define WORDS 4096
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    void *device, *staging;
    aclrtStream stream;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMalloc(&device, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));

    OK(aclrtMallocHost(&staging, SIZE));
    fill(staging, WORDS, 7);
    OK(aclrtMemcpyAsync(device, SIZE, staging, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    OK(aclrtFreeHost(staging)); /* does not wait for the copy */
    OK(aclrtSynchronizeStream(stream));

    size_t wrong = wrong_on_device(device, WORDS, 7);
    OK(aclrtFree(device));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, WORDS, "words (softacl keeps freed memory until the copy has run; a card does not)");
}
