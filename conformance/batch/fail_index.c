// soc: Ascend910B Ascend910C Ascend950
// schedules: all
// expects: B1
/* Batch copies, 1.5 row 15: failIndex is the index of the wrong item. On
 * A2 and A3 the asynchronous variants have queued the items before it. */
#include "variants.h"

#define SIZE 64
#define ITEMS 4
#define BAD 2

static uint8_t *pinned, *device, *pageable;
static void *dsts[ITEMS], *srcs[ITEMS];
static size_t maxs[ITEMS], sizes[ITEMS], indexes[ITEMS];
static aclrtMemcpyBatchAttr attrs[ITEMS];
static struct batch b = {dsts, maxs, srcs, sizes, ITEMS, attrs, indexes, ITEMS};

static void reset_batch(void)
{
    for (int i = 0; i < ITEMS; i++) {
        dsts[i] = device + i * SIZE;
        srcs[i] = pinned + i * SIZE;
        maxs[i] = sizes[i] = SIZE;
        attrs[i] = host_to_device();
        indexes[i] = (size_t)i;
    }
    fill_pattern(pinned, ITEMS * SIZE, 7);
    REQUIRE_OK(aclrtMemset(device, ITEMS * SIZE, 0, ITEMS * SIZE));
}

/* Expects that the current batch is refused because of item BAD, and restores it. */
static void expect_refused(enum variant variant, aclrtStream stream, int line)
{
    expect_batch(variant, b, stream, 107000, BAD, __FILE__, line);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    uint8_t *bytes = device_bytes(device, ITEMS * SIZE);
    if (is_async(variant)) {
        if (family() != FAMILY_950) { /* items before BAD are queued, BAD and later ones are not */
            EXPECT_PATTERN(bytes, BAD * SIZE, 7);
        }
    } else { /* every item is validated before the first copy */
        EXPECT_VALUE(bytes, BAD * SIZE, 0);
    }
    EXPECT_VALUE(bytes + (BAD + 1) * SIZE, (ITEMS - BAD - 1) * SIZE, 0);
    free(bytes);
    reset_batch();
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    pinned = (uint8_t *)pinned_memory(ITEMS * SIZE);
    device = (uint8_t *)device_memory(ITEMS * SIZE);
    pageable = (uint8_t *)pageable_memory(ITEMS * SIZE);
    reset_batch();

    for (int f = 0; f < VARIANTS; f++) {
        enum variant variant = (enum variant)f;

        attrs[BAD].dstLoc = location(ACL_MEM_LOCATION_TYPE_HOST, 0); /* 1.5 row 15: the declared location is wrong */
        expect_refused(variant, stream, __LINE__);
        attrs[BAD].srcLoc = location(ACL_MEM_LOCATION_TYPE_DEVICE, 0);
        expect_refused(variant, stream, __LINE__);
        attrs[BAD].dstLoc = location(ACL_MEM_LOCATION_TYPE_DEVICE, 1); /* the device id must match */
        expect_refused(variant, stream, __LINE__);
        attrs[BAD].srcLoc = location(ACL_MEM_LOCATION_TYPE_UNREGISTERED, 0); /* UNREGISTERED never matches */
        expect_refused(variant, stream, __LINE__);
        srcs[BAD] = pageable;
        attrs[BAD].srcLoc = location(ACL_MEM_LOCATION_TYPE_UNREGISTERED, 0); /* not even for unregistered memory */
        expect_refused(variant, stream, __LINE__);
        attrs[BAD].srcLoc = location(ACL_MEM_LOCATION_TYPE_MANAGED, 0);
        expect_refused(variant, stream, __LINE__);

        srcs[BAD] = device + 8, dsts[BAD] = device + 128, sizes[BAD] = 8; /* 1.5 row 15: both ends on one side */
        attrs[BAD] = attribute(location(ACL_MEM_LOCATION_TYPE_DEVICE, 0), location(ACL_MEM_LOCATION_TYPE_DEVICE, 0));
        expect_refused(variant, stream, __LINE__);
        dsts[BAD] = pageable;
        attrs[BAD] = attribute(location(ACL_MEM_LOCATION_TYPE_HOST, 0), location(ACL_MEM_LOCATION_TYPE_HOST, 0));
        expect_refused(variant, stream, __LINE__);

        if (is_async(variant)) {
            sizes[BAD] = 0; /* 1.5 row 15: an empty item among others, async only */
            expect_refused(variant, stream, __LINE__);
            srcs[BAD] = NULL;
            expect_refused(variant, stream, __LINE__);
            dsts[BAD] = NULL;
            expect_refused(variant, stream, __LINE__);
        } else {
            sizes[BAD] = 0; /* the sync variants accept empty items */
            expect_batch(variant, b, stream, 0, SIZE_MAX, __FILE__, __LINE__);
            EXPECT_DEVICE_VALUE(device + BAD * SIZE, SIZE, 0);
            EXPECT_DEVICE_PATTERN(device, BAD * SIZE, 7);
            reset_batch();
            size_t index = UNTOUCHED; /* 1.5 row 15: a null element fails with an undocumented driver error */
            srcs[BAD] = NULL;
            EXPECT_FAILS(batch_call(variant, b, &index, stream));
            if (has_fail_index(variant)) {
                EXPECT_TRUE(index == BAD, "failIndex %zu", index);
            }
            reset_batch();
        }

        /* Accepted: HOST_NUMA counts as HOST, the id of HOST is ignored, pageable memory is HOST. */
        attrs[0].srcLoc = location(ACL_MEM_LOCATION_TYPE_HOST_NUMA, 3);
        attrs[1].srcLoc = location(ACL_MEM_LOCATION_TYPE_HOST, 99);
        fill_pattern(pageable, ITEMS * SIZE, 7);
        srcs[3] = pageable + 3 * SIZE;
        expect_batch(variant, b, stream, 0, SIZE_MAX, __FILE__, __LINE__);
        EXPECT_OK(aclrtSynchronizeStream(stream));
        EXPECT_DEVICE_PATTERN(device, ITEMS * SIZE, 7);
        reset_batch();
    }

    free(pageable);
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
