// soc: Ascend910B
// schedules: all
/* With err_msg_mode "1" the message of the latest error is shared by all threads of the process. */
#include "../expect.h"

static void *reader(void *unused)
{
    (void)unused;
    EXPECT_TRUE(aclGetRecentErrMsg() != NULL, "4.6: no message of the main thread's error");
    return NULL;
}

int main(void)
{
    char name[] = "/tmp/conformance-XXXXXX";
    int file = mkstemp(name);
    REQUIRE_TRUE(file >= 0, "mkstemp");
    static const char text[] = "{ \"err_msg_mode\": \"1\" }";
    REQUIRE_TRUE(write(file, text, sizeof text - 1) == (ssize_t)sizeof text - 1, "write");
    close(file);
    REQUIRE_OK(aclInit(name));
    unlink(name);
    EXPECT_CODE(aclrtSetDevice(64), 107001);
    in_new_thread(reader, NULL);
    EXPECT_TRUE(aclGetRecentErrMsg() == NULL, "reading on the other thread did not clear the message");
    /* The last error is per thread in any mode. */
    EXPECT_CODE(aclrtGetLastError(ACL_RT_THREAD_LEVEL), 107001);
    EXPECT_OK(aclFinalize());
    return finish();
}
