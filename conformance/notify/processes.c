// soc: Ascend910B Ascend310P
// schedules: all
/* A notify orders streams of two processes, both ways. The child is forked before the first call, and gets keys through a pipe.
 * Processes that are not on the list are refused; each may end first. */
#include "../expect.h"
#include "../peer.h"

static int child(struct peer parent)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    char key[65], open_key[65];
    peer_receive(parent, key, sizeof key);
    peer_receive(parent, open_key, sizeof open_key);
    aclrtNotify there = NULL, back = NULL;
    EXPECT_FAILS(aclrtNotifyImportByKey(&there, key, ACL_RT_NOTIFY_IMPORT_FLAG_DEFAULT));
    EXPECT_FAILS(aclrtNotifyImportByKey(&back, open_key, 1));
    REQUIRE_OK(aclrtNotifyImportByKey(&back, open_key, ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS));
    int32_t pid = 0;
    REQUIRE_OK(aclrtDeviceGetBareTgid(&pid));
    peer_send(parent, &pid, sizeof pid);
    peer_expect_byte(parent, 'l'); /* on the list now */
    REQUIRE_OK(aclrtNotifyImportByKey(&there, key, ACL_RT_NOTIFY_IMPORT_FLAG_DEFAULT));

    EXPECT_OK(aclrtWaitAndResetNotify(there, stream, 0));
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 20), 507046);
    peer_send_byte(parent, 'w');
    EXPECT_OK(aclrtSynchronizeStream(stream));
    for (int i = 0; i < 20; i++) { /* to and fro */
        EXPECT_OK(aclrtRecordNotify(back, stream));
        EXPECT_OK(aclrtWaitAndResetNotify(there, stream, 0));
    }
    EXPECT_OK(aclrtSynchronizeStream(stream));
    peer_expect_byte(parent, 'g');
    /* The maker has destroyed its notifies; these live on. */
    EXPECT_OK(aclrtRecordNotify(back, stream));
    EXPECT_OK(aclrtWaitAndResetNotify(back, stream, 0));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtDestroyNotify(there));
    EXPECT_OK(aclrtDestroyNotify(back));
    EXPECT_FAILS(aclrtNotifyImportByKey(&there, open_key, 0));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}

int main(void)
{
    struct peer peer = peer_fork(child);
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtNotify there, back, own;
    char key[65], open_key[65];
    memset(key, 0x5a, sizeof key);
    REQUIRE_OK(aclrtCreateNotify(&there, ACL_NOTIFY_DEFAULT));
    REQUIRE_OK(aclrtCreateNotify(&back, ACL_NOTIFY_DEFAULT));
    REQUIRE_OK(aclrtNotifyGetExportKey(there, key, sizeof key, ACL_RT_NOTIFY_EXPORT_FLAG_DEFAULT));
    REQUIRE_OK(aclrtNotifyGetExportKey(back, open_key, sizeof open_key, ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION));
    EXPECT_TRUE(memchr(key, 0, sizeof key) != NULL && strcmp(key, open_key) != 0, "keys are texts, and differ");
    peer_send(peer, key, sizeof key);
    peer_send(peer, open_key, sizeof open_key);
    int32_t theirs = 0;
    peer_receive(peer, &theirs, sizeof theirs);
    EXPECT_OK(aclrtNotifySetImportPid(there, &theirs, 1));
    peer_send_byte(peer, 'l');

    aclrtStream stream = new_stream();
    peer_expect_byte(peer, 'w');
    EXPECT_OK(aclrtRecordNotify(there, stream));
    for (int i = 0; i < 20; i++) {
        EXPECT_OK(aclrtWaitAndResetNotify(back, stream, 0));
        EXPECT_OK(aclrtRecordNotify(there, stream));
    }
    EXPECT_OK(aclrtSynchronizeStream(stream));
    /* One's own key works as well. */
    EXPECT_OK(aclrtNotifyImportByKey(&own, key, 0));
    EXPECT_OK(aclrtDestroyNotify(own));
    EXPECT_OK(aclrtDestroyNotify(there));
    EXPECT_OK(aclrtDestroyNotify(back));
    EXPECT_OK(aclrtDestroyStream(stream));
    peer_send_byte(peer, 'g');
    peer_join(peer);
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
