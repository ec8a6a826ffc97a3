// soc: all
// schedules: all
// expects: C1 C2 L1
/* Creating and destroying streams: argument checks, configuration flags,
 * and what a normal and a forced destruction do with queued tasks. */
#include "../expect.h"

static struct gate gate = GATE_INITIALIZER;
static aclrtStream shared;

static void *without_context(void *unused)
{
    (void)unused;
    aclrtStream stream = NULL;
    EXPECT_CODE(aclrtCreateStream(NULL), 100000); /* 4.4: arguments are checked before the context */
    EXPECT_CODE(aclrtCreateStream(&stream), 107002);
    EXPECT_CODE(aclrtCreateStreamWithConfig(&stream, 0, 0), 107002);
    return NULL;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtContext primary = NULL, other = NULL;
    REQUIRE_OK(aclrtGetCurrentContext(&primary));
    in_new_thread(without_context, NULL);
    EXPECT_CODE(aclrtCreateStream(NULL), 100000);
    EXPECT_CODE(aclrtDestroyStream(NULL), 100000); /* 4.4: NULL is not the default stream here */
    aclrtStream stream = new_stream();
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_CODE(aclrtDestroyStream(stream), 107017);

    /* 4.4: the priority is clamped, unknown flags are ignored. */
    static const uint32_t flags[] = {0, ACL_STREAM_FAST_LAUNCH, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC,
                                     0x80000000u, 0x40};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        for (uint32_t priority = 0; priority < 20; priority += 6) {
            uint32_t clamped = 99;
            REQUIRE_OK(aclrtCreateStreamWithConfig(&stream, priority, flags[i]));
            EXPECT_OK(aclrtStreamGetPriority(stream, &clamped));
            EXPECT_TRUE(clamped == (priority > 7 ? 7 : priority), "priority %u became %u", priority, clamped);
            EXPECT_OK(aclrtSynchronizeStream(stream));
            EXPECT_OK(aclrtDestroyStream(stream));
        }
    }
    int32_t least = -1, greatest = -1;
    EXPECT_OK(aclrtDeviceGetStreamPriorityRange(&least, &greatest));
    EXPECT_TRUE(least == 7 && greatest == 0, "from %d to %d", greatest, least);
    EXPECT_OK(aclrtCreateStreamWithConfig(&stream, 0, ACL_STREAM_HUGE)); /* correction 20: no effect anywhere */
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtDestroyStream(stream));
    static const uint32_t special[] = {ACL_STREAM_PERSISTENT, ACL_STREAM_CPU_SCHEDULE, ACL_STREAM_DEVICE_USE_ONLY};
    for (int i = 0; i < 3; i++) { /* 4.4: synchronize and query return immediately */
        aclError got = aclrtCreateStreamWithConfig(&stream, 0, special[i]);
        EXPECT_TRUE(got == 0 || got == 207000, "flag %u returned %d", special[i], got);
        if (got == 0) {
            EXPECT_OK(aclrtSynchronizeStream(stream));
            EXPECT_TRUE(!stream_is_busy(stream), "the stream is busy");
            EXPECT_OK(aclrtDestroyStream(stream));
        }
    }

    /* 4.4: a stream of another context cannot be destroyed. */
    shared = new_stream();
    REQUIRE_OK(aclrtCreateContext(&other, 0));
    EXPECT_CODE(aclrtDestroyStream(shared), 107003);
    REQUIRE_OK(aclrtSetCurrentContext(primary));
    EXPECT_OK(aclrtDestroyContext(other));

    /* 4.4, 4.7: destroying a stream waits for its tasks. */
    static int ran;
    for (int i = 0; i < 100; i++) {
        REQUIRE_OK(aclrtLaunchHostFunc(shared, count_up, &ran));
    }
    EXPECT_OK(aclrtDestroyStream(shared));
    EXPECT_TRUE(count_of(&ran) == 100, "%d of 100 had run", count_of(&ran));

    /* 4.4: a forced destruction drops the tasks and does not wait; otherwise this call would not return. */
    static int dropped, after;
    stream = new_stream();
    gate_close(&gate, stream);
    gate_await(&gate);
    for (int i = 0; i < 10; i++) {
        REQUIRE_OK(aclrtLaunchHostFunc(stream, count_up, &dropped));
    }
    EXPECT_OK(aclrtDestroyStreamForce(stream));
    EXPECT_CODE(aclrtSynchronizeStream(stream), 107017);
    gate_open(&gate);
    aclrtStream next = new_stream();
    REQUIRE_OK(aclrtLaunchHostFunc(next, count_up, &after));
    EXPECT_OK(aclrtSynchronizeStream(next));
    EXPECT_OK(aclrtSynchronizeDevice());
    EXPECT_TRUE(count_of(&dropped) == 0 && count_of(&after) == 1, "%d dropped tasks ran", count_of(&dropped));
    EXPECT_OK(aclrtDestroyStreamForce(next));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
