// soc: Ascend910B
// schedules: all
// softacl-only
/* Capture behavior that no public document specifies: the choices that softacl made, listed in docs/decisions.md. */
#include "../expect.h"
#include "graph.h"

#define SIZE 64

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), other = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(SIZE), *device = (uint8_t *)device_memory(SIZE);
    aclrtEvent event = new_event(), shared = NULL;
    REQUIRE_OK(aclrtCreateEventExWithFlag(&shared, ACL_EVENT_IPC));
    aclmdlRI graph = NULL;
    uint64_t self = (uint64_t)pthread_self();
    REQUIRE_OK(aclrtSubscribeReport(self, other));

    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    EXPECT_CODE(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), 107027);
    EXPECT_CODE(aclrtDestroyStreamForce(stream), 107027);
    EXPECT_CODE(aclrtStreamAbort(stream), 107027);
    EXPECT_CODE(aclrtRecordEvent(shared, stream), 207000);
    EXPECT_CODE(aclrtStreamWaitEvent(stream, shared), 207000);
    EXPECT_OK(aclrtRecordEvent(event, stream));
    order_after(other, stream, event); /* a stream with a subscribed thread joins the capture */
    order_after(stream, other, event);
    /* host memory is set during the call, also in a capture */
    EXPECT_OK(aclrtMemsetAsync(pinned, SIZE, 0x33, SIZE, stream));
    EXPECT_VALUE(pinned, SIZE, 0x33);
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    /* 1.5: synchronous batches ignore captures. */
    void *dsts[] = {device}, *srcs[] = {pinned};
    size_t sizes[] = {SIZE}, first[] = {0}, failed = 7;
    aclrtMemcpyBatchAttr attribute;
    memset(&attribute, 0, sizeof attribute);
    attribute.dstLoc.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    attribute.srcLoc.type = ACL_MEM_LOCATION_TYPE_HOST;
    EXPECT_OK(aclrtMemcpyBatch(dsts, sizes, srcs, sizes, 1, &attribute, first, 1, &failed));
    aclmdlRI capturing = NULL;
    aclmdlRICaptureStatus status;
    EXPECT_OK(aclmdlRICaptureGetInfo(stream, &status, &capturing));
    EXPECT_OK(aclmdlRICaptureGetInfo(stream, &status, NULL));
    EXPECT_CODE(aclmdlRIExecuteAsync(capturing, NULL), 107026);
    EXPECT_CODE(aclmdlRIDestroy(capturing), 107026);
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));
    EXPECT_DEVICE_VALUE(device, SIZE, 0x33); /* copied by the batch */

    /* The event belongs to the graph until it is recorded outside the capture. */
    EXPECT_CODE(aclrtSynchronizeEvent(event), 107028);
    EXPECT_CODE(aclrtStreamWaitEvent(other, event), 107028);
    EXPECT_OK(aclrtRecordEvent(event, other));
    EXPECT_OK(aclrtSynchronizeEvent(event));

    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_CODE(aclmdlRIExecuteAsync(graph, stream), 107027);
    aclmdlRI empty = NULL;
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &empty));
    EXPECT_OK(aclmdlRIDestroy(empty));

    /* A capture cannot end inside a task group. */
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_OK(aclmdlRICaptureTaskGrpBegin(stream));
    EXPECT_CODE(aclmdlRICaptureEnd(stream, &empty), 107033);
    EXPECT_TRUE(capture_status(stream) == ACL_MODEL_RI_CAPTURE_STATUS_NONE, "the capture has not ended");

    /* Unregistering memory invalidates the graph like freeing it. */
    void *pages = NULL, *mapped = NULL;
    REQUIRE_TRUE(posix_memalign(&pages, 4096, 4096) == 0, "posix_memalign");
    REQUIRE_OK(aclrtHostRegister(pages, 4096, ACL_HOST_REGISTER_MAPPED, &mapped));
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pages, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &empty));
    EXPECT_OK(aclmdlRIExecuteAsync(empty, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtHostUnregister(pages));
    EXPECT_CODE(aclmdlRIExecuteAsync(empty, stream), 107000);
    EXPECT_OK(aclmdlRIDestroy(empty));
    free(pages);

    /* A failure inside the graph is reported once, by the stream that launched it. */
    REQUIRE_OK(aclmdlRIDestroy(graph));
    void *desc = NULL;
    REQUIRE_OK(aclrtMalloc(&desc, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    REQUIRE_OK(aclrtMemset(desc, 64, 0xff, 64));
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_OK(aclrtMemcpyAsyncWithDesc(desc, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, stream));
    EXPECT_OK(aclrtMemsetAsync(device, SIZE, 0x44, SIZE, stream)); /* later tasks still run */
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));
    EXPECT_OK(aclmdlRIExecuteAsync(graph, other));
    EXPECT_CODE(aclrtSynchronizeStream(other), 507011);
    EXPECT_OK(aclrtSynchronizeStream(other));
    EXPECT_DEVICE_VALUE(device, SIZE, 0x44);
    EXPECT_CODE(aclmdlRIExecute(graph, -1), 507011);
    EXPECT_OK(aclrtSynchronizeDevice());

    /* After its context ends, a graph can only be destroyed. */
    EXPECT_OK(aclrtUnSubscribeReport(self, other));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFree(desc));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyEvent(event));
    EXPECT_OK(aclrtDestroyEvent(shared));
    REQUIRE_OK(aclrtResetDevice(0));
    REQUIRE_OK(aclrtSetDevice(0));
    EXPECT_CODE(aclmdlRIExecute(graph, -1), 507007);
    EXPECT_OK(aclmdlRIDestroy(graph));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
