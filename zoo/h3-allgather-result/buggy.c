/*
 * Two ranks of one thread gather their parts. The result of the first rank is downloaded, in the
 * order of its stream.
 *
 * buggy.c waits for the stream of the second rank, which orders only the collective.
 * fixed.c waits for the stream of the download.
 */
#include "../zoo.h"
#include "hccl/hccl.h"

#define RANKS 2
#define COUNT 4096
#define SIZE (COUNT * sizeof(uint32_t))

int main(void)
{
    int32_t devices[RANKS] = {0, 1};
    HcclComm comms[RANKS];
    aclrtStream streams[RANKS];
    void *parts[RANKS], *whole[RANKS];
    uint32_t *host;
    begin();
    OK(HcclCommInitAll(RANKS, devices, comms));
    for (int rank = 0; rank < RANKS; rank++) {
        OK(aclrtSetDevice(rank));
        OK(aclrtCreateStream(&streams[rank]));
        OK(aclrtMalloc(&parts[rank], SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
        OK(aclrtMalloc(&whole[rank], RANKS * SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
        OK(aclrtMemset(parts[rank], SIZE, 0x44, SIZE));
    }
    OK(aclrtSetDevice(0));
    OK(aclrtMallocHost((void **)&host, RANKS * SIZE));
    fill(host, RANKS * COUNT, 0);

    for (int rank = 0; rank < RANKS; rank++) {
        OK(aclrtSetDevice(rank));
        OK(HcclAllGather(parts[rank], whole[rank], COUNT, HCCL_DATA_TYPE_UINT32, comms[rank], streams[rank]));
    }
    OK(aclrtSetDevice(0));
    OK(aclrtMemcpyAsync(host, RANKS * SIZE, whole[0], RANKS * SIZE, ACL_MEMCPY_DEVICE_TO_HOST, streams[0]));
    OK(aclrtSetDevice(1));
    OK(aclrtSynchronizeStream(streams[1]));
    OK(aclrtSetDevice(0));
    size_t wrong = wrong_words(host, RANKS * COUNT, 0x44444444);

    for (int rank = RANKS - 1; rank >= 0; rank--) {
        OK(aclrtSetDevice(rank));
        OK(aclrtSynchronizeStream(streams[rank]));
        OK(HcclCommDestroy(comms[rank]));
        OK(aclrtFree(parts[rank]));
        OK(aclrtFree(whole[rank]));
        OK(aclrtDestroyStream(streams[rank]));
    }
    OK(aclrtFreeHost(host));
    OK(aclrtResetDevice(1));
    end();
    return verdict(wrong, RANKS * COUNT, "words");
}
