/*
 * The smallest complete program: choose a device, allocate there, copy up, copy down, compare.
 *
 * Every step that a real program needs is here once: aclInit, aclrtSetDevice, allocation, blocking
 * copies, freeing, aclrtResetDevice, aclFinalize. Device memory is written and read by copies only:
 * a host that follows a device pointer is ended, and softacl says which allocation it touched.
 */
#include "common.h"

#define SIZE 1000

int main(void)
{
    uint8_t sent[SIZE], received[SIZE] = {0}; /* ordinary memory is fine for blocking copies */
    void *device = NULL;

    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0)); /* for this thread; every thread chooses its own */
    CHECK(aclrtMalloc(&device, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));

    /* The second argument is the room at the destination; count may not exceed it. */
    fill_pattern(sent, SIZE, 1);
    CHECK(aclrtMemcpy(device, SIZE, sent, SIZE, ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK(aclrtMemcpy(received, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
    VERIFY(has_pattern(received, SIZE, 1));

    /* Part of an allocation: plain pointer arithmetic. */
    CHECK(aclrtMemset((uint8_t *)device + 100, SIZE - 100, 0xAB, 10));
    CHECK(aclrtMemcpy(received, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
    VERIFY(received[99] == pattern_byte(99, 1) && received[100] == 0xAB);
    VERIFY(received[109] == 0xAB && received[110] == pattern_byte(110, 1));

    printf("01_hello_copy: %d bytes went to %s and came back\n", SIZE, aclrtGetSocName());

    CHECK(aclrtFree(device));
    CHECK(aclrtResetDevice(0)); /* one for each aclrtSetDevice */
    CHECK(aclFinalize());
    return 0;
}
