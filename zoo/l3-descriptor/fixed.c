/*
 * Copies within the device with a descriptor that is in device memory.
 *
 * buggy.c frees the descriptor when the call returns, as if it were an ordinary argument. The
 * device reads it when the copy runs.
 * fixed.c frees the descriptor after the copy has finished.
 */
#include "../zoo.h"

#define WORDS 4096
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    void *from, *to, *descriptor;
    size_t size = 0;
    aclrtStream stream;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMalloc(&from, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc(&to, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(from, SIZE, 0x11, SIZE));
    OK(aclrtMemset(to, SIZE, 0, SIZE));
    OK(aclrtGetMemcpyDescSize(ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, &size));
    OK(aclrtMalloc(&descriptor, size, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtSetMemcpyDesc(descriptor, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, from, to, SIZE, NULL));

    OK(aclrtMemcpyAsyncWithDesc(descriptor, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, stream));
    logged("aclrtSynchronizeStream", aclrtSynchronizeStream(stream));
    OK(aclrtFree(descriptor));

    size_t wrong = wrong_on_device(to, WORDS, 0x11111111);
    OK(aclrtFree(from));
    OK(aclrtFree(to));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, WORDS, "words");
}
