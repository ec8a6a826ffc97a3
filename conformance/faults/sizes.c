// softacl-only
// env: SOFTACL_FAULTS=aclrtMalloc*[size=12288]=207001; aclrtMemcpy*[size=4096]=507013; aclrtMemset*[size=4096]=507899; aclrtReduceAsync[size=4096]=507000; aclrtCmoAsync[size=4096]=507015
/* The size filter of a fault rule for calls is the bytes of the call, for every function that allocates, copies or
 * fills memory: elements times their size, width times height, and the sum over the entries of a batch. */
#include "../expect.h"

#define SIZE 4096
#define COPY 507013
#define FILL 507899

static void batches(void *device, void *host, aclrtStream stream)
{
    void *dsts[3] = {device, (char *)device + 1024, (char *)device + 2048};
    void *srcs[3] = {host, (char *)host + 1024, (char *)host + 2048};
    size_t fits[3] = {1024, 1024, 2048}, less[3] = {1024, 1024, 2047};
    aclrtMemcpyBatchAttr attr;
    memset(&attr, 0, sizeof attr);
    attr.dstLoc.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    attr.srcLoc.type = ACL_MEM_LOCATION_TYPE_HOST;
    size_t index = 0, fail = 0;
    EXPECT_CODE(aclrtMemcpyBatch(dsts, fits, srcs, fits, 3, &attr, &index, 1, &fail), COPY);
    EXPECT_CODE(aclrtMemcpyBatchV2(dsts, fits, srcs, fits, 3, &attr, &index, 1), COPY);
    EXPECT_CODE(aclrtMemcpyBatchAsync(dsts, fits, srcs, fits, 3, &attr, &index, 1, &fail, stream), COPY);
    EXPECT_CODE(aclrtMemcpyBatchAsyncV2(dsts, fits, srcs, fits, 3, &attr, &index, 1, stream), COPY);
    /* One byte less, on chips with and without batch copies. */
    aclError now = aclrtMemcpyBatch(dsts, fits, srcs, less, 3, &attr, &index, 1, &fail);
    EXPECT_TRUE(now == ACL_SUCCESS || now == 207000, "batch returned %d", now);
    aclError later = aclrtMemcpyBatchAsync(dsts, fits, srcs, less, 3, &attr, &index, 1, &fail, stream);
    EXPECT_TRUE(later == now, "asynchronous batch returned %d", later);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = NULL;
    REQUIRE_OK(aclrtCreateStream(&stream));
    void *refused = NULL, *device = NULL;
    EXPECT_CODE(aclrtMalloc(&refused, 12288, ACL_MEM_MALLOC_HUGE_FIRST), 207001);
    EXPECT_CODE(aclrtMallocAlign32(&refused, 12288, ACL_MEM_MALLOC_HUGE_FIRST), 207001);
    EXPECT_CODE(aclrtMallocHost(&refused, 12288), 207001);
    REQUIRE_OK(aclrtMalloc(&device, 2 * SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    char *host = (char *)pinned_memory(2 * SIZE);
    memset(host, 1, 2 * SIZE);
    REQUIRE_OK(aclrtMemset(device, 2 * SIZE, 0, 2 * SIZE));

    EXPECT_CODE(aclrtMemcpy(device, 2 * SIZE, host, SIZE, ACL_MEMCPY_HOST_TO_DEVICE), COPY);
    EXPECT_CODE(aclrtMemcpyAsync(device, 2 * SIZE, host, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream), COPY);
    EXPECT_OK(aclrtMemcpy(device, SIZE, host, SIZE - 1, ACL_MEMCPY_HOST_TO_DEVICE)); /* destMax is no size */

    /* Pitches are no sizes. */
    EXPECT_CODE(aclrtMemcpy2d(device, 64, host, 64, 32, 128, ACL_MEMCPY_HOST_TO_DEVICE), COPY);
    EXPECT_CODE(aclrtMemcpy2dAsync(device, 64, host, 64, 32, 128, ACL_MEMCPY_HOST_TO_DEVICE, stream), COPY);
    EXPECT_OK(aclrtMemcpy2d(device, 64, host, 64, 32, 64, ACL_MEMCPY_HOST_TO_DEVICE));

    /* 1,024 words are 4,096 bytes; 4,096 bytes of room are no size. */
    EXPECT_CODE(aclrtMemset(device, 2 * SIZE, 0, SIZE), FILL);
    EXPECT_CODE(aclrtMemsetAsync(device, 2 * SIZE, 0, SIZE, stream), FILL);
    EXPECT_CODE(aclrtMemsetD32(device, 2 * SIZE, 7, SIZE / 4), FILL);
    EXPECT_CODE(aclrtMemsetD32Async(device, 2 * SIZE, 7, SIZE / 4, stream), FILL);
    EXPECT_OK(aclrtMemsetD32(device, SIZE, 7, SIZE / 8));

    EXPECT_CODE(aclrtReduceAsync(device, (char *)device + SIZE, SIZE, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT,
                                 stream, NULL), 507000);
    EXPECT_CODE(aclrtCmoAsync(device, SIZE, ACL_RT_CMO_TYPE_PREFETCH, stream), 507015);
    batches(device, host, stream);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtFree(device));
    return finish();
}
