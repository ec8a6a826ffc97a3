/* Each upload has a pinned staging buffer of its own, which is freed too early. */
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
    OK(aclrtFreeHost(staging)); /* waits for nothing */
    OK(aclrtSynchronizeStream(stream));

    size_t wrong = wrong_on_device(device, WORDS, 7);
    OK(aclrtFree(device));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, WORDS, "words (softacl keeps freed memory for the copy, a card does not)");
}
