/* Marks and ranges: they need no profile, and their arguments are checked. */
#include "../expect.h"

#include "acl/acl_prof.h"

static uint32_t range;

static void *stop_range(void *argument)
{
    EXPECT_OK(aclprofRangeStop(range));
    EXPECT_FAILS(aclprofPop());
    return argument;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    void *stamp = aclprofCreateStamp();
    REQUIRE_TRUE(stamp != NULL, "stamp");
    EXPECT_OK(aclprofMark(stamp));
    EXPECT_OK(aclprofSetStampTraceMessage(stamp, "a step", 6));
    EXPECT_OK(aclprofMark(stamp));
    EXPECT_OK(aclprofPush(stamp));
    EXPECT_OK(aclprofPush(stamp));
    EXPECT_OK(aclprofPop());
    EXPECT_OK(aclprofPop());
    EXPECT_FAILS(aclprofPop());
    EXPECT_OK(aclprofRangeStart(stamp, &range));
    in_new_thread(stop_range, NULL);
    EXPECT_FAILS(aclprofRangeStop(range));
    EXPECT_CODE(aclprofRangeStart(stamp, NULL), ACL_ERROR_INVALID_PARAM);
    EXPECT_CODE(aclprofRangePushEx(NULL), ACL_ERROR_INVALID_PARAM);
    EXPECT_FAILS(aclprofRangePop());

    /* A mark of a stream is a task like others. */
    static struct gate gate = GATE_INITIALIZER;
    gate_close(&gate, stream);
    EXPECT_OK(aclprofMarkEx("begin", 5, stream));
    aclprofStepInfo *step = aclprofCreateStepInfo();
    EXPECT_OK(aclprofGetStepTimestamp(step, ACL_STEP_START, stream));
    EXPECT_OK(aclprofGetStepTimestamp(step, ACL_STEP_END, stream));
    EXPECT_FAILS(aclprofGetStepTimestamp(step, (aclprofStepTag)7, stream));
    EXPECT_TRUE(stream_is_busy(stream), "the marks are queued");
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclprofMarkEx("default", 7, NULL));
    EXPECT_OK(aclrtSynchronizeStream(NULL));
    EXPECT_CODE(aclprofMarkEx(NULL, 5, stream), ACL_ERROR_INVALID_PARAM);

    EXPECT_TRUE(aclprofStr2Id("one") == aclprofStr2Id("one"), "equal texts");
    EXPECT_TRUE(aclprofStr2Id("one") != aclprofStr2Id("two"), "different texts");
    /* A setting has no effect; its text must be readable. */
    EXPECT_OK(aclprofSetConfig((aclprofConfigType)1, "1000", 4));
    EXPECT_CODE(aclprofSetConfig((aclprofConfigType)1, NULL, 4), ACL_ERROR_INVALID_PARAM);
    EXPECT_FAILS(aclprofSetConfig((aclprofConfigType)1, (const char *)64, 4));
    aclprofDestroyStepInfo(step);
    aclprofDestroyStamp(stamp);
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
