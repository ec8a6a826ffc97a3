// soc: Ascend910B Ascend910C Ascend950
// schedules: all
/* The streams and tasks of a graph: listing them, their types and parameters, changing and disabling them. Changes
 * take effect with aclmdlRIUpdate. */
#include "../expect.h"
#include "graph.h"

#define MAX 16

static uint64_t value_at(const void *device)
{
    uint64_t value = 0;
    REQUIRE_OK(aclrtMemcpy(&value, 8, device, 8, ACL_MEMCPY_DEVICE_TO_HOST));
    return value;
}

static void set_value(void *device, uint64_t value)
{
    REQUIRE_OK(aclrtMemcpy(device, 8, &value, 8, ACL_MEMCPY_HOST_TO_DEVICE));
}

static int type_of(aclmdlRITask task)
{
    aclmdlRITaskType type = (aclmdlRITaskType)-1;
    EXPECT_OK(aclmdlRITaskGetType(task, &type));
    return (int)type;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), side = new_stream();
    aclrtEvent fork = new_event(), join = new_event();
    uint8_t *cell = (uint8_t *)device_memory(8), *other = (uint8_t *)device_memory(8);
    uint8_t *copied = (uint8_t *)device_memory(8);
    aclmdlRI graph = NULL;
    aclrtTaskGrp group = NULL;
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_OK(aclrtValueWait(cell, 5, ACL_STREAM_WAIT_VALUE_EQ, stream));
    order_after(side, stream, fork);
    EXPECT_OK(aclmdlRICaptureTaskGrpBegin(side));
    EXPECT_OK(aclrtValueWrite(other, 7, 0, side));
    EXPECT_OK(aclmdlRICaptureTaskGrpEnd(side, &group));
    order_after(stream, side, join);
    EXPECT_OK(aclrtMemcpyAsync(copied, 8, other, 8, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));

    /* Streams and tasks: the number, then the handles; the same handles every time. */
    aclrtStream streams[MAX] = {NULL}, again[MAX] = {NULL};
    aclmdlRITask tasks[MAX] = {NULL}, side_tasks[MAX] = {NULL};
    uint32_t count = 0;
    EXPECT_OK(aclmdlRIGetStreams(graph, NULL, &count));
    REQUIRE_TRUE(count == 2, "%u streams", count);
    EXPECT_OK(aclmdlRIGetStreams(graph, streams, &count));
    EXPECT_TRUE(count == 2 && streams[0] != NULL && streams[1] != NULL && streams[0] != streams[1], "%u", count);
    count = 1;
    EXPECT_CODE(aclmdlRIGetStreams(graph, again, &count), 107039); /* room for one of two */
    EXPECT_TRUE(again[0] == NULL && count == 2, "%u", count);
    EXPECT_OK(aclmdlRIGetStreams(graph, again, &count));
    EXPECT_TRUE(again[0] == streams[0] && again[1] == streams[1], "other handles");
    EXPECT_CODE(aclmdlRIGetStreams(graph, streams, NULL), 100000);
    EXPECT_FAILS(aclmdlRIGetStreams(NULL, streams, &count));
    EXPECT_OK(aclmdlRIGetTasksByStream(streams[0], NULL, &count));
    REQUIRE_TRUE(count == 4, "%u tasks", count); /* value wait, record, wait, copy */
    EXPECT_OK(aclmdlRIGetTasksByStream(streams[0], tasks, &count));
    count = MAX;
    EXPECT_OK(aclmdlRIGetTasksByStream(streams[1], side_tasks, &count));
    REQUIRE_TRUE(count == 3, "%u tasks", count); /* wait, value write, record */
    EXPECT_FAILS(aclmdlRIGetTasksByStream(stream, tasks, &count)); /* not a stream of the graph */

    EXPECT_TRUE(type_of(tasks[0]) == ACL_MODEL_RI_TASK_VALUE_WAIT, "%d", type_of(tasks[0]));
    EXPECT_TRUE(type_of(tasks[1]) == ACL_MODEL_RI_TASK_EVENT_RECORD, "%d", type_of(tasks[1]));
    EXPECT_TRUE(type_of(tasks[2]) == ACL_MODEL_RI_TASK_EVENT_WAIT, "%d", type_of(tasks[2]));
    EXPECT_TRUE(type_of(tasks[3]) == ACL_MODEL_RI_TASK_DEFAULT, "%d", type_of(tasks[3]));
    EXPECT_TRUE(type_of(side_tasks[1]) == ACL_MODEL_RI_TASK_VALUE_WRITE, "%d", type_of(side_tasks[1]));
    uint32_t first = 0, last = 0;
    EXPECT_OK(aclmdlRITaskGetSeqId(tasks[0], &first));
    EXPECT_OK(aclmdlRITaskGetSeqId(tasks[3], &last));
    EXPECT_TRUE(first < last, "%u, %u", first, last);

    aclmdlRITaskParams params;
    EXPECT_OK(aclmdlRITaskGetParams(tasks[0], &params));
    EXPECT_TRUE(params.type == ACL_MODEL_RI_TASK_VALUE_WAIT && params.valueWait.devAddr == cell
                && params.valueWait.value == 5 && params.valueWait.flag == ACL_STREAM_WAIT_VALUE_EQ
                && params.taskGrp == NULL, "value wait");
    EXPECT_OK(aclmdlRITaskGetParams(tasks[1], &params));
    EXPECT_TRUE(params.eventRecord.event == fork && params.eventRecord.eventFlag == ACL_EVENT_SYNC
                && params.eventRecord.recordFlag == 0, "event record");
    EXPECT_OK(aclmdlRITaskGetParams(tasks[2], &params));
    EXPECT_TRUE(params.eventWait.event == join, "event wait");
    EXPECT_OK(aclmdlRITaskGetParams(side_tasks[1], &params));
    EXPECT_TRUE(params.type == ACL_MODEL_RI_TASK_VALUE_WRITE && params.valueWrite.devAddr == other
                && params.valueWrite.value == 7 && params.taskGrp == group, "value write");
    EXPECT_CODE(aclmdlRITaskGetParams(tasks[0], NULL), 100000);
    EXPECT_FAILS(aclmdlRITaskGetParams(NULL, &params));
    EXPECT_FAILS(aclmdlRITaskGetParams(graph, &params));
    char attribute[256];
    EXPECT_FAILS(aclmdlRIKernelTaskGetAttribute(tasks[0], (aclrtLaunchKernelAttrId)1,
                                                (aclrtLaunchKernelAttrValue *)(void *)attribute)); /* not a kernel */

    set_value(cell, 5);
    EXPECT_OK(aclmdlRIExecute(graph, -1));
    EXPECT_TRUE(value_at(copied) == 7, "%llu", (unsigned long long)value_at(copied));

    /* New parameters take effect with the update, not before. */
    params.valueWrite.value = 11;
    EXPECT_OK(aclmdlRITaskSetParams(side_tasks[1], &params));
    EXPECT_OK(aclmdlRIExecute(graph, -1));
    EXPECT_TRUE(value_at(copied) == 7, "before the update");
    EXPECT_OK(aclmdlRIUpdate(graph));
    EXPECT_OK(aclmdlRIExecute(graph, -1));
    EXPECT_TRUE(value_at(copied) == 11, "after the update");
    EXPECT_OK(aclmdlRITaskGetParams(side_tasks[1], &params));
    EXPECT_TRUE(params.valueWrite.value == 11, "read back");
    EXPECT_FAILS(aclmdlRITaskSetParams(tasks[0], &params)); /* a value wait cannot become a value write */
    params.valueWrite.devAddr = &params;
    EXPECT_FAILS(aclmdlRITaskSetParams(side_tasks[1], &params)); /* not device memory */
    EXPECT_OK(aclmdlRITaskGetParams(tasks[0], &params));
    params.valueWait.value = 6;
    EXPECT_OK(aclmdlRITaskSetParams(tasks[0], &params));
    EXPECT_OK(aclmdlRIUpdate(graph));
    set_value(cell, 6);
    EXPECT_OK(aclmdlRIExecute(graph, -1));

    /* A running graph cannot be updated. */
    set_value(cell, 0);
    EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
    EXPECT_OK(aclmdlRITaskDisable(side_tasks[1]));
    EXPECT_FAILS(aclmdlRIUpdate(graph));
    set_value(cell, 6);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    set_value(other, 100);
    EXPECT_OK(aclmdlRIUpdate(graph));
    EXPECT_OK(aclmdlRIExecute(graph, -1));
    EXPECT_TRUE(value_at(copied) == 100, "a disabled task ran");
    EXPECT_TRUE(type_of(side_tasks[1]) == ACL_MODEL_RI_TASK_VALUE_WRITE, "a disabled task keeps its type");
    EXPECT_OK(aclmdlRITaskDisable(tasks[0])); /* the graph waits no longer */
    EXPECT_OK(aclmdlRIUpdate(graph));
    set_value(cell, 0);
    EXPECT_OK(aclmdlRIExecute(graph, -1));
    EXPECT_FAILS(aclmdlRITaskDisable(tasks[1])); /* a record orders the graph */

    /* The handles end with the graph. */
    EXPECT_OK(aclmdlRIDestroy(graph));
    aclmdlRITaskType type;
    EXPECT_FAILS(aclmdlRITaskGetType(tasks[0], &type));
    EXPECT_FAILS(aclmdlRIGetTasksByStream(streams[0], NULL, &count));
    EXPECT_FAILS(aclmdlRIUpdate(graph));
    EXPECT_OK(aclrtDestroyEvent(fork));
    EXPECT_OK(aclrtDestroyEvent(join));
    EXPECT_OK(aclrtFree(cell));
    EXPECT_OK(aclrtFree(other));
    EXPECT_OK(aclrtFree(copied));
    EXPECT_OK(aclrtDestroyStream(side));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
