// soc: Ascend910B
// schedules: all
// expects: M1
/* Building graphs: what the calls refuse. */
#include "../expect.h"
#include "build.h"

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream plain = new_stream(), default_stream = NULL, spare = persistent_stream();
    REQUIRE_OK(aclrtCtxGetCurrentDefaultStream(&default_stream));
    uint8_t *device = (uint8_t *)device_memory(64);
    aclmdlRI graph = NULL, other = NULL;
    aclrtLabel label = NULL, unset = NULL;
    aclrtLabelList list = NULL;

    EXPECT_CODE(aclmdlRIBuildBegin(NULL, 0), 100000);
    EXPECT_FAILS(aclmdlRIBuildBegin(&graph, 1));
    REQUIRE_OK(aclmdlRIBuildBegin(&graph, 0));
    REQUIRE_OK(aclmdlRIBuildBegin(&other, 0));
    EXPECT_FAILS(aclmdlRIBindStream(graph, plain, BIND_HEAD)); /* not persistent */
    EXPECT_FAILS(aclmdlRIBindStream(graph, NULL, BIND_HEAD));
    EXPECT_FAILS(aclmdlRIBindStream(graph, default_stream, BIND_HEAD));
    EXPECT_FAILS(aclmdlRIBindStream(NULL, spare, BIND_HEAD));
    EXPECT_FAILS(aclmdlRIBindStream(plain, spare, BIND_HEAD));
    EXPECT_FAILS(aclmdlRIBindStream(graph, spare, 5));
    EXPECT_FAILS(aclmdlRIUnbindStream(graph, spare));
    EXPECT_FAILS(aclmdlRIEndTask(graph, spare));
    EXPECT_FAILS(aclmdlRIBuildEnd(graph, NULL)); /* no stream starts with the graph */
    EXPECT_FAILS(aclmdlRIBuildEnd(graph, device));

    aclrtStream stream = bound_stream(graph, BIND_HEAD), second = bound_stream(graph, BIND_DEFAULT);
    aclrtStream foreign = bound_stream(other, BIND_HEAD);
    EXPECT_FAILS(aclmdlRIBindStream(other, stream, BIND_HEAD)); /* bound already */
    EXPECT_FAILS(aclmdlRIUnbindStream(other, stream));
    EXPECT_FAILS(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT_FAILS(aclrtDestroyStream(stream));
    aclmdlRICaptureStatus status;
    EXPECT_OK(aclmdlRICaptureGetInfo(stream, &status, NULL));
    EXPECT_TRUE(status == ACL_MODEL_RI_CAPTURE_STATUS_NONE, "a bound stream is not capturing");

    /* Labels and switches: only in streams that are bound to the same graph. */
    EXPECT_CODE(aclrtCreateLabel(NULL), 100000);
    REQUIRE_OK(aclrtCreateLabel(&label));
    REQUIRE_OK(aclrtCreateLabel(&unset));
    EXPECT_FAILS(aclrtSetLabel(label, plain));
    EXPECT_FAILS(aclrtSetLabel(NULL, stream));
    EXPECT_FAILS(aclrtSetLabel(stream, stream));
    EXPECT_OK(aclrtSetLabel(label, stream));
    EXPECT_FAILS(aclrtSetLabel(label, stream)); /* has a position */
    EXPECT_FAILS(aclrtCreateLabelList(&label, 0, &list));
    EXPECT_FAILS(aclrtCreateLabelList(NULL, 1, &list));
    aclrtLabel wrong[] = {label, (aclrtLabel)stream};
    EXPECT_FAILS(aclrtCreateLabelList(wrong, 2, &list));
    REQUIRE_OK(aclrtCreateLabelList(&label, 1, &list));
    EXPECT_FAILS(aclrtSwitchLabelByIndex(device, 0, list, stream));
    EXPECT_FAILS(aclrtSwitchLabelByIndex(device, 2, list, stream)); /* more than the list has */
    EXPECT_FAILS(aclrtSwitchLabelByIndex(device, 1, label, stream));
    EXPECT_FAILS(aclrtSwitchLabelByIndex(device, 1, list, plain));
    EXPECT_FAILS(aclrtSwitchLabelByIndex(&label, 1, list, stream)); /* not device memory */
    EXPECT_FAILS(aclrtActiveStream(foreign, stream));
    EXPECT_FAILS(aclrtActiveStream(plain, stream));
    EXPECT_FAILS(aclrtActiveStream(stream, stream));
    EXPECT_FAILS(aclrtActiveStream(second, plain));
    EXPECT_FAILS(aclrtSwitchStream(device, (aclrtCondition)6, device, ACL_RT_SWITCH_INT32, second, NULL, stream));
    EXPECT_FAILS(aclrtSwitchStream(device, ACL_RT_EQUAL, device, (aclrtCompareDataType)2, second, NULL, stream));
    EXPECT_FAILS(aclrtSwitchStream(NULL, ACL_RT_EQUAL, device, ACL_RT_SWITCH_INT32, second, NULL, stream));
    EXPECT_FAILS(aclrtSwitchStream(device, ACL_RT_EQUAL, device, ACL_RT_SWITCH_INT32, foreign, NULL, stream));
    EXPECT_FAILS(aclrtSwitchStream(device + 60, ACL_RT_EQUAL, device, ACL_RT_SWITCH_INT64, second, NULL, stream));
    EXPECT_OK(aclrtDestroyLabelList(list));
    EXPECT_FAILS(aclrtDestroyLabelList(list));

    /* A jump to a label that has no position, or one in another stream, cannot be completed. */
    REQUIRE_OK(aclrtCreateLabelList(&label, 1, &list));
    EXPECT_OK(aclrtSwitchLabelByIndex(device, 1, list, second));
    EXPECT_FAILS(aclmdlRIBuildEnd(graph, NULL));
    EXPECT_OK(aclmdlRIDestroy(graph)); /* unbinds its streams */
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtDestroyStream(second));
    EXPECT_OK(aclrtDestroyLabelList(list));
    REQUIRE_OK(aclrtCreateLabelList(&unset, 1, &list));
    EXPECT_OK(aclrtSwitchLabelByIndex(device, 1, list, foreign));
    EXPECT_FAILS(aclmdlRIBuildEnd(other, NULL));
    EXPECT_OK(aclrtSetLabel(unset, foreign));
    EXPECT_OK(aclmdlRIEndTask(other, foreign));
    EXPECT_FAILS(aclmdlRIEndTask(other, foreign));
    EXPECT_FAILS(aclrtMemsetAsync(device, 64, 0, 64, foreign)); /* the stream has ended */
    EXPECT_OK(aclmdlRIBuildEnd(other, NULL));
    EXPECT_FAILS(aclmdlRIBuildEnd(other, NULL));
    EXPECT_FAILS(aclmdlRIBindStream(other, spare, BIND_HEAD)); /* complete */

    /* Memory that a switch reads is freed: the graph is refused. */
    EXPECT_OK(aclmdlRIExecute(other, -1));
    EXPECT_OK(aclrtFree(device));
    EXPECT_FAILS(aclmdlRIExecute(other, -1));
    release_stream(other, foreign);
    EXPECT_OK(aclmdlRIDestroy(other));
    EXPECT_OK(aclrtDestroyLabel(label));
    EXPECT_FAILS(aclrtDestroyLabel(label));
    EXPECT_OK(aclrtDestroyLabel(unset));
    EXPECT_OK(aclrtDestroyLabelList(list));
    EXPECT_OK(aclrtDestroyStream(spare));
    EXPECT_OK(aclrtDestroyStream(plain));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
