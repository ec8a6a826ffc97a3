// soc: all
/* Callbacks of aclrtDeviceTaskAbort run before and after the abort, and can fail it. */
#include "../expect.h"

static int stages[8], count, ran;
static int32_t answer;
static struct gate gate = GATE_INITIALIZER;

static int32_t on_abort(int32_t device, aclrtDeviceTaskAbortStage stage, uint32_t timeout, void *args)
{
    EXPECT_TRUE(device == 0 && timeout == 60000 && args == &count, "%d %u %p", device, timeout, args);
    if (stage == ACL_RT_DEVICE_TASK_ABORT_PRE) {
        gate_open(&gate); /* the host function that the abort waits for may now return */
    }
    if (count < 8) {
        stages[count++] = (int)stage;
    }
    return answer;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    if (!family_has_batches()) {
        EXPECT_CODE(aclrtSetDeviceTaskAbortCallback("abort", on_abort, &count), 207000);
        EXPECT_OK(aclrtResetDevice(0));
        return finish();
    }
    EXPECT_CODE(aclrtSetDeviceTaskAbortCallback(NULL, on_abort, &count), 100000);
    EXPECT_SOFTACL_CODE(aclrtSetDeviceTaskAbortCallback("abort", NULL, NULL), 107000);
    EXPECT_OK(aclrtSetDeviceTaskAbortCallback("abort", on_abort, &count));
    EXPECT_SOFTACL_CODE(aclrtSetDeviceTaskAbortCallback("abort", on_abort, &count), 107000);

    aclrtStream stream = new_stream();
    gate_close(&gate, stream);
    gate_await(&gate);
    REQUIRE_OK(aclrtLaunchHostFunc(stream, count_up, &ran));
    EXPECT_OK(aclrtDeviceTaskAbort(0, 60000));
    EXPECT_TRUE(count == 2 && stages[0] == ACL_RT_DEVICE_TASK_ABORT_PRE && stages[1] == ACL_RT_DEVICE_TASK_ABORT_POST,
                "%d calls", count);
    EXPECT_TRUE(count_of(&ran) <= 1, "%d", count_of(&ran));

    if (on_softacl()) { /* what a failing callback changes is not documented */
        count = 0;
        answer = 5;
        EXPECT_CODE(aclrtDeviceTaskAbort(0, 60000), 507000);
        EXPECT_TRUE(count == 1 && stages[0] == ACL_RT_DEVICE_TASK_ABORT_PRE, "%d calls", count);
        answer = 0;
    }
    EXPECT_OK(aclrtSetDeviceTaskAbortCallback("abort", NULL, NULL));
    count = 0;
    EXPECT_OK(aclrtDeviceTaskAbort(0, 60000));
    EXPECT_TRUE(count == 0, "%d calls", count);
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
