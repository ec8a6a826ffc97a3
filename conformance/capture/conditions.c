// soc: Ascend910B Ascend910C Ascend950
// schedules: all
// softacl-only
/* Conditional tasks (IF, SWITCH, WHILE). The prototypes are documented,
 * their combined use is not: this is softacl's interpretation. */
#include "../expect.h"
#include "graph.h"

#define SIZE 256

static uint64_t *values; /* pinned; the graph copies its condition value from here */

/* Captures into a sub-graph a memset of `count` bytes at `target` to the byte at `value`. */
static void capture_memset(aclrtStream stream, aclmdlRI graph, void *target, const uint8_t *value, size_t count)
{
    aclmdlRI ended = NULL;
    REQUIRE_OK(aclmdlRICaptureToModelRIBegin(stream, graph, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_OK(aclrtMemsetAsync(target, count, *value, count, stream));
    EXPECT_OK(aclmdlRICaptureEnd(stream, &ended));
    EXPECT_TRUE(ended == graph, "another graph was returned");
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), side = new_stream();
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    values = (uint64_t *)pinned_memory(SIZE);
    static const uint8_t marks[] = {0x11, 0x22, 0x33};
    aclmdlRI graph = NULL, subs[3] = {NULL, NULL, NULL}, unknown = NULL;
    aclmdlRICondHandle choice = NULL, loop = NULL;
    uint64_t *cell = NULL, *loop_count = NULL;
    aclmdlRICaptureStatus status;

    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_OK(aclmdlRICaptureGetInfo(stream, &status, &graph));
    REQUIRE_OK(aclmdlRICondHandleCreate(graph, 1, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, &choice));
    REQUIRE_OK(aclmdlRICondHandleGetCondPtr(choice, &cell));
    EXPECT_CODE(aclmdlRICondHandleCreate(graph, 1, (aclmdlRICondHandleFlag)2, &loop), 107000);
    EXPECT_CODE(aclmdlRICondHandleCreate(NULL, 1, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, &loop), 100000);
    EXPECT_CODE(aclmdlRICondHandleCreate(graph, 1, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, NULL), 100000);
    EXPECT_CODE(aclmdlRICondHandleGetCondPtr(stream, &cell), 107017);
    /* The graph copies the condition value from host memory. */
    EXPECT_OK(aclrtMemcpyAsync(cell, 8, values, 8, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    aclmdlRICondTaskParams switch_params = {choice, ACL_MODEL_RI_COND_TYPE_SWITCH, 3, subs};
    aclmdlRICondTaskParams wrong = switch_params;
    wrong.type = ACL_MODEL_RI_COND_TYPE_WHILE;
    EXPECT_CODE(aclmdlRIAddCondTask(wrong, stream, 0), 107000); /* WHILE takes one sub-graph */
    wrong.type = (aclmdlRICondTaskType)3;
    EXPECT_CODE(aclmdlRIAddCondTask(wrong, stream, 0), 107000);
    wrong.modelRIArray = NULL;
    EXPECT_CODE(aclmdlRIAddCondTask(wrong, stream, 0), 100000);
    EXPECT_CODE(aclmdlRIAddCondTask(switch_params, side, 0), 107029);
    EXPECT_CODE(aclmdlRIAddCondTask(switch_params, stream, 1), 107000);
    EXPECT_OK(aclmdlRIAddCondTask(switch_params, stream, 0));
    for (int i = 0; i < 3; i++) {
        REQUIRE_TRUE(subs[i] != NULL, "sub-graph %d", i);
        capture_memset(side, subs[i], device, &marks[i], SIZE);
    }
    /* already captured */
    EXPECT_FAILS(aclmdlRICaptureToModelRIBegin(side, subs[0], ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_FAILS(aclmdlRICaptureToModelRIBegin(side, graph, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));

    for (uint64_t i = 0; i < 5; i++) {
        values[0] = i;
        REQUIRE_OK(aclrtMemset(device, SIZE, 0x77, SIZE));
        EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
        EXPECT_OK(aclrtSynchronizeStream(stream));
        EXPECT_DEVICE_VALUE(device, SIZE, i < 3 ? marks[i] : 0x77);
    }
    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_FAILS(aclmdlRICondHandleGetCondPtr(choice, &cell)); /* destroyed with the graph */
    EXPECT_FAILS(aclmdlRIDestroy(subs[0]));

    /* IF with an else branch. The default value applies if no task writes the condition. */
    for (uint32_t value = 0; value < 2; value++) {
        REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
        EXPECT_OK(aclmdlRICaptureGetInfo(stream, &status, &graph));
        REQUIRE_OK(aclmdlRICondHandleCreate(graph, value, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, &choice));
        REQUIRE_OK(aclmdlRICondHandleGetCondPtr(choice, &cell));
        aclmdlRICondTaskParams if_params = {choice, ACL_MODEL_RI_COND_TYPE_IF, 2, subs};
        EXPECT_OK(aclmdlRIAddCondTask(if_params, stream, 0));
        capture_memset(side, subs[0], device, &marks[0], SIZE);
        /* 107045: the capture cannot end while a sub-graph is being captured. */
        REQUIRE_OK(aclmdlRICaptureToModelRIBegin(side, subs[1], ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
        EXPECT_CODE(aclmdlRICaptureEnd(stream, &unknown), 107045);
        static int ran;
        EXPECT_CODE(aclrtLaunchHostFunc(side, count_up, &ran), 207000);
        EXPECT_OK(aclrtMemsetAsync(device, SIZE, marks[1], SIZE, side));
        /* 1.2 row 12, 1.5 row 14: the 950 accepts no copies in a sub-graph. */
        aclError copied = aclrtMemcpyAsync(cell, 8, values, 8, ACL_MEMCPY_HOST_TO_DEVICE, side);
        EXPECT_CODE(copied, family() == FAMILY_950 ? 207000 : 0);
        void *dsts[] = {device}, *srcs[] = {values};
        size_t sizes[] = {8}, first[] = {0}, failed = 7;
        aclrtMemcpyBatchAttr attribute;
        memset(&attribute, 0, sizeof attribute);
        attribute.dstLoc.type = ACL_MEM_LOCATION_TYPE_DEVICE;
        attribute.srcLoc.type = ACL_MEM_LOCATION_TYPE_HOST;
        if (family() == FAMILY_950) {
            EXPECT_CODE(aclrtMemcpyBatchAsync(dsts, sizes, srcs, sizes, 1, &attribute, first, 1, &failed, side),
                        207000);
            EXPECT_TRUE(failed == SIZE_MAX, "failIndex %zu", failed);
            EXPECT_OK(aclrtMemcpyAsync(device, 8, device, 8, ACL_MEMCPY_DEFAULT, side)); /* row 11 is checked first */
        }
        EXPECT_OK(aclmdlRICaptureEnd(side, &unknown));
        REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));
        for (int i = 0; i < 2; i++) {
            REQUIRE_OK(aclrtMemset(device, SIZE, 0, SIZE));
            EXPECT_OK(aclmdlRIExecute(graph, -1));
            EXPECT_DEVICE_VALUE(device, SIZE, value != 0 ? marks[0] : marks[1]);
        }
        EXPECT_OK(aclmdlRIDestroy(graph));
    }

    /* WHILE: three iterations, counted by a reduction in the sub-graph. */
    int32_t *counter = (int32_t *)device_memory(8), *decrement = (int32_t *)device_memory(8);
    int32_t minus_one[2] = {-1, 0};
    REQUIRE_OK(aclrtMemcpy(decrement, 8, minus_one, 8, ACL_MEMCPY_HOST_TO_DEVICE));
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_OK(aclmdlRICaptureGetInfo(stream, &status, &graph));
    REQUIRE_OK(aclmdlRICondHandleCreate(graph, 3, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, &loop));
    REQUIRE_OK(aclmdlRICondHandleGetCondPtr(loop, &loop_count));
    aclmdlRICondTaskParams while_params = {loop, ACL_MODEL_RI_COND_TYPE_WHILE, 1, subs};
    EXPECT_OK(aclmdlRIAddCondTask(while_params, stream, 0));
    REQUIRE_OK(aclmdlRICaptureToModelRIBegin(side, subs[0], ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_OK(aclrtReduceAsync(counter, decrement, 4, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_INT32, side, NULL));
    EXPECT_OK(aclrtReduceAsync(loop_count, decrement, 4, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_INT32, side, NULL));
    EXPECT_OK(aclmdlRICaptureEnd(side, &unknown));
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));
    for (int32_t i = 1; i <= 3; i++) {
        EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
        EXPECT_OK(aclrtSynchronizeStream(stream));
        int32_t *count = (int32_t *)device_bytes(counter, 8);
        EXPECT_TRUE(*count == -3 * i, "%d iterations after %d runs", -*count, i);
        free(count);
    }
    EXPECT_OK(aclmdlRIDestroy(graph));

    EXPECT_OK(aclrtFree(counter));
    EXPECT_OK(aclrtFree(decrement));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(values));
    EXPECT_OK(aclrtDestroyStream(side));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
