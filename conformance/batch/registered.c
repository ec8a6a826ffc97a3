// soc: Ascend910B Ascend910C Ascend950
// expects: B1
/* Registered host memory in batches is pinned: the queued forms return before the copies run. Entries with other host
 * memory beside it make the call wait. */
#include "variants.h"

#define PAGE 4096
#define ITEMS 3

static struct gate gate = GATE_INITIALIZER;

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    void *memory = NULL;
    REQUIRE_TRUE(posix_memalign(&memory, PAGE, ITEMS * PAGE) == 0, "posix_memalign");
    uint8_t *host = (uint8_t *)memory, *device = (uint8_t *)device_memory(ITEMS * PAGE);
    uint8_t *pinned = (uint8_t *)pinned_memory(PAGE);
    void *dsts[ITEMS], *srcs[ITEMS];
    size_t sizes[ITEMS], indexes[1] = {0};
    aclrtMemcpyBatchAttr attrs[1] = {host_to_device()};
    struct batch b = {dsts, sizes, srcs, sizes, ITEMS, attrs, indexes, 1};
    for (size_t i = 0; i < ITEMS; i++) {
        dsts[i] = device + i * PAGE;
        srcs[i] = i == 1 ? pinned : host + i * PAGE;
        sizes[i] = PAGE - i; /* the last one ends before the end of the registered range */
    }
    REQUIRE_OK(aclrtHostRegisterV2(host, ITEMS * PAGE, ACL_HOST_REG_MAPPED | ACL_HOST_REG_PINNED));
    for (int f = 0; f < VARIANTS; f++) {
        enum variant variant = (enum variant)f;
        fill_pattern(host, ITEMS * PAGE, 1);
        fill_pattern(pinned, PAGE, 2);
        REQUIRE_OK(aclrtMemset(device, ITEMS * PAGE, 0, ITEMS * PAGE));
        if (is_async(variant)) {
            gate_close(&gate, stream);
        }
        EXPECT_BATCH(variant, b, stream, 0, SIZE_MAX);
        if (is_async(variant)) {
            EXPECT_TRUE(stream_is_busy(stream), "the copies are not queued");
            gate_open(&gate);
        }
        EXPECT_OK(aclrtSynchronizeStream(stream));
        EXPECT_DEVICE_PATTERN(device, PAGE, 1);
        EXPECT_DEVICE_PATTERN(device + PAGE, PAGE - 1, 2);
        uint8_t *bytes = device_bytes(device + 2 * PAGE, PAGE);
        EXPECT_TRUE(memcmp(bytes, host + 2 * PAGE, PAGE - 2) == 0, "the third entry differs");
        EXPECT_VALUE(bytes + PAGE - 2, 2, 0);
        free(bytes);
    }
    /* A range that leaves the registered memory is refused, with the entry. */
    sizes[2] = PAGE + 1;
    EXPECT_FAILS(batch_call(SYNC_V2, b, NULL, stream));
    EXPECT_TRUE(strstr(aclGetRecentErrMsg(), "entry 2:") != NULL || !on_softacl(), "the message names no entry");
    EXPECT_OK(aclrtHostUnregister(host));
    free(host);
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
