/*
 * A network card writes device memory through RDMA, outside of every stream, and a stream offloads
 * the same block. A host function on a dedicated stream stands for the card; the annotation gives
 * its write a position in the order.
 *
 * buggy.c does not order the offload after the write.
 * fixed.c makes the offload wait for an event recorded after the write.
 */
#include "../zoo.h"
#include "softacl/softacl.h"
#if __has_include("softacl/annotate.h")
#include "softacl/annotate.h"
#else
#define softaclAnnotateWrite(stream, address, size) ACL_SUCCESS
#endif

#define WORDS 4096
#define SIZE (WORDS * sizeof(uint32_t))

static void *block;

static void rdma_write(void *unused)
{
    void *view;
    (void)unused;
    if (softaclHostView(block, SIZE, &view) == ACL_SUCCESS) {
        fill(view, WORDS, 8);
    }
}

int main(void)
{
    uint32_t *host;
    aclrtStream nic, offload;
    aclrtEvent written;
    begin();
    OK(aclrtCreateStream(&nic));
    OK(aclrtCreateStream(&offload));
    OK(aclrtCreateEventExWithFlag(&written, ACL_EVENT_SYNC));
    OK(aclrtMalloc(&block, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(block, SIZE, 0, SIZE));
    OK(aclrtMallocHost((void **)&host, SIZE));

    OK(aclrtLaunchHostFunc(nic, rdma_write, NULL));
    OK(softaclAnnotateWrite(nic, block, SIZE));
    OK(aclrtRecordEvent(written, nic));
    OK(aclrtStreamWaitEvent(offload, written));
    OK(aclrtMemcpyAsync(host, SIZE, block, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, offload));
    OK(aclrtSynchronizeStream(offload));
    OK(aclrtSynchronizeStream(nic));

    size_t wrong = wrong_words(host, WORDS, 8);
    OK(aclrtDestroyEvent(written));
    OK(aclrtFreeHost(host));
    OK(aclrtFree(block));
    OK(aclrtDestroyStream(offload));
    OK(aclrtDestroyStream(nic));
    end();
    return verdict(wrong, WORDS, "words");
}
