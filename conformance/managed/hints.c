// soc: Ascend910B
// sanitize: address (the thread sanitizer does not know the reserved addresses)
/* Hints for managed memory: advice and prefetches are stored for the bytes they name, and attributes return them. */
#include "../expect.h"

#define PART (1u << 20)
#define SIZE (4 * PART)

static struct gate gate = GATE_INITIALIZER;
static const aclrtMemManagedLocation on_device = {ACL_MEM_LOCATIONTYPE_DEVICE, 1};
static const aclrtMemManagedLocation on_host = {ACL_MEM_LOCATIONTYPE_HOST, 0};

static int32_t attribute(aclrtMemManagedRangeAttribute name, const uint8_t *memory, size_t size)
{
    int32_t value = 77;
    EXPECT_OK(aclrtMemManagedGetAttr(name, memory, size, &value, sizeof value));
    return value;
}

static void check_advice(uint8_t *memory)
{
    uint8_t *second = memory + PART;
    EXPECT_TRUE(attribute(ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, SIZE) == 0, "initially");
    EXPECT_OK(aclrtMemManagedAdvise(second, 2 * PART, ACL_MEM_ADVISE_SET_READ_MOSTLY, on_host));
    EXPECT_TRUE(attribute(ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, second, 2 * PART) == 1, "the advised range");
    EXPECT_TRUE(attribute(ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, second + PART, PART) == 1, "a part of it");
    EXPECT_TRUE(attribute(ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, SIZE) == 0, "more than the range");
    EXPECT_OK(aclrtMemManagedAdvise(second, PART, ACL_MEM_ADVISE_UNSET_READ_MOSTLY, on_host));
    EXPECT_TRUE(attribute(ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, second, 2 * PART) == 0, "withdrawn in part");

    EXPECT_OK(aclrtMemManagedAdvise(memory, SIZE, ACL_MEM_ADVISE_SET_PREFERRED_LOCATION, on_device));
    EXPECT_TRUE(attribute(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, memory, SIZE) == 1, "device 1");
    EXPECT_TRUE(attribute(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, memory, SIZE) == ACL_MEM_LOCATIONTYPE_DEVICE,
                "type");
    EXPECT_TRUE(attribute(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID, memory, SIZE) == 1, "id");
    EXPECT_OK(aclrtMemManagedAdvise(memory, PART, ACL_MEM_ADVISE_SET_PREFERRED_LOCATION, on_host));
    EXPECT_TRUE(attribute(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, memory, PART) == ACL_MEM_LOCATIONTYPE_HOST,
                "host");
    EXPECT_TRUE(attribute(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, memory, SIZE)
                    == ACL_MEM_LOCATIONTYPE_INVALID, "two places");
    EXPECT_OK(aclrtMemManagedAdvise(memory, SIZE, ACL_MEM_ADVISE_UNSET_PREFERRED_LOCATION, on_host));
    EXPECT_TRUE(attribute(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, memory, PART)
                    == ACL_MEM_LOCATIONTYPE_INVALID, "withdrawn");

    int32_t devices[3] = {7, 7, 7};
    EXPECT_OK(aclrtMemManagedAdvise(memory, SIZE, ACL_MEM_ADVISE_SET_ACCESSED_BY, on_device));
    EXPECT_OK(aclrtMemManagedGetAttr(ACL_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, memory, SIZE, devices, sizeof devices));
    EXPECT_TRUE(devices[0] == 1 && devices[1] < 0 && devices[2] < 0, "%d %d %d", devices[0], devices[1], devices[2]);
    EXPECT_OK(aclrtMemManagedAdvise(memory, SIZE, ACL_MEM_ADVISE_UNSET_ACCESSED_BY, on_device));
    EXPECT_OK(aclrtMemManagedGetAttr(ACL_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, memory, SIZE, devices, sizeof devices));
    EXPECT_TRUE(devices[0] < 0, "%d", devices[0]);
}

