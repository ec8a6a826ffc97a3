// soc: all
// softacl-only
// expects: M1
/* Invalid operator arguments are errors of the call, and the output is not written. */
#include "call.h"

#define SIZE 64

static void *device;
static aclrtStream stream;

static Tensor vector(aclDataType type, int64_t count, size_t size)
{
    return tensor(type, 1, &count, device, size);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    stream = new_stream();
    device = device_memory(SIZE);
    REQUIRE_OK(aclrtMemset(device, SIZE, 7, SIZE));
    uint8_t host[SIZE] = {0};

    Tensor input = vector(ACL_FLOAT, 16, SIZE);
    EXPECT_FAILS(call_operator("Cast", 1, &input, vector(ACL_FLOAT16, 8, SIZE), NULL, stream)); /* shapes differ */
    input = vector(ACL_FLOAT, 16, SIZE);
    /* unsupported conversion */
    EXPECT_FAILS(call_operator("Cast", 1, &input, vector(ACL_COMPLEX64, 16, SIZE * 2), NULL, stream));
    input = vector(ACL_FLOAT, 32, SIZE);
    /* exceeds the buffer */
    EXPECT_FAILS(call_operator("Identity", 1, &input, vector(ACL_FLOAT, 32, SIZE), NULL, stream));
    input = vector(ACL_FLOAT, 32, SIZE * 2);
    /* exceeds the allocation */
    EXPECT_FAILS(call_operator("Identity", 1, &input, vector(ACL_FLOAT, 32, SIZE * 2), NULL, stream));
    input = tensor(ACL_FLOAT, 1, (const int64_t[]){16}, host, SIZE);
    EXPECT_FAILS(call_operator("Identity", 1, &input, vector(ACL_FLOAT, 16, SIZE), NULL, stream)); /* pageable memory */
    input = vector(ACL_FLOAT, -1, SIZE);
    EXPECT_FAILS(call_operator("Identity", 1, &input, vector(ACL_FLOAT, -1, SIZE), NULL, stream)); /* unknown shape */
    int64_t order[] = {0, 0};
    int64_t square[] = {4, 4};
    Tensor repeated_axis[] = {tensor(ACL_FLOAT, 2, square, device, SIZE), host_int64_tensor(2, order)};
    EXPECT_FAILS(call_operator("Transpose", 2, repeated_axis, tensor(ACL_FLOAT, 2, square, device, SIZE), NULL,
                               stream));
    EXPECT_CODE(aclopCompileAndExecute(NULL, 0, NULL, NULL, 0, NULL, NULL, NULL, ACL_ENGINE_SYS, ACL_COMPILE_SYS, NULL,
                                       stream), 100000);
    input = vector(ACL_FLOAT, 16, SIZE);
    aclDestroyTensorDesc(input.desc); /* now a stale description */
    const aclTensorDesc *descs[] = {input.desc};
    const aclDataBuffer *buffers[] = {input.buffer};
    aclDataBuffer *outputs[] = {input.buffer};
    EXPECT_SOFTACL_CODE(aclopCompileAndExecute("Identity", 1, descs, buffers, 1, descs, outputs, NULL, ACL_ENGINE_SYS,
                                               ACL_COMPILE_SYS, NULL, stream), 100000);
    EXPECT_OK(aclDestroyDataBuffer(input.buffer));

    EXPECT_OK(aclrtSynchronizeStream(stream));
    REQUIRE_OK(aclrtMemcpy(host, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
    for (int i = 0; i < SIZE; i++) {
        EXPECT_TRUE(host[i] == 7, "byte %d is %d", i, host[i]);
    }
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
