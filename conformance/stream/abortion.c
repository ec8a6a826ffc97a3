// soc: all
// schedules: all
/* aclrtStreamAbort and aclrtStreamStop clear what is queued on the large products; the others do not have them. */
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
        static int dropped;
        EXPECT_FAILS(aclrtStreamAbort(stale_stream()));
        gate_close(&gate, stream);
        gate_await(&gate);
        for (int i = 0; i < 10; i++) {
            REQUIRE_OK(aclrtLaunchHostFunc(stream, count_up, &dropped));
        }
        /* The host function that holds the stream is running and cannot be taken back; let it end meanwhile. */
        gate_open(&gate);
        aclError got = aclrtStreamAbort(stream);
        EXPECT_CODE(got, 0);
        aclrtSynchronizeStream(stream);
        int seen = count_of(&dropped);
        EXPECT_OK(aclrtSynchronizeDevice());
        EXPECT_TRUE(count_of(&dropped) == seen, "nothing runs later");
    }
    aclrtDestroyStream(stream);
    REQUIRE_OK(aclrtResetDeviceForce(0));
    return finish();
}
