// soc: Ascend910B Ascend910C Ascend950
// softacl-only
// schedules: all
// env: ASCEND_RT_VISIBLE_DEVICES=2,0
// env: SOFTACL_DEVICES=3
// expects: B1
/* Batches to and from the memory of another device, whose location is declared with the id that the program uses, also
 * if the visible devices are renumbered. A message names the entry and says the locations in words, in every form. */
#include "variants.h"

#define SIZE 256
#define ITEMS 20

static void *dsts[ITEMS], *srcs[ITEMS];
static size_t sizes[ITEMS], indexes[2] = {0, ITEMS / 2};
static aclrtMemcpyBatchAttr attrs[2];

static void expect_message_of(enum variant variant, const char *text)
{
    const char *message = aclGetRecentErrMsg();
    EXPECT_TRUE(!on_softacl() || (message != NULL && strstr(message, text) != NULL), "%s: no %s in %s",
                variant_names[variant], text, message);
}

int main(void)
{
    uint8_t *memory[2];
    for (int32_t d = 1; d >= 0; d--) {
        REQUIRE_OK(aclrtSetDevice(d));
        memory[d] = (uint8_t *)device_memory(ITEMS * SIZE);
    }
    aclrtStream stream = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(ITEMS * SIZE);
    struct batch b = {dsts, sizes, srcs, sizes, ITEMS, attrs, indexes, 2};
    for (int f = 0; f < VARIANTS; f++) {
        enum variant variant = (enum variant)f;
        REQUIRE_OK(aclrtMemset(memory[0], ITEMS * SIZE, 0, ITEMS * SIZE));
        REQUIRE_OK(aclrtMemset(memory[1], ITEMS * SIZE, 0, ITEMS * SIZE));
        fill_pattern(pinned, ITEMS * SIZE, 9);
        for (size_t i = 0; i < ITEMS; i++) { /* the second half goes to the other device */
            dsts[i] = memory[i < ITEMS / 2 ? 0 : 1] + i * SIZE;
            srcs[i] = pinned + i * SIZE;
            sizes[i] = SIZE;
        }
        attrs[0] = host_to_device();
        attrs[1] = attribute(location(ACL_MEM_LOCATION_TYPE_DEVICE, 1), location(ACL_MEM_LOCATION_TYPE_HOST, 0));
        EXPECT_BATCH(variant, b, stream, 0, SIZE_MAX);
        EXPECT_OK(aclrtSynchronizeStream(stream));
        EXPECT_DEVICE_PATTERN(memory[0], ITEMS / 2 * SIZE, 9);
        uint8_t *bytes = device_bytes(memory[1] + ITEMS / 2 * SIZE, ITEMS / 2 * SIZE);
        EXPECT_TRUE(memcmp(bytes, pinned + ITEMS / 2 * SIZE, ITEMS / 2 * SIZE) == 0, "the other device's half");
        free(bytes);

        /* Declared with the physical id, or as the wrong device. */
        attrs[1].dstLoc.id = 2;
        EXPECT_BATCH(variant, b, stream, 107000, ITEMS / 2);
        expect_message_of(variant, "entry 10: destination is memory of device 1, declared device 2");
        attrs[1].dstLoc.id = 0;
        EXPECT_BATCH(variant, b, stream, 107000, ITEMS / 2);
        expect_message_of(variant, "entry 10: destination is memory of device 1, declared device 0");
        attrs[1].dstLoc.id = 1;

        srcs[17] = memory[1];
        EXPECT_BATCH(variant, b, stream, 107000, 17);
        expect_message_of(variant, "entry 17: source is memory of device 1, declared host");
        srcs[17] = pinned;
        attrs[1].srcLoc.type = ACL_MEM_LOCATION_TYPE_UNREGISTERED;
        EXPECT_BATCH(variant, b, stream, 107000, ITEMS / 2);
        expect_message_of(variant, "entry 10: source is pinned host memory, declared unregistered");
        attrs[1].srcLoc.type = ACL_MEM_LOCATION_TYPE_HOST;
        dsts[3] = memory[0] + ITEMS * SIZE - 1;
        EXPECT_BATCH(variant, b, stream, 107000, 3);
        expect_message_of(variant, "entry 3: the destination range exceeds its allocation");
        EXPECT_OK(aclrtSynchronizeStream(stream));
    }
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtFree(memory[0]));
    EXPECT_OK(aclrtFree(memory[1]));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDeviceForce(1));
    REQUIRE_OK(aclrtResetDeviceForce(0));
    return finish();
}
