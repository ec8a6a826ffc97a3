// soc: all
// softacl-only
// schedules: all
/* The Cast operator copies and converts the elements, in stream order. */
#include "call.h"

#define COUNT 1000

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    float *floats = (float *)pinned_memory(COUNT * sizeof *floats);
    int32_t *ints = (int32_t *)pinned_memory(COUNT * sizeof *ints);
    aclFloat16 *halves = (aclFloat16 *)pinned_memory(COUNT * sizeof *halves);
    void *from = device_memory(COUNT * sizeof *floats);
    void *to = device_memory(COUNT * sizeof *ints);
    for (int i = 0; i < COUNT; i++) {
        floats[i] = ((float)i - 500.0f) * 1.25f;
    }
    int64_t dims[] = {10, COUNT / 10};

    /* Queued between two copies: it reads the result of the first, and the second reads its result. */
    EXPECT_OK(aclrtMemcpyAsync(from, COUNT * 4, floats, COUNT * 4, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    aclopAttr *attr = aclopCreateAttr();
    EXPECT_OK(aclopSetAttrInt(attr, "dst_type", ACL_INT32));
    Tensor source = tensor(ACL_FLOAT, 2, dims, from, COUNT * 4);
    EXPECT_OK(call_operator("Cast", 1, &source, tensor(ACL_INT32, 2, dims, to, COUNT * 4), attr, stream));
    aclopDestroyAttr(attr);
    EXPECT_OK(aclrtMemcpyAsync(ints, COUNT * 4, to, COUNT * 4, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    for (int i = 0; i < COUNT; i++) {
        EXPECT_TRUE(ints[i] == (int32_t)floats[i], "element %d is %d", i, ints[i]);
    }

    source = tensor(ACL_FLOAT, 2, dims, from, COUNT * 4);
    EXPECT_OK(call_operator("Cast", 1, &source, tensor(ACL_FLOAT16, 2, dims, to, COUNT * 2), NULL, stream));
    EXPECT_OK(aclrtMemcpyAsync(halves, COUNT * 2, to, COUNT * 2, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    for (int i = 0; i < COUNT; i++) {
        EXPECT_TRUE(halves[i] == aclFloatToFloat16(floats[i]), "element %d is %#x", i, halves[i]);
    }

    EXPECT_OK(aclrtFree(from));
    EXPECT_OK(aclrtFree(to));
    EXPECT_OK(aclrtFreeHost(floats));
    EXPECT_OK(aclrtFreeHost(ints));
    EXPECT_OK(aclrtFreeHost(halves));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
