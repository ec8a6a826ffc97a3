/*
 * Uploads rows of 250 words (1000 bytes), one copy per row.
 *
 * buggy.c packs the rows, so most of them do not start at a multiple of 64 bytes. Documents up to
 * CANN 9.0 require 64-byte alignment of both addresses, and some chips and versions depend on it.
 * fixed.c pads each row to a multiple of 64 bytes.
 */
#include "../zoo.h"

#define ROWS 4
#define WORDS 250
#define ROW (WORDS * sizeof(uint32_t))
#define STRIDE ROW

int main(void)
{
    char *host, *device;
    aclrtStream stream;
    size_t wrong = 0;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtMallocHost((void **)&host, ROWS * STRIDE));
    OK(aclrtMalloc((void **)&device, ROWS * STRIDE, ACL_MEM_MALLOC_HUGE_FIRST));
    for (size_t r = 0; r < ROWS; r++) {
        fill(host + r * STRIDE, WORDS, 1 + r);
        OK(aclrtMemcpyAsync(device + r * STRIDE, (ROWS - r) * STRIDE, host + r * STRIDE, ROW,
                            ACL_MEMCPY_HOST_TO_DEVICE, stream));
    }
    OK(aclrtSynchronizeStream(stream));
    for (size_t r = 0; r < ROWS; r++) {
        wrong += wrong_on_device(device + r * STRIDE, WORDS, 1 + r);
    }
    OK(aclrtFree(device));
    OK(aclrtFreeHost(host));
    OK(aclrtDestroyStream(stream));
    end();
    return verdict(wrong, ROWS * WORDS, "words");
}
