/*
 * Moves a block from device 0 to device 1 and reads it there.
 *
 * buggy.c enables peer access on device 0 only. Some drivers require both directions, and the copy
 * fails there.
 * fixed.c enables it on both devices.
 */
#include "../zoo.h"

#define WORDS 1024
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    void *host, *here, *there;
    aclrtStream stream;
    begin();
    OK(aclrtSetDevice(1));
    OK(aclrtMalloc(&there, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtDeviceEnablePeerAccess(0, 0));
    OK(aclrtSetDevice(0));
    OK(aclrtDeviceEnablePeerAccess(1, 0));
    OK(aclrtCreateStream(&stream));
    OK(aclrtMalloc(&here, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMallocHost(&host, SIZE));
    fill(host, WORDS, 5);

    OK(aclrtMemcpyAsync(here, SIZE, host, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    OK(aclrtMemcpyAsync(there, SIZE, here, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    OK(aclrtSynchronizeStream(stream));
    fill(host, WORDS, 0);
    OK(aclrtMemcpy(host, SIZE, there, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));

    size_t wrong = wrong_words(host, WORDS, 5);
    OK(aclrtFreeHost(host));
    OK(aclrtFree(here));
    OK(aclrtFree(there));
    OK(aclrtDestroyStream(stream));
    OK(aclrtResetDevice(1));
    end();
    return verdict(wrong, WORDS, "words");
}
