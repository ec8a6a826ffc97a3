// soc: Ascend910B
// schedules: all
/* With err_msg_mode "1" the text of the latest error belongs to the process: another thread reads it. */
#include "../expect.h"

static void *reader(void *unused)
{
    (void)unused;
    EXPECT_TRUE(aclGetRecentErrMsg() != NULL, "4.6: the error of the main thread");
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
    EXPECT_TRUE(aclGetRecentErrMsg() == NULL, "read by the other thread");
    /* The last-error cell stays with the thread. */
    EXPECT_CODE(aclrtGetLastError(ACL_RT_THREAD_LEVEL), 107001);
    EXPECT_OK(aclFinalize());
    return finish();
}
