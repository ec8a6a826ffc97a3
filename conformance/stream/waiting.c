// soc: all
// schedules: all
// expects: C2
/* Synchronizing and querying streams: timeouts, contexts and the default stream (4.4). */
#include "../expect.h"

static struct gate gate = GATE_INITIALIZER;
static aclrtStream stream;

static void *without_context(void *unused)
{
    (void)unused;
    aclrtStreamStatus status;
    EXPECT_CODE(aclrtSynchronizeStream(stream), 107002); /* 4.4: a current context is required */
    EXPECT_CODE(aclrtSynchronizeStream(NULL), 107002);
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 10), 107002);
    EXPECT_CODE(aclrtStreamQuery(stream, &status), 107002);
    EXPECT_CODE(aclrtStreamQuery(stream, NULL), 100000);
    return NULL;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    stream = new_stream();
    in_new_thread(without_context, NULL);
    aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
    aclrtStream stale = stale_stream();

    EXPECT_CODE(aclrtStreamQuery(stream, NULL), 100000);
    EXPECT_CODE(aclrtStreamQuery(stale, &status), 107017);
    EXPECT_CODE(aclrtSynchronizeStream(stale), 107017);
    EXPECT_OK(aclrtStreamQuery(stream, &status));
    EXPECT_TRUE(status == ACL_STREAM_STATUS_COMPLETE, "status %d", (int)status);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtSynchronizeStream(NULL));

    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 0), 107000); /* 4.4, 4.7 */
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, -2), 107000);
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, INT32_MIN), 107000);
    EXPECT_OK(aclrtSynchronizeStreamWithTimeout(stream, -1));
    EXPECT_OK(aclrtSynchronizeStreamWithTimeout(stream, 1));
    EXPECT_OK(aclrtSynchronizeStreamWithTimeout(NULL, 1000));

    static int ran;
    gate_close(&gate, stream);
    REQUIRE_OK(aclrtLaunchHostFunc(stream, count_up, &ran));
    gate_await(&gate);
    EXPECT_OK(aclrtStreamQuery(stream, &status)); /* 4.4: a busy stream is not an error */
    EXPECT_TRUE(status == ACL_STREAM_STATUS_NOT_READY, "status %d", (int)status);
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 1), 507046); /* 4.4: timeout */
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 20), 507046);
    EXPECT_TRUE(count_of(&ran) == 0, "the stream is not blocked");

    /* 4.4: neither query nor synchronize checks the context of the stream. */
    aclrtContext primary = NULL, other = NULL;
    REQUIRE_OK(aclrtGetCurrentContext(&primary));
    REQUIRE_OK(aclrtCreateContext(&other, 0));
    EXPECT_OK(aclrtStreamQuery(stream, &status));
    EXPECT_TRUE(status == ACL_STREAM_STATUS_NOT_READY, "status %d", (int)status);
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 1), 507046);
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(stream)); /* a timeout does not affect the stream */
    EXPECT_TRUE(count_of(&ran) == 1, "the function did not run");
    aclrtContext current = NULL;
    EXPECT_OK(aclrtGetCurrentContext(&current));
    EXPECT_TRUE(current == other, "the current context changed");
    REQUIRE_OK(aclrtSetCurrentContext(primary));
    EXPECT_OK(aclrtDestroyContext(other));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
