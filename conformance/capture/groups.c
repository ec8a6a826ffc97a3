// soc: Ascend910B Ascend310P
/* Task groups: captured tasks can be given new parameters, also after the graph was launched. */
#include "../expect.h"
#include "graph.h"

#define SIZE 4096

static struct gate gate = GATE_INITIALIZER;

static aclError read_back(void *output, const void *device, aclrtStream stream)
{
    return aclrtMemcpyAsync(output, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), update = new_stream();
    uint8_t *output = (uint8_t *)pinned_memory(SIZE), *other = (uint8_t *)pinned_memory(SIZE);
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    aclrtTaskGrp group = NULL, second = NULL;
    aclmdlRI graph = NULL;
    device_fill(device, SIZE, 1);

    EXPECT_CODE(aclmdlRICaptureTaskGrpBegin(stream), 107029); /* not capturing */
    EXPECT_CODE(aclmdlRICaptureTaskGrpEnd(stream, &group), 107029);
    EXPECT_FAILS(aclmdlRICaptureTaskUpdateBegin(update, NULL));
    EXPECT_FAILS(aclmdlRICaptureTaskUpdateBegin(update, stream));
    EXPECT_SOFTACL_CODE(aclmdlRICaptureTaskUpdateEnd(update), 107033);

    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_SOFTACL_CODE(aclmdlRICaptureTaskGrpEnd(stream, &group), 107033); /* no group has begun */
    EXPECT_OK(aclmdlRICaptureTaskGrpBegin(stream));
    EXPECT_SOFTACL_CODE(aclmdlRICaptureTaskGrpBegin(stream), 107033);
    EXPECT_FAILS(aclmdlRICaptureTaskGrpEnd(stream, NULL));
    EXPECT_OK(read_back(output, device, stream));
    EXPECT_OK(aclmdlRICaptureTaskGrpEnd(stream, &group));
    EXPECT_OK(aclmdlRICaptureTaskGrpBegin(stream));
    EXPECT_OK(aclrtMemsetAsync(device, SIZE, 0, 8, stream));
    EXPECT_OK(aclmdlRICaptureTaskGrpEnd(stream, &second));
    EXPECT_FAILS(aclmdlRICaptureTaskUpdateBegin(update, group)); /* still captured */
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));

    EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_PATTERN(output, SIZE, 1);
    EXPECT_DEVICE_VALUE(device, 8, 0);

    /* An update replaces the parameters of the task; submitting it does not run it. */
    device_fill(device, SIZE, 2);
    memset(output, 0, SIZE);
    EXPECT_OK(aclmdlRICaptureTaskUpdateBegin(update, group));
    EXPECT_SOFTACL_CODE(aclmdlRICaptureTaskUpdateBegin(update, second), 107033);
    EXPECT_OK(read_back(other, device, update));
    EXPECT_OK(aclmdlRICaptureTaskUpdateEnd(update));
    EXPECT_OK(aclrtSynchronizeStream(update));
    EXPECT_VALUE(other, SIZE, 0);
    EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_PATTERN(other, SIZE, 2);
    EXPECT_VALUE(output, SIZE, 0);

    /* An update with other tasks than the group has is refused without effect. */
    EXPECT_OK(aclmdlRICaptureTaskUpdateBegin(update, group));
    EXPECT_SOFTACL_CODE(aclmdlRICaptureTaskUpdateEnd(update), 107040);
    EXPECT_OK(aclmdlRICaptureTaskUpdateBegin(update, group));
    EXPECT_OK(aclrtMemsetAsync(device, SIZE, 0, SIZE, update));
    EXPECT_SOFTACL_CODE(aclmdlRICaptureTaskUpdateEnd(update), 107040);
    EXPECT_OK(aclmdlRICaptureTaskUpdateBegin(update, group));
    EXPECT_OK(read_back(output, device, update));
    EXPECT_OK(read_back(output, device, update));
    EXPECT_SOFTACL_CODE(aclmdlRICaptureTaskUpdateEnd(update), 107040);
    device_fill(device, SIZE, 3);
    EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_PATTERN(other, SIZE, 3);
    EXPECT_VALUE(output, SIZE, 0);

    /* A launched graph that has not reached the group takes the new parameters. */
    device_fill(device, SIZE, 4);
    gate_close(&gate, stream);
    EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
    EXPECT_OK(aclmdlRICaptureTaskUpdateBegin(update, group));
    EXPECT_OK(read_back(output, device, update));
    EXPECT_OK(aclmdlRICaptureTaskUpdateEnd(update));
    EXPECT_OK(aclrtSynchronizeStream(update));
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_PATTERN(output, SIZE, 4);
    EXPECT_PATTERN(other, SIZE, 3);

    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_FAILS(aclmdlRICaptureTaskUpdateBegin(update, group)); /* destroyed with its graph */
    EXPECT_OK(aclrtFreeHost(output));
    EXPECT_OK(aclrtFreeHost(other));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(update));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
