// soc: Ascend910B
// softacl-only
// must-find: B4
/* Overlapping entries of a captured batch are reported (B4): their order is unspecified in a graph too. */
#include "../expect.h"

#define SIZE 4096

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *host = (uint8_t *)pinned_memory(SIZE), *device = (uint8_t *)device_memory(SIZE);
    memset(host, 3, SIZE);
    void *targets[] = {device, device + 512}, *sources[] = {host, host + 1024};
    size_t sizes[] = {1024, 1024}, capacities[] = {2048, 2048}, first = 0, failed = 0;
    aclrtMemcpyBatchAttr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.dstLoc.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    attributes.srcLoc.type = ACL_MEM_LOCATION_TYPE_HOST;
    aclmdlRI graph = NULL;
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    EXPECT_OK(aclrtMemcpyBatchAsync(targets, capacities, sources, sizes, 2, &attributes, &first, 1, &failed, stream));
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));
    EXPECT_OK(aclmdlRIExecuteAsync(graph, stream)); /* B4 */
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_VALUE(device, 1536, 3);
    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_OK(aclrtFreeHost(host));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
