/*
 * Two ranks of one thread add their gradients. The gradients of the next step are then uploaded into
 * the send buffer of the first rank, on another stream.
 *
 * buggy.c does not order the upload, so the sum may contain gradients of the next step.
 * fixed.c makes the upload wait for an event recorded after the collective.
 */
#include "../zoo.h"
#include "hccl/hccl.h"

#define RANKS 2
#define COUNT 4096
#define SIZE (COUNT * sizeof(int32_t))

int main(void)
{
    int32_t devices[RANKS] = {0, 1};
    HcclComm comms[RANKS];
    aclrtStream streams[RANKS], load;
    void *gradients[RANKS], *sums[RANKS];
    uint32_t *next;
    begin();
    OK(HcclCommInitAll(RANKS, devices, comms));
    for (int rank = 0; rank < RANKS; rank++) {
        OK(aclrtSetDevice(rank));
        OK(aclrtCreateStream(&streams[rank]));
        OK(aclrtMalloc(&gradients[rank], SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
        OK(aclrtMalloc(&sums[rank], SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
        OK(aclrtMemset(gradients[rank], SIZE, rank + 1, SIZE));
    }
    OK(aclrtSetDevice(0));
    OK(aclrtCreateStream(&load));
    OK(aclrtMallocHost((void **)&next, SIZE));
    fill(next, COUNT, 0x05050505);

    for (int rank = 0; rank < RANKS; rank++) {
        OK(aclrtSetDevice(rank));
        OK(HcclAllReduce(gradients[rank], sums[rank], COUNT, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comms[rank],
                         streams[rank]));
    }
    OK(aclrtSetDevice(0));
    OK(aclrtMemcpyAsync(gradients[0], SIZE, next, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, load));
    OK(aclrtSynchronizeStream(load));
    for (int rank = RANKS - 1; rank >= 0; rank--) {
        OK(aclrtSetDevice(rank));
        OK(aclrtSynchronizeStream(streams[rank]));
    }
    size_t wrong = wrong_on_device(sums[0], COUNT, 0x03030303);

    OK(aclrtFreeHost(next));
    OK(aclrtDestroyStream(load));
    for (int rank = RANKS - 1; rank >= 0; rank--) {
        OK(aclrtSetDevice(rank));
        OK(HcclCommDestroy(comms[rank]));
        OK(aclrtFree(gradients[rank]));
        OK(aclrtFree(sums[rank]));
        OK(aclrtDestroyStream(streams[rank]));
    }
    OK(aclrtResetDevice(1));
    end();
    return verdict(wrong, COUNT, "sums");
}
