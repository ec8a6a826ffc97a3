/*
 * One thread drives two ranks, which add their gradients after every batch. The second rank has a
 * batch less than the first one.
 *
 * buggy.c lets the second rank skip the collective of the batch that it does not have.
 * fixed.c lets it take part with zeros.
 */
#include "../zoo.h"
#include "hccl/hccl.h"

#define RANKS 2
#define COUNT 1024
#define SIZE (COUNT * sizeof(int32_t))

int main(void)
{
    const int batches[RANKS] = {2, 1};
    int32_t devices[RANKS] = {0, 1};
    HcclComm comms[RANKS];
    aclrtStream streams[RANKS];
    void *gradients[RANKS], *sums[RANKS];
    begin();
    OK(HcclCommInitAll(RANKS, devices, comms));
    for (int rank = 0; rank < RANKS; rank++) {
        OK(aclrtSetDevice(rank));
        OK(aclrtCreateStream(&streams[rank]));
        OK(aclrtMalloc(&gradients[rank], SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
        OK(aclrtMalloc(&sums[rank], SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    }
    for (int batch = 0; batch < batches[0]; batch++) {
        for (int rank = 0; rank < RANKS; rank++) {
            if (batch >= batches[rank]) {
                continue;
            }
            OK(aclrtSetDevice(rank));
            OK(aclrtMemsetAsync(gradients[rank], SIZE, batch < batches[rank], SIZE, streams[rank]));
            OK(HcclAllReduce(gradients[rank], sums[rank], COUNT, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comms[rank],
                             streams[rank]));
        }
    }
    for (int rank = RANKS - 1; rank >= 0; rank--) {
        OK(aclrtSetDevice(rank));
        OK(aclrtSynchronizeStream(streams[rank]));
    }
    size_t wrong = wrong_on_device(sums[0], COUNT, 0x01010101);

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
