// soc: Ascend910B
// softacl-only
// must-find: H1 H3
/* Host accesses to sources and destinations of a launched graph, without a wait, are reported. */
#include "../expect.h"

#define SIZE 4096

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    volatile uint8_t *in = (volatile uint8_t *)pinned_memory(SIZE), *out = (volatile uint8_t *)pinned_memory(SIZE);
    void *device = device_memory(SIZE), *other = device_memory(SIZE);
    EXPECT_OK(aclrtMemset(other, SIZE, 1, SIZE));
    aclmdlRI graph = NULL;
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, (void *)in, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtMemcpyAsync((void *)out, SIZE, other, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));
    EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
    in[0] = (uint8_t)(in[0] + 1);  /* H1 */
    uint8_t early = out[0]; /* H3 */
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(out[0] == 1 && early <= 1, "byte 0 is %d, earlier %d", out[0], early);
    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_OK(aclrtFreeHost((void *)in));
    EXPECT_OK(aclrtFreeHost((void *)out));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFree(other));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
