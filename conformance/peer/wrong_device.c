// soc: Ascend910B Ascend950 Ascend310P Ascend310B Ascend910A
// softacl-only
// schedules: all
/* A stream works on the memory of one device. Work within another device fails like a copy between the two devices,
 * until one of them has enabled peer access; copies between the host and another device need none. */
#include "../expect.h"

#define SIZE 1024
#define INNER ACL_MEMCPY_INNER_DEVICE_TO_DEVICE

static uint8_t *here, *there[2], *pinned;
static aclrtStream stream;

/* Expects the result of the work that was just queued, and that the other device's memory is as it says. */
static void expect_end(aclError call, int allowed, uint32_t seed)
{
    EXPECT_OK(call);
    EXPECT_CODE(aclrtSynchronizeStream(stream), allowed ? 0 : copy_failure());
    EXPECT_DEVICE_PATTERN(there[0], SIZE, 1);
    EXPECT_DEVICE_PATTERN(there[1], SIZE, allowed ? seed : 2);
    device_fill(there[1], SIZE, 2);
}

static void check_copies(int allowed)
{
    device_fill(there[0], SIZE, 1);
    device_fill(there[1], SIZE, 2);
    expect_end(aclrtMemcpyAsync(there[1], SIZE, there[0], SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream), allowed, 1);
    if (family_has_batches()) {
        expect_end(aclrtMemcpy2dAsync(there[1], 64, there[0], 64, 64, SIZE / 64, ACL_MEMCPY_DEVICE_TO_DEVICE, stream),
                   allowed, 1);
    }
    EXPECT_OK(aclrtMemsetAsync(there[1], SIZE, 0x5a, SIZE, stream));
    EXPECT_CODE(aclrtSynchronizeStream(stream), allowed ? 0 : copy_failure());
    if (allowed) {
        EXPECT_DEVICE_VALUE(there[1], SIZE, 0x5a);
    } else {
        EXPECT_DEVICE_PATTERN(there[1], SIZE, 2);
    }
    device_fill(there[1], SIZE, 2);
    EXPECT_OK(aclrtReduceAsync(there[1], there[1], SIZE, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_INT32, stream, NULL));
    EXPECT_CODE(aclrtSynchronizeStream(stream), allowed ? 0 : copy_failure());
    device_fill(there[1], SIZE, 2);

    /* The host reaches every device. */
    fill_pattern(pinned, SIZE, 7);
    EXPECT_OK(aclrtMemcpyAsync(there[1], SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(there[1], SIZE, 7);
    memset(pinned, 0, SIZE);
    EXPECT_OK(aclrtMemcpyAsync(pinned, SIZE, there[1], SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_PATTERN(pinned, SIZE, 7);
    device_fill(there[1], SIZE, 2);
}

/* A descriptor on either device that describes a copy on either device. */
static void check_descriptors(int allowed)
{
    size_t size = 0;
    REQUIRE_OK(aclrtGetMemcpyDescSize(INNER, &size));
    void *own = device_memory(size), *other_data = device_memory(SIZE);
    device_fill(here, SIZE, 3);
    REQUIRE_OK(aclrtMemset(other_data, SIZE, 0, SIZE));
    EXPECT_OK(aclrtSetMemcpyDesc(own, INNER, there[0], there[1], SIZE, NULL));
    expect_end(aclrtMemcpyAsyncWithDesc(own, INNER, stream), allowed, 1);

    REQUIRE_OK(aclrtSetDevice(1));
    void *foreign = device_memory(size);
    REQUIRE_OK(aclrtSetDevice(0));
    EXPECT_OK(aclrtSetMemcpyDesc(foreign, INNER, here, other_data, SIZE, NULL));
    EXPECT_OK(aclrtMemcpyAsyncWithDesc(foreign, INNER, stream));
    EXPECT_CODE(aclrtSynchronizeStream(stream), allowed ? 0 : copy_failure());
    if (allowed) {
        EXPECT_DEVICE_PATTERN(other_data, SIZE, 3);
    } else {
        EXPECT_DEVICE_VALUE(other_data, SIZE, 0);
    }
    EXPECT_OK(aclrtSetMemcpyDesc(own, INNER, here, other_data, SIZE, NULL));
    EXPECT_OK(aclrtMemcpyAsyncWithDesc(own, INNER, stream)); /* all on its own device */
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(other_data, SIZE, 3);
    EXPECT_OK(aclrtFree(foreign));
    EXPECT_OK(aclrtFree(other_data));
    EXPECT_OK(aclrtFree(own));
}

/* Address cells on either device. */
static void check_cells(int allowed)
{
    const void *addresses[2] = {there[0], there[1]};
    uint8_t *cells = (uint8_t *)device_memory(2 * sizeof(void *));
    REQUIRE_OK(aclrtMemcpy(cells, sizeof addresses, addresses, sizeof addresses, ACL_MEMCPY_HOST_TO_DEVICE));
    void *source_cell = cells, *target_cell = cells + sizeof(void *);
    expect_end(aclrtMemcpyAsyncWithOffset((void **)target_cell, SIZE, 0, (const void **)source_cell, SIZE, 0, INNER,
                                          stream), allowed, 1);
    EXPECT_OK(aclrtFree(cells));
}

static void check_all(int allowed)
{
    check_copies(allowed);
    if (family_has_descriptors()) {
        check_descriptors(allowed);
    }
    if (family_has_batches() || family() == FAMILY_910) {
        check_cells(allowed);
    }
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(1));
    there[0] = (uint8_t *)device_memory(SIZE);
    there[1] = (uint8_t *)device_memory(SIZE);
    REQUIRE_OK(aclrtSetDevice(0));
    here = (uint8_t *)device_memory(SIZE);
    pinned = (uint8_t *)pinned_memory(SIZE);
    stream = new_stream();

    check_all(0);
    if (family() != FAMILY_310B) { /* which has no peer access */
        EXPECT_OK(aclrtDeviceEnablePeerAccess(1, 0));
        check_all(1);
        EXPECT_OK(aclrtDeviceDisablePeerAccess(1));
        check_all(0);
    }
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtFree(here));
    EXPECT_OK(aclrtFree(there[0]));
    EXPECT_OK(aclrtFree(there[1]));
    REQUIRE_OK(aclrtResetDeviceForce(1));
    REQUIRE_OK(aclrtResetDeviceForce(0));
    return finish();
}
