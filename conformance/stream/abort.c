// soc: all
// schedules: all
/* aclrtStreamAbort drops queued tasks on A2, A3 and 950. The
 * other products refuse aclrtStreamAbort and aclrtStreamStop. */
#include "../expect.h"

static struct gate gate = GATE_INITIALIZER;

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    if (!family_has_batches()) {
        EXPECT_CODE(aclrtStreamAbort(stream), 207000); /* section 6 */
        EXPECT_CODE(aclrtStreamStop(stream), 207000);
    } else {
        static int ran;
        EXPECT_FAILS(aclrtStreamAbort(stale_stream()));
        gate_close(&gate, stream);
        gate_await(&gate);
        for (int i = 0; i < 10; i++) {
            REQUIRE_OK(aclrtLaunchHostFunc(stream, count_up, &ran));
        }
        /* The running host function cannot be dropped; let it finish during the abort. */
        gate_open(&gate);
        aclError got = aclrtStreamAbort(stream);
        EXPECT_CODE(got, 0);
        aclrtSynchronizeStream(stream);
        int seen = count_of(&ran);
        EXPECT_OK(aclrtSynchronizeDevice());
        EXPECT_TRUE(count_of(&ran) == seen, "a task ran after the abort");
    }
    aclrtDestroyStream(stream);
    REQUIRE_OK(aclrtResetDeviceForce(0));
    return finish();
}
