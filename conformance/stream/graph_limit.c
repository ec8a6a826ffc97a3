// soc: Ascend910B Ascend910C Ascend950
// softacl-only
// expects: R1
/* Correction 21: graphs use streams of the limit too. Once they hold some, a device without a free stream returns 207005
 * instead of 207008, from the creation of a stream as well as from the launch of a graph. */
#include "../expect.h"

#define LIMIT 1984

static aclmdlRI capture_copy(aclrtStream stream, void *device, void *pinned)
{
    aclmdlRI graph = NULL;
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    REQUIRE_OK(aclrtMemcpyAsync(device, 64, pinned, 64, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));
    return graph;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    static aclrtStream streams[LIMIT];
    aclrtStream extra = NULL;
    void *device = device_memory(64), *pinned = pinned_memory(64);
    memset(pinned, 0, 64);
    for (int i = 0; i < LIMIT; i++) {
        REQUIRE_OK(aclrtCreateStream(&streams[i]));
    }
    aclmdlRI graphs[2] = {capture_copy(streams[0], device, pinned), capture_copy(streams[0], device, pinned)};
    EXPECT_CODE(aclrtCreateStream(&extra), 207008); /* the program holds all of them */
    EXPECT_CODE(aclmdlRIExecuteAsync(graphs[0], streams[0]), 207005);

    EXPECT_OK(aclrtDestroyStream(streams[LIMIT - 1]));
    EXPECT_OK(aclmdlRIExecuteAsync(graphs[0], streams[0]));
    EXPECT_OK(aclrtSynchronizeStream(streams[0]));
    EXPECT_CODE(aclrtCreateStream(&extra), 207005); /* the graph holds one */
    EXPECT_CODE(aclmdlRIExecuteAsync(graphs[1], streams[0]), 207005);
    EXPECT_OK(aclmdlRIExecuteAsync(graphs[0], streams[0])); /* needs no further stream */
    EXPECT_OK(aclrtSynchronizeStream(streams[0]));

    EXPECT_OK(aclmdlRIDestroy(graphs[0]));
    EXPECT_OK(aclmdlRIExecuteAsync(graphs[1], streams[0]));
    EXPECT_OK(aclrtSynchronizeStream(streams[0]));
    EXPECT_OK(aclmdlRIDestroy(graphs[1]));
    EXPECT_OK(aclrtCreateStream(&streams[LIMIT - 1]));
    EXPECT_CODE(aclrtCreateStream(&extra), 207008);
    for (int i = 0; i < LIMIT; i++) {
        EXPECT_OK(aclrtDestroyStream(streams[i]));
    }
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