static void check_prefetch(uint8_t *memory, aclrtStream stream)
{
    gate_close(&gate, stream);
    EXPECT_OK(aclrtMemManagedPrefetchAsync(memory, PART, on_device, 0, stream));
    EXPECT_TRUE(stream_is_busy(stream), "the prefetch is not a task of the stream");
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(attribute(ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, memory, PART) == 1, "device 1");
    EXPECT_TRUE(attribute(ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE, memory + PART, PART)
                    == ACL_MEM_LOCATIONTYPE_INVALID, "never prefetched");

    const void *ranges[3] = {memory, memory + PART, memory + 2 * PART};
    size_t sizes[3] = {PART, PART, PART}, firsts[2] = {0, 1};
    aclrtMemManagedLocation places[2] = {on_host, on_device};
    EXPECT_OK(aclrtMemManagedPrefetchBatchAsync(ranges, sizes, 3, places, firsts, 2, 0, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(attribute(ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE, memory, PART)
                    == ACL_MEM_LOCATIONTYPE_HOST, "range 0");
    EXPECT_TRUE(attribute(ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID, memory + PART, 2 * PART) == 1,
                "ranges 1 and 2");
    firsts[0] = 1;
    EXPECT_FAILS(aclrtMemManagedPrefetchBatchAsync(ranges, sizes, 3, places, firsts, 2, 0, stream));
    firsts[0] = 0;
    firsts[1] = 3;
    EXPECT_FAILS(aclrtMemManagedPrefetchBatchAsync(ranges, sizes, 3, places, firsts, 2, 0, stream));
    firsts[1] = 1;
    EXPECT_FAILS(aclrtMemManagedPrefetchBatchAsync(ranges, sizes, 3, places, firsts, 2, 1, stream));
    EXPECT_CODE(aclrtMemManagedPrefetchBatchAsync(NULL, sizes, 3, places, firsts, 2, 0, stream), 100000);
}

static void check_arguments(uint8_t *memory, aclrtStream stream)
{
    const aclrtMemManagedLocation nowhere = {ACL_MEM_LOCATIONTYPE_INVALID, 0}, missing = {ACL_MEM_LOCATIONTYPE_DEVICE, 99};
    int32_t value = 0;
    void *device = device_memory(PART);
    EXPECT_CODE(aclrtMemManagedAdvise(NULL, PART, ACL_MEM_ADVISE_SET_READ_MOSTLY, on_host), 100000);
    EXPECT_FAILS(aclrtMemManagedAdvise(memory, 0, ACL_MEM_ADVISE_SET_READ_MOSTLY, on_host));
    EXPECT_FAILS(aclrtMemManagedAdvise(memory, SIZE + 1, ACL_MEM_ADVISE_SET_READ_MOSTLY, on_host));
    EXPECT_FAILS(aclrtMemManagedAdvise(device, PART, ACL_MEM_ADVISE_SET_READ_MOSTLY, on_host));
    EXPECT_FAILS(aclrtMemManagedAdvise(memory, PART, (aclrtMemManagedAdviseType)6, on_host));
    EXPECT_FAILS(aclrtMemManagedAdvise(memory, PART, ACL_MEM_ADVISE_SET_PREFERRED_LOCATION, nowhere));
    EXPECT_FAILS(aclrtMemManagedAdvise(memory, PART, ACL_MEM_ADVISE_SET_PREFERRED_LOCATION, missing));
    EXPECT_FAILS(aclrtMemManagedPrefetchAsync(memory, PART, missing, 0, stream));
    EXPECT_FAILS(aclrtMemManagedPrefetchAsync(memory, PART, on_host, 1, stream));
    EXPECT_CODE(aclrtMemManagedPrefetchAsync(memory, PART, on_host, 0, stale_stream()), 107017);
    EXPECT_FAILS(aclrtMemManagedPrefetchAsync(device, PART, on_host, 0, stream));
    EXPECT_CODE(aclrtMemManagedGetAttr(ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, PART, NULL, 4), 100000);
    EXPECT_FAILS(aclrtMemManagedGetAttr(ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, PART, &value, 3));
    EXPECT_FAILS(aclrtMemManagedGetAttr(ACL_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, memory, PART, &value, 0));
    static int32_t many[4096];
    EXPECT_FAILS(aclrtMemManagedGetAttr(ACL_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, memory, PART, many, (size_t)1 << 34));
    EXPECT_FAILS(aclrtMemManagedGetAttr(ACL_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, memory, PART, many, (size_t)-4));
    EXPECT_VALUE((uint8_t *)many, sizeof many, 0); /* refused before the first element is written */
    EXPECT_FAILS(aclrtMemManagedGetAttr((aclrtMemManagedRangeAttribute)0, memory, PART, &value, 4));

    aclrtMemManagedRangeAttribute names[2] = {ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                                              ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE};
    int32_t found[2] = {7, 7};
    void *places[2] = {&found[0], &found[1]};
    size_t sizes[2] = {4, 4};
    EXPECT_OK(aclrtMemManagedGetAttrs(names, 2, memory, PART, places, sizes));
    EXPECT_TRUE(found[0] == 0 && found[1] == ACL_MEM_LOCATIONTYPE_HOST, "%d %d", found[0], found[1]);
    EXPECT_FAILS(aclrtMemManagedGetAttrs(names, 0, memory, PART, places, sizes));
    places[1] = NULL;
    EXPECT_CODE(aclrtMemManagedGetAttrs(names, 2, memory, PART, places, sizes), 100000);
    EXPECT_OK(aclrtFree(device));
}

int main(void)
{
    void *memory = NULL;
    REQUIRE_OK(aclrtSetDevice(0));
    REQUIRE_OK(aclrtMemAllocManaged(&memory, SIZE, ACL_RT_MEM_ATTACH_GLOBAL));
    aclrtStream stream = new_stream();
    check_advice((uint8_t *)memory);
    check_prefetch((uint8_t *)memory, stream);
    check_arguments((uint8_t *)memory, stream);
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtFree(memory));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
