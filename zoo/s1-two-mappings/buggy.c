/*
 * Physical memory is mapped at two addresses. One stream loads it at the first address, another one
 * reads it at the second.
 *
 * buggy.c does not order the streams: the addresses look independent.
 * fixed.c lets the reader wait for the writer.
 */
#include "../zoo.h"

#define SIZE (2 << 20)
#define WORDS (SIZE / sizeof(uint32_t))

int main(void)
{
    uint32_t *source, *result;
    void *first, *second;
    aclrtDrvMemHandle memory;
    aclrtPhysicalMemProp properties;
    aclrtStream writer, reader;
    aclrtEvent written;
    begin();
    memset(&properties, 0, sizeof properties);
    properties.memAttr = ACL_HBM_MEM_HUGE;
    properties.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    OK(aclrtMallocPhysical(&memory, SIZE, &properties, 0));
    OK(aclrtReserveMemAddress(&first, SIZE, 0, NULL, 1));
    OK(aclrtReserveMemAddress(&second, SIZE, 0, NULL, 1));
    OK(aclrtMapMem(first, SIZE, 0, memory, 0));
    OK(aclrtMapMem(second, SIZE, 0, memory, 0));
    OK(aclrtCreateStream(&writer));
    OK(aclrtCreateStream(&reader));
    OK(aclrtCreateEventExWithFlag(&written, ACL_EVENT_SYNC));
    OK(aclrtMallocHost((void **)&source, SIZE));
    OK(aclrtMallocHost((void **)&result, SIZE));
    OK(aclrtMemset(first, SIZE, 0, SIZE));
    fill(source, WORDS, 9);

    OK(aclrtMemcpyAsync(first, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, writer));
    OK(aclrtMemcpyAsync(result, SIZE, second, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, reader));
    OK(aclrtSynchronizeStream(reader));
    OK(aclrtSynchronizeStream(writer));

    size_t wrong = wrong_words(result, WORDS, 9);
    OK(aclrtFreeHost(result));
    OK(aclrtFreeHost(source));
    OK(aclrtDestroyEvent(written));
    OK(aclrtDestroyStream(reader));
    OK(aclrtDestroyStream(writer));
    OK(aclrtUnmapMem(second));
    OK(aclrtUnmapMem(first));
    OK(aclrtReleaseMemAddress(second));
    OK(aclrtReleaseMemAddress(first));
    OK(aclrtFreePhysical(memory));
    end();
    return verdict(wrong, WORDS, "words");
}
