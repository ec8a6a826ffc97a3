/*
 * Copies between two devices, in both directions.
 *
 * Peer access has a direction: it lets the current device access the peer. Enable it on both devices
 * before the first copy. On the A3 (910C) that is not necessary, but harmless. The 310B has no peer
 * access; there, data must be copied through the host.
 *
 * A stream belongs to the device that was current when it was created. Work must be queued while
 * that device is current; otherwise the call returns 107003.
 */
#include "common.h"

#define SIZE 100000

int main(void)
{
    uint8_t *host = calloc(1, SIZE);
    void *memory[2];
    aclrtStream stream[2];
    uint32_t devices = 0;
    int32_t can = 0;

    VERIFY(host != NULL);
    CHECK(aclInit(NULL));
    CHECK(aclrtGetDeviceCount(&devices));
    VERIFY(devices >= 2); /* SOFTACL_DEVICES; 2 by default */

    for (int32_t d = 0; d < 2; d++) {
        CHECK(aclrtSetDevice(d));
        CHECK(aclrtMalloc(&memory[d], SIZE, ACL_MEM_MALLOC_HUGE_FIRST_P2P));
        CHECK(aclrtCreateStream(&stream[d]));
        aclError code = aclrtDeviceCanAccessPeer(&can, d, 1 - d);
        if (code == ACL_SUCCESS && can) {
            CHECK(aclrtDeviceEnablePeerAccess(1 - d, 0)); /* lets the current device, d, access 1 - d */
        } else if (code != ACL_ERROR_RT_FEATURE_NOT_SUPPORT) {
            CHECK(code);
        }
    }

    /* Device 1 is current. Blocking copies between host and device accept memory of any device. */
    fill_pattern(host, SIZE, 1);
    CHECK(aclrtMemcpy(memory[0], SIZE, host, SIZE, ACL_MEMCPY_HOST_TO_DEVICE));

    if (can) {
        /* Device 0 copies to device 1 and clears its memory. */
        CHECK(aclrtSetDevice(0));
        CHECK(aclrtMemcpyAsync(memory[1], SIZE, memory[0], SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE,
                               stream[0]));
        CHECK(aclrtMemsetAsync(memory[0], SIZE, 0, SIZE, stream[0]));
        CHECK(aclrtSynchronizeStream(stream[0]));

        /* Device 1 copies back, on its stream. */
        CHECK(aclrtSetDevice(1));
        CHECK(aclrtMemcpyAsync(memory[0], SIZE, memory[1], SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE,
                               stream[1]));
        CHECK(aclrtSynchronizeStream(stream[1]));
        CHECK(aclrtResetDevice(1)); /* one per aclrtSetDevice in this block */
        CHECK(aclrtResetDevice(0));
    }

    memset(host, 0, SIZE);
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtMemcpy(host, SIZE, memory[0], SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
    VERIFY(has_pattern(host, SIZE, 1));
    CHECK(aclrtResetDevice(0));
    printf(can ? "07_two_devices: %d bytes copied from device 0 to device 1 and back\n"
               : "07_two_devices: no peer access here, %d bytes stayed on device 0\n",
           SIZE);

    for (int32_t d = 0; d < 2; d++) {
        CHECK(aclrtSetDevice(d)); /* the device of a stream must be current to destroy it */
        CHECK(aclrtDestroyStream(stream[d]));
        CHECK(aclrtFree(memory[d]));
        CHECK(aclrtResetDevice(d)); /* once for this loop, once for the first one */
        CHECK(aclrtResetDevice(d));
    }
    CHECK(aclFinalize());
    free(host);
    return 0;
}
