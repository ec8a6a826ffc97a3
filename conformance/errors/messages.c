// soc: all
// schedules: all
// misuses: C2 M1
/* aclGetRecentErrMsg: text after an error, gone after it was read, one for each thread. */
#include "../expect.h"

static void *other_thread(void *unused)
{
    (void)unused;
    EXPECT_TRUE(aclGetRecentErrMsg() == NULL, "4.6: nothing happened in this thread");
    EXPECT_CODE(aclrtSynchronizeDevice(), 107002);
    EXPECT_TRUE(aclGetRecentErrMsg() != NULL, "now it did");
    return NULL;
}

int main(void)
{
    EXPECT_TRUE(aclGetRecentErrMsg() == NULL, "4.6: none yet");
    REQUIRE_OK(aclrtSetDevice(0));
    void *device = device_memory(64);
    EXPECT_TRUE(aclGetRecentErrMsg() == NULL, "success leaves no text");

    EXPECT_CODE(aclrtMemcpy(device, 1, device, 2, ACL_MEMCPY_DEVICE_TO_DEVICE), 107000);
    const char *text = aclGetRecentErrMsg();
    EXPECT_TRUE(text != NULL && strlen(text) > 10, "a text: %s", text == NULL ? "(none)" : text);
    EXPECT_TRUE(aclGetRecentErrMsg() == NULL, "4.6: get and clear");

    EXPECT_CODE(aclrtFree(NULL), 100000); /* upper layer */
    text = aclGetRecentErrMsg();
    EXPECT_TRUE(text != NULL && strlen(text) > 10, "a text: %s", text == NULL ? "(none)" : text);

    EXPECT_CODE(aclrtSetDevice(64), 107001);
    EXPECT_OK(aclrtSynchronizeDevice());
    in_new_thread(other_thread, NULL);
    text = aclGetRecentErrMsg();
    EXPECT_TRUE(text != NULL, "success and other threads do not clear it");
    size_t length = text == NULL ? 0 : strlen(text); /* valid until the next call */
    EXPECT_TRUE(length > 10, "%zu characters", length);

    for (int i = 0; i < 1000; i++) { /* not read: must not grow without end, the newest counts */
        EXPECT_CODE(aclrtSetDevice(64 + i), 107001);
    }
    EXPECT_TRUE(aclGetRecentErrMsg() != NULL, "still there");
    EXPECT_OK(aclrtFree(device));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
