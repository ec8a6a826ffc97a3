/*
 * The smallest complete program: set a device, allocate memory on it, copy there and back, compare.
 *
 * It contains every step of a real program once: aclInit, aclrtSetDevice, allocation, blocking
 * copies, freeing, aclrtResetDevice, aclFinalize. Only copies may read or write device memory. If
 * the host dereferences a device pointer, the process ends and softacl reports the allocation.
 */
#include "common.h"

#define SIZE 1000

int main(void)
{
    uint8_t sent[SIZE], received[SIZE] = {0}; /* blocking copies accept pageable memory */
    void *device = NULL;

    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0)); /* for this thread only */
    CHECK(aclrtMalloc(&device, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));

    /* The second argument is the capacity of the destination; count must not exceed it. */
    fill_pattern(sent, SIZE, 1);
    CHECK(aclrtMemcpy(device, SIZE, sent, SIZE, ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK(aclrtMemcpy(received, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
    VERIFY(has_pattern(received, SIZE, 1));

    /* Pointer arithmetic selects a part of an allocation. */
    CHECK(aclrtMemset((uint8_t *)device + 100, SIZE - 100, 0xAB, 10));
    CHECK(aclrtMemcpy(received, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
    VERIFY(received[99] == pattern_byte(99, 1) && received[100] == 0xAB);
    VERIFY(received[109] == 0xAB && received[110] == pattern_byte(110, 1));

    printf("01_hello_copy: %d bytes copied to %s and back\n", SIZE, aclrtGetSocName());

    CHECK(aclrtFree(device));
    CHECK(aclrtResetDevice(0)); /* one per aclrtSetDevice */
    CHECK(aclFinalize());
    return 0;
}
