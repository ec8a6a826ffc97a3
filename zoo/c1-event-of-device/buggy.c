/*
 * A pipeline of two devices: device 0 loads a block, device 1 goes on when it is there.
 *
 * buggy.c uses an ordinary event, which orders the streams of one device only: the wait on
 * device 1 fails with 107003, is only logged, and nothing orders the second stage after the first.
 * fixed.c creates the event with ACL_EVENT_IPC, which works on all devices.
 */
#include "../zoo.h"

#define WORDS 4096
#define SIZE (WORDS * sizeof(uint32_t))

int main(void)
{
    uint32_t *source;
    void *block;
    aclrtStream loading, using_it;
    aclrtEvent loaded;
    begin();
    OK(aclrtSetDevice(1));
    OK(aclrtCreateStream(&using_it));
    OK(aclrtSetDevice(0));
    OK(aclrtCreateStream(&loading));
    OK(aclrtMallocHost((void **)&source, SIZE));
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtCreateEventExWithFlag(&loaded, ACL_EVENT_SYNC));
    fill(source, WORDS, 9);

    OK(aclrtMemcpyAsync(block, SIZE, source, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, loading));
    OK(aclrtRecordEvent(loaded, loading));
    OK(aclrtSetDevice(1));
    size_t wrong = logged("aclrtStreamWaitEvent", aclrtStreamWaitEvent(using_it, loaded));
    OK(aclrtSynchronizeStream(using_it));
    OK(aclrtDestroyStream(using_it));
    OK(aclrtResetDevice(1));
    OK(aclrtResetDevice(1));

    OK(aclrtSetDevice(0));
    OK(aclrtSynchronizeStream(loading));
    OK(aclrtDestroyEvent(loaded));
    OK(aclrtFree(block));
    OK(aclrtFreeHost(source));
    OK(aclrtDestroyStream(loading));
    OK(aclrtResetDevice(0));
    OK(aclrtResetDevice(0));
    end();
    return verdict(wrong, 1, "hand-overs");
}
