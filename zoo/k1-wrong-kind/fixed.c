/*
 * Uploads a block and downloads it again. The download leaves the kind to the runtime.
 *
 * buggy.c declares the upload as a download. Between pinned and device memory the runtime silently
 * corrects the kind; with pageable memory it refuses the same call.
 * fixed.c declares it as an upload.
 */
#include "../zoo.h"

#define WORDS 1024
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    void *up, *down, *block;
    aclrtStream stream;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMallocHost(&up, SIZE));
    OK(aclrtMallocHost(&down, SIZE));
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    fill(up, WORDS, 3);

    OK(aclrtMemcpyAsync(block, SIZE, up, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    OK(aclrtMemcpyAsync(down, SIZE, block, SIZE, ACL_MEMCPY_DEFAULT, stream));
    OK(aclrtSynchronizeStream(stream));

    size_t wrong = wrong_words(down, WORDS, 3);
    OK(aclrtFree(block));
    OK(aclrtFreeHost(up));
    OK(aclrtFreeHost(down));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, WORDS, "words");
}
