/*
 * Copies from one device to the other, in both directions.
 *
 * Peer access has a direction: the current device is allowed to reach the peer. Enable it on both
 * devices before the first copy. On the A3 (910C) that is not needed and does no harm. The 310B has
 * no peer access; there data takes the way through the host.
 *
 * A stream belongs to the device that was current when it was created. Work is queued with that
 * device current, else the call gives 107003.
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
    VERIFY(devices >= 2); /* SOFTACL_DEVICES, 2 unless you choose otherwise */

    for (int32_t d = 0; d < 2; d++) {
        CHECK(aclrtSetDevice(d));
        CHECK(aclrtMalloc(&memory[d], SIZE, ACL_MEM_MALLOC_HUGE_FIRST_P2P));
        CHECK(aclrtCreateStream(&stream[d]));
        aclError code = aclrtDeviceCanAccessPeer(&can, d, 1 - d);
        if (code == ACL_SUCCESS && can) {
            CHECK(aclrtDeviceEnablePeerAccess(1 - d, 0)); /* of the current device, d */
        } else if (code != ACL_ERROR_RT_FEATURE_NOT_SUPPORT) {
            CHECK(code);
        }
    }

    /* Device 1 is current. Blocking copies from and to the host may name memory of any device. */
    fill_pattern(host, SIZE, 1);
    CHECK(aclrtMemcpy(memory[0], SIZE, host, SIZE, ACL_MEMCPY_HOST_TO_DEVICE));

    if (can) {
        /* Device 0 pushes to 1 and wipes its own copy. */
        CHECK(aclrtSetDevice(0));
        CHECK(aclrtMemcpyAsync(memory[1], SIZE, memory[0], SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE,
                               stream[0]));
        CHECK(aclrtMemsetAsync(memory[0], SIZE, 0, SIZE, stream[0]));
        CHECK(aclrtSynchronizeStream(stream[0]));

        /* Device 1 pushes back: the other direction, on the other device's stream. */
        CHECK(aclrtSetDevice(1));
        CHECK(aclrtMemcpyAsync(memory[0], SIZE, memory[1], SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE,
                               stream[1]));
        CHECK(aclrtSynchronizeStream(stream[1]));
        CHECK(aclrtResetDevice(1)); /* one for each of the two aclrtSetDevice above */
        CHECK(aclrtResetDevice(0));
    }

    memset(host, 0, SIZE);
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtMemcpy(host, SIZE, memory[0], SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
    VERIFY(has_pattern(host, SIZE, 1));
    CHECK(aclrtResetDevice(0));
    printf(can ? "07_two_devices: %d bytes from device 0 to device 1 and back\n"
               : "07_two_devices: no peer access here, %d bytes stayed on device 0\n",
           SIZE);

    for (int32_t d = 0; d < 2; d++) {
        CHECK(aclrtSetDevice(d)); /* a stream is destroyed with its device current */
        CHECK(aclrtDestroyStream(stream[d]));
        CHECK(aclrtFree(memory[d]));
        CHECK(aclrtResetDevice(d)); /* for the line above and for the first loop */
        CHECK(aclrtResetDevice(d));
    }
    CHECK(aclFinalize());
    free(host);
    return 0;
}
