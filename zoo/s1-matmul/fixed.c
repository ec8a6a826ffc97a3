/*
 * Multiplies a vector of ones by a weight that another stream uploads.
 *
 * buggy.c does not order the two streams, so the product may read the weight before it is there.
 * fixed.c makes the compute stream wait for an event recorded after the upload.
 */
#include "../zoo.h"
#include "aclnnop/aclnn_matmul.h"

#define K 64
#define N 64
#define WEIGHT (K * N * sizeof(float))

static aclTensor *matrix(int64_t rows, int64_t columns, void *data)
{
    const int64_t dims[2] = {rows, columns};
    return aclCreateTensor(dims, 2, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, dims, 2, data);
}

int main(void)
{
    float *staging, ones[K], sums[N];
    void *weight, *vector, *product;
    aclrtStream load, compute;
    uint64_t workspace, wrong = 0;
    aclOpExecutor *executor;
    aclrtEvent loaded;
    begin();
    OK(aclrtCreateStream(&load));
    OK(aclrtCreateStream(&compute));
    OK(aclrtCreateEvent(&loaded));
    OK(aclrtMallocHost((void **)&staging, WEIGHT));
    OK(aclrtMalloc(&weight, WEIGHT, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc(&vector, sizeof ones, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc(&product, sizeof sums, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(weight, WEIGHT, 0, WEIGHT));
    for (int i = 0; i < K * N; i++) {
        staging[i] = 0.5F;
    }
    for (int i = 0; i < K; i++) {
        ones[i] = 1;
    }
    OK(aclrtMemcpy(vector, sizeof ones, ones, sizeof ones, ACL_MEMCPY_HOST_TO_DEVICE));

    OK(aclrtMemcpyAsync(weight, WEIGHT, staging, WEIGHT, ACL_MEMCPY_HOST_TO_DEVICE, load));
    OK(aclrtRecordEvent(loaded, load));
    OK(aclrtStreamWaitEvent(compute, loaded));
    aclTensor *a = matrix(1, K, vector), *b = matrix(K, N, weight), *c = matrix(1, N, product);
    OK(aclnnMatmulGetWorkspaceSize(a, b, c, 0, &workspace, &executor));
    OK(aclnnMatmul(NULL, workspace, executor, compute));
    OK(aclDestroyTensor(a));
    OK(aclDestroyTensor(b));
    OK(aclDestroyTensor(c));
    OK(aclrtSynchronizeStream(compute));
    OK(aclrtSynchronizeStream(load));

    OK(aclrtMemcpy(sums, sizeof sums, product, sizeof sums, ACL_MEMCPY_DEVICE_TO_HOST));
    for (int i = 0; i < N; i++) {
        wrong += sums[i] != K * 0.5F;
    }
    OK(aclrtFree(weight));
    OK(aclrtFree(vector));
    OK(aclrtFree(product));
    OK(aclrtFreeHost(staging));
    OK(aclrtDestroyEvent(loaded));
    OK(aclrtDestroyStream(compute));
    OK(aclrtDestroyStream(load));
    end();
    return verdict(wrong, N, "sums");
}
