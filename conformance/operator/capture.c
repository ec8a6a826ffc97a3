// soc: Ascend910B Ascend910C
// softacl-only
// schedules: all
/* Captured operators run in every launch of the graph, with the contents of their inputs at that time. */
#include "call.h"

#define COUNT 300

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    float *floats = (float *)pinned_memory(COUNT * 4);
    int64_t *ints = (int64_t *)pinned_memory(COUNT * 8);
    void *from = device_memory(COUNT * 4);
    void *to = device_memory(COUNT * 8);
    int64_t dims[] = {COUNT};

    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    Tensor source = tensor(ACL_FLOAT, 1, dims, from, COUNT * 4);
    EXPECT_OK(call_operator("Cast", 1, &source, tensor(ACL_INT64, 1, dims, to, COUNT * 8), NULL, stream));
    /* A host value is read during the call; every run uses it. */
    int64_t length[] = {10};
    int64_t value = 77;
    Tensor fill[] = {host_int64_tensor(1, length), tensor(ACL_INT64, 0, NULL, &value, sizeof value)};
    EXPECT_OK(aclSetTensorPlaceMent(fill[1].desc, ACL_MEMTYPE_HOST));
    EXPECT_OK(call_operator("Fill", 2, fill, tensor(ACL_INT64, 1, length, to, COUNT * 8), NULL, stream));
    value = 0;
    aclmdlRI graph = NULL;
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));

    for (int run = 1; run <= 3; run++) {
        for (int i = 0; i < COUNT; i++) {
            floats[i] = (float)(run * i) + 0.5f;
        }
        EXPECT_OK(aclrtMemcpyAsync(from, COUNT * 4, floats, COUNT * 4, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
        EXPECT_OK(aclrtMemcpyAsync(ints, COUNT * 8, to, COUNT * 8, ACL_MEMCPY_DEVICE_TO_HOST, stream));
        EXPECT_OK(aclrtSynchronizeStream(stream));
        for (int i = 0; i < COUNT; i++) {
            int64_t expected = i < 10 ? 77 : run * i;
            EXPECT_TRUE(ints[i] == expected, "run %d: element %d is %lld", run, i, (long long)ints[i]);
        }
    }
    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_OK(aclrtFree(from));
    EXPECT_OK(aclrtFree(to));
    EXPECT_OK(aclrtFreeHost(floats));
    EXPECT_OK(aclrtFreeHost(ints));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
