// soc: all
// schedules: all
/* Callbacks: argument checks, the rules of subscriptions, and the codes of aclrtProcessReport. */
#include "../expect.h"

static void *not_subscribed(void *unused)
{
    (void)unused;
    EXPECT_CODE(aclrtProcessReport(10), 107012); /* 4.9: thread not subscribed */
    return NULL;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), other = new_stream(), mixed = new_stream();
    static int ran;
    uint64_t self = (uint64_t)pthread_self();

    /* 4.9: the block type is checked first */
    EXPECT_CODE(aclrtLaunchCallback(count_up, &ran, (aclrtCallbackBlockType)2, stream), 100000);
    EXPECT_CODE(aclrtLaunchCallback(NULL, &ran, (aclrtCallbackBlockType)-1, stream), 100000);
    EXPECT_CODE(aclrtLaunchCallback(NULL, &ran, ACL_CALLBACK_NO_BLOCK, stream), 107000);         /* 4.9: no function */
    /* 4.9: no thread is subscribed */
    EXPECT_CODE(aclrtLaunchCallback(count_up, &ran, ACL_CALLBACK_BLOCK, stream), 107015);
    EXPECT_CODE(aclrtLaunchCallback(count_up, &ran, ACL_CALLBACK_BLOCK, NULL), 107015);
    EXPECT_CODE(aclrtProcessReport(0), 100000); /* 4.9: invalid timeouts */
    EXPECT_CODE(aclrtProcessReport(-2), 100000);
    in_new_thread(not_subscribed, NULL);

    EXPECT_OK(aclrtSubscribeReport(self, stream));
    EXPECT_CODE(aclrtSubscribeReport(self, stream), 107011);          /* 4.9: already subscribed */
    EXPECT_CODE(aclrtLaunchHostFunc(stream, count_up, &ran), 107011); /* 4.9: callbacks and host functions do not mix */
    EXPECT_CODE(aclrtProcessReport(5), 507012);                       /* 4.9: no callback within the timeout */
    EXPECT_FAILS(aclrtSubscribeReport(self, stale_stream()));
    EXPECT_FAILS(aclrtLaunchCallback(count_up, &ran, ACL_CALLBACK_BLOCK, stale_stream()));
    REQUIRE_OK(aclrtLaunchHostFunc(mixed, count_up, &ran));
    EXPECT_CODE(aclrtSubscribeReport(self, mixed), 107011);           /* 4.9: host functions first, then callbacks */
    EXPECT_OK(aclrtSynchronizeStream(mixed));

    /* One thread may serve several streams, including the default stream. */
    EXPECT_OK(aclrtSubscribeReport(self, other));
    EXPECT_OK(aclrtSubscribeReport(self, NULL));
    aclrtStream streams[] = {stream, other, NULL};
    for (int i = 0; i < 3; i++) {
        EXPECT_OK(aclrtLaunchCallback(count_up, &ran, ACL_CALLBACK_NO_BLOCK, streams[i]));
    }
    int before = count_of(&ran);
    while (count_of(&ran) < before + 3 && aclrtProcessReport(10000) == 0) {
    }
    EXPECT_TRUE(count_of(&ran) == before + 3, "%d callbacks", count_of(&ran) - before);
    EXPECT_OK(aclrtUnSubscribeReport(self, other));
    EXPECT_OK(aclrtUnSubscribeReport(self, NULL));
    EXPECT_OK(aclrtUnSubscribeReport(self, stream));
    EXPECT_FAILS(aclrtUnSubscribeReport(self, stream));
    EXPECT_CODE(aclrtLaunchCallback(count_up, &ran, ACL_CALLBACK_NO_BLOCK, stream), 107015);
    EXPECT_CODE(aclrtProcessReport(5), 107012);

    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtDestroyStream(mixed));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
