/*
 * Uploads the prompt of a request on a stream that exists only for this request.
 *
 * buggy.c destroys the stream with the copy pending. The call waits for the copy, so the data is
 * right, but the host blocks where no wait is visible.
 * fixed.c synchronizes the stream first.
 */
#include "../zoo.h"

#define WORDS 4096
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    void *host, *device;
    aclrtStream stream;
    begin();
    OK(aclrtMallocHost(&host, SIZE));
    OK(aclrtMalloc(&device, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    fill(host, WORDS, 1);

    OK(aclrtCreateStream(&stream));
    OK(aclrtMemcpyAsync(device, SIZE, host, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    OK(aclrtDestroyStream(stream));

    size_t wrong = wrong_on_device(device, WORDS, 1);
    OK(aclrtFree(device));
    OK(aclrtFreeHost(host));
    end();
    return verdict(wrong, WORDS, "words");
}
