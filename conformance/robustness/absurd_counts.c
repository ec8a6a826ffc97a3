// soc: Ascend910B
// softacl-only
// expects: B1
/* An absurd count is refused without iterating over the elements, even if the array lies in pinned memory, where
 * billions of elements would be readable: it ends with its allocation. */
#include "../batch/variants.h"

#include "acl/acl_op.h"

/* Seconds that all absurd calls together may take. Iterating over the elements of one takes longer. */
#define LIMIT 2.0
#define SIZE (128 * 1024)

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void check_batches(void *pinned, aclrtStream stream)
{
    void *device = device_memory(4096);
    void **dsts = (void **)pinned, **srcs = (void **)pinned;
    size_t *sizes = (size_t *)pinned, indexes[1] = {0};
    aclrtMemcpyBatchAttr attrs[1] = {host_to_device()};
    const size_t counts[] = {513, 1 << 20, (size_t)1 << 28, (size_t)1 << 32, (size_t)1 << 61, SIZE_MAX};
    memset(pinned, 0, 4096);
    for (int filled = 0; filled < 2; filled++) {
        for (int f = 0; f < VARIANTS; f++) {
            for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
                struct batch b = {dsts, sizes, srcs, sizes, counts[i], attrs, indexes, 1};
                size_t index = 0;
                EXPECT_CODE(batch_call((enum variant)f, b, &index, stream), 100000);
                size_t one[1] = {1};
                void *target[1] = {device}, *source[1] = {pinned};
                struct batch many = {target, one, source, one, 1, (aclrtMemcpyBatchAttr *)pinned, sizes, counts[i]};
                EXPECT_FAILS(batch_call((enum variant)f, many, &index, stream));
            }
        }
        sizes[0] = 1;
    }
    EXPECT_OK(aclrtFree(device));
}

/* A fill or a copy of pageable memory with an absurd count changes nothing, also not what is mapped behind the buffer. */
static void check_pageable(aclrtStream stream)
{
    const size_t counts[] = {(size_t)1 << 40, (size_t)1 << 62, (size_t)1 << 63, SIZE_MAX - 4096};
    unsigned char *host = malloc(SIZE), *other = malloc(SIZE);
    memset(host, 0x11, SIZE);
    memset(other, 0x22, SIZE);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        EXPECT_FAILS(aclrtMemset(host, counts[i], 7, counts[i]));
        EXPECT_FAILS(aclrtMemsetAsync(host, counts[i], 7, counts[i], stream));
        EXPECT_FAILS(aclrtMemcpy(host, counts[i], other, counts[i], ACL_MEMCPY_HOST_TO_HOST));
        EXPECT_VALUE(host, SIZE, 0x11);
        EXPECT_VALUE(other, SIZE, 0x22);
    }
    free(host);
    free(other);
}

static void check_operators(void *pinned)
{
    aclopAttr *attributes = aclopCreateAttr();
    EXPECT_CODE(aclopSetAttrListInt(attributes, "a", INT32_MAX, (const int64_t *)pinned), 100000);
    EXPECT_CODE(aclopSetAttrListInt(attributes, "a", 513, (const int64_t *)pinned), 100000);
    EXPECT_OK(aclopSetAttrListInt(attributes, "a", 512, (const int64_t *)pinned));
    EXPECT_CODE(aclopSetAttrListFloat(attributes, "a", INT32_MAX, (const float *)pinned), 100000);
    EXPECT_CODE(aclopSetAttrListBool(attributes, "a", INT32_MAX, (const uint8_t *)pinned), 100000);
    const int numbers[1] = {INT32_MAX};
    const int64_t *const lists[1] = {(const int64_t *)pinned};
    EXPECT_CODE(aclopSetAttrListListInt(attributes, "a", 1, numbers, lists), 100000);
    const int64_t *const *many = (const int64_t *const *)pinned;
    EXPECT_CODE(aclopSetAttrListListInt(attributes, "a", INT32_MAX, (const int *)pinned, many), 100000);
    aclopDestroyAttr(attributes);
    const int64_t shape[1] = {1};
    aclTensorDesc *tensor = aclCreateTensorDesc(ACL_INT8, 1, shape, ACL_FORMAT_ND);
    EXPECT_CODE(aclSetTensorConst(tensor, pinned, (size_t)4 << 30), 100000);
    EXPECT_CODE(aclSetTensorConst(tensor, pinned, 4097), 100000);
    EXPECT_CODE(aclSetTensorConst(tensor, pinned, SIZE_MAX), 100000);
    EXPECT_OK(aclSetTensorConst(tensor, pinned, 4096));
    aclDestroyTensorDesc(tensor);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    void *pinned = NULL, *device = NULL;
    REQUIRE_OK(aclrtMallocHost(&pinned, 4096));
    aclrtMallocConfig config = {(aclrtMallocAttribute *)pinned, (size_t)1 << 30};
    EXPECT_CODE(aclrtMallocWithCfg(&device, 4096, ACL_MEM_MALLOC_HUGE_FIRST, &config), 100000);
    EXPECT_CODE(aclrtMallocHostWithCfg(&device, 4096, &config), 100000);
    config.numAttrs = 0;
    REQUIRE_OK(aclrtMallocWithCfg(&device, 4096, ACL_MEM_MALLOC_HUGE_FIRST, &config));
    REQUIRE_OK(aclrtFree(device));

    aclrtStream stream = new_stream();
    double start = seconds();
    check_batches(pinned, stream);
    check_operators(pinned);
    check_pageable(stream);
    EXPECT_TRUE(seconds() - start < LIMIT, "%.1f s", seconds() - start);
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtFreeHost(pinned));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
