// soc: Ascend910B Ascend950
// schedules: all
/* aclrtSwitchLabelByIndex jumps to the label whose index is in device memory; a larger index means the last label.
 * Jumps backwards make loops. */
#include "../expect.h"
#include "build.h"

#define LOOPS 50

static void write_word(void *device, uint32_t value)
{
    REQUIRE_OK(aclrtMemcpy(device, 4, &value, 4, ACL_MEMCPY_HOST_TO_DEVICE));
}

static uint32_t read_word(const void *device)
{
    uint32_t value = 0;
    REQUIRE_OK(aclrtMemcpy(&value, 4, device, 4, ACL_MEMCPY_DEVICE_TO_HOST));
    return value;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    uint8_t *index = (uint8_t *)device_memory(4), *one = (uint8_t *)device_memory(4);
    uint8_t *count = (uint8_t *)device_memory(4), *skipped = (uint8_t *)device_memory(4);
    aclmdlRI graph = NULL;
    aclrtLabel labels[LOOPS + 1], again = NULL, done = NULL, three[3];
    aclrtLabelList list = NULL;
    write_word(one, 1);

    /* again: count++, index++; continue while index < LOOPS; what stands between the jump and `done` is skipped */
    REQUIRE_OK(aclmdlRIBuildBegin(&graph, 0));
    aclrtStream stream = bound_stream(graph, BIND_HEAD);
    REQUIRE_OK(aclrtCreateLabel(&again));
    REQUIRE_OK(aclrtCreateLabel(&done));
    for (int i = 0; i <= LOOPS; i++) {
        labels[i] = i < LOOPS ? again : done;
    }
    REQUIRE_OK(aclrtCreateLabelList(labels, LOOPS + 1, &list));
    EXPECT_OK(aclrtMemsetAsync(index, 4, 0, 4, stream));
    EXPECT_OK(aclrtMemsetAsync(count, 4, 0, 4, stream));
    EXPECT_OK(aclrtSetLabel(again, stream));
    EXPECT_OK(aclrtReduceAsync(count, one, 4, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_INT32, stream, NULL));
    EXPECT_OK(aclrtReduceAsync(index, one, 4, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_INT32, stream, NULL));
    EXPECT_OK(aclrtSwitchLabelByIndex(index, LOOPS + 1, list, stream));
    EXPECT_OK(aclrtMemsetAsync(skipped, 4, 0xff, 4, stream));
    EXPECT_OK(aclrtSetLabel(done, stream)); /* a forward jump: set after the switch */
    EXPECT_OK(aclrtReduceAsync(count, one, 4, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_INT32, stream, NULL));
    EXPECT_OK(aclmdlRIEndTask(graph, stream));
    REQUIRE_OK(aclmdlRIBuildEnd(graph, NULL));
    /* The graph has its own copy of the labels. */
    EXPECT_OK(aclrtDestroyLabelList(list));
    EXPECT_OK(aclrtDestroyLabel(again));
    EXPECT_OK(aclrtDestroyLabel(done));
    for (int run = 0; run < 3; run++) {
        write_word(skipped, 7);
        EXPECT_OK(aclmdlRIExecute(graph, -1));
        EXPECT_TRUE(read_word(count) == LOOPS + 1, "%u", read_word(count));
        EXPECT_TRUE(read_word(index) == LOOPS, "%u", read_word(index));
        EXPECT_TRUE(read_word(skipped) == 7, "the skipped task ran");
    }
    release_stream(graph, stream);
    EXPECT_OK(aclmdlRIDestroy(graph));

    /* Three ways, selected before the launch. Runs that are queued one behind the other keep their order. */
    REQUIRE_OK(aclmdlRIBuildBegin(&graph, 0));
    stream = bound_stream(graph, BIND_HEAD);
    for (int i = 0; i < 3; i++) {
        REQUIRE_OK(aclrtCreateLabel(&three[i]));
    }
    REQUIRE_OK(aclrtCreateLabelList(three, 3, &list));
    EXPECT_OK(aclrtSwitchLabelByIndex(index, 3, list, stream));
    for (int i = 0; i < 3; i++) {
        EXPECT_OK(aclrtSetLabel(three[i], stream));
        EXPECT_OK(aclrtMemsetAsync(count, 4, i + 1, 4, stream)); /* falls through to the labels behind it */
        EXPECT_OK(aclrtReduceAsync(skipped, one, 4, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_INT32, stream, NULL));
    }
    REQUIRE_OK(aclmdlRIBuildEnd(graph, NULL));
    aclrtStream launch = new_stream();
    for (uint32_t value = 0; value < 5; value++) {
        uint32_t expected = value < 3 ? 3 - value : 1; /* a larger index selects the last label */
        write_word(index, value);
        write_word(skipped, 0);
        EXPECT_OK(aclmdlRIExecuteAsync(graph, launch));
        EXPECT_OK(aclmdlRIExecuteAsync(graph, launch));
        EXPECT_OK(aclrtSynchronizeStream(launch));
        EXPECT_TRUE(read_word(skipped) == 2 * expected, "index %u: %u steps", value, read_word(skipped));
        EXPECT_TRUE(read_word(count) == 0x03030303, "%#x", read_word(count));
    }
    release_stream(graph, stream);
    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_OK(aclrtDestroyLabelList(list));
    for (int i = 0; i < 3; i++) {
        EXPECT_OK(aclrtDestroyLabel(three[i]));
    }
    EXPECT_OK(aclrtDestroyStream(launch));
    EXPECT_OK(aclrtFree(index));
    EXPECT_OK(aclrtFree(one));
    EXPECT_OK(aclrtFree(count));
    EXPECT_OK(aclrtFree(skipped));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
