// soc: all
// schedules: all
// expects: C2 M1
/* aclGetRecentErrMsg returns and clears the message of the latest error of the calling thread. */
#include "../expect.h"

static void *other_thread(void *unused)
{
    (void)unused;
    EXPECT_TRUE(aclGetRecentErrMsg() == NULL, "4.6: a message before the first error on this thread");
    EXPECT_CODE(aclrtSynchronizeDevice(), 107002);
    EXPECT_TRUE(aclGetRecentErrMsg() != NULL, "no message after an error");
    return NULL;
}

int main(void)
{
    EXPECT_TRUE(aclGetRecentErrMsg() == NULL, "4.6: a message before the first error");
    REQUIRE_OK(aclrtSetDevice(0));
    void *device = device_memory(64);
    EXPECT_TRUE(aclGetRecentErrMsg() == NULL, "a message without an error");

    EXPECT_CODE(aclrtMemcpy(device, 1, device, 2, ACL_MEMCPY_DEVICE_TO_DEVICE), 107000);
    const char *text = aclGetRecentErrMsg();
    EXPECT_TRUE(text != NULL && strlen(text) > 10, "message: %s", text == NULL ? "(none)" : text);
    EXPECT_TRUE(aclGetRecentErrMsg() == NULL, "4.6: reading did not clear the message");

    EXPECT_CODE(aclrtFree(NULL), 100000); /* upper layer */
    text = aclGetRecentErrMsg();
    EXPECT_TRUE(text != NULL && strlen(text) > 10, "message: %s", text == NULL ? "(none)" : text);

    EXPECT_CODE(aclrtSetDevice(64), 107001);
    EXPECT_OK(aclrtSynchronizeDevice());
    in_new_thread(other_thread, NULL);
    text = aclGetRecentErrMsg();
    EXPECT_TRUE(text != NULL, "success or another thread cleared the message");
    size_t length = text == NULL ? 0 : strlen(text); /* the pointer is valid until the next call */
    EXPECT_TRUE(length > 10, "%zu characters", length);

    for (int i = 0; i < 1000; i++) { /* unread messages must not accumulate without bound */
        EXPECT_CODE(aclrtSetDevice(64 + i), 107001);
    }
    EXPECT_TRUE(aclGetRecentErrMsg() != NULL, "no message");
    EXPECT_OK(aclrtFree(device));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
