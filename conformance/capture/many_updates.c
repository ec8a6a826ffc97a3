// soc: Ascend910B
// softacl-only
// sanitize: none (the sanitizers hold private memory)
// valgrind: none (valgrind holds private memory)
/* Updating a graph before every run, as decoders do, does not leak memory. */
#include "../expect.h"
#include "graph.h"

enum { UPDATES = 40000 };

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), update = new_stream();
    uint8_t *device = (uint8_t *)device_memory(4096), *pinned = (uint8_t *)pinned_memory(4096);
    aclrtTaskGrp group = NULL;
    aclmdlRI graph = NULL;
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    REQUIRE_OK(aclmdlRICaptureTaskGrpBegin(stream));
    EXPECT_OK(aclrtMemcpyAsync(device, 64, pinned, 64, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    REQUIRE_OK(aclmdlRICaptureTaskGrpEnd(stream, &group));
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));
    size_t early = 0;
    int updates = iterations(UPDATES);
    for (int i = 0; i < updates; i++) {
        REQUIRE_OK(aclmdlRICaptureTaskUpdateBegin(update, group));
        EXPECT_OK(aclrtMemcpyAsync(device + 64 * (i % 8), 64, pinned, 64, ACL_MEMCPY_HOST_TO_DEVICE, update));
        REQUIRE_OK(aclmdlRICaptureTaskUpdateEnd(update));
        EXPECT_OK(aclrtSynchronizeStream(update));
        if (i == updates / 8) {
            early = resident_pages();
        }
    }
    /* A leak of 70 bytes per update would add 600 pages. */
    EXPECT_TRUE(resident_pages() < early + 200, "from %zu to %zu pages", early, resident_pages());
    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtDestroyStream(update));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
