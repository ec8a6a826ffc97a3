// soc: Ascend910B Ascend310P
// schedules: all
/* Notifies order streams of two processes in both directions: each process waits for its own notify and records that of
 * the other, because only the process that created a notify may wait for it. The child is forked before the first
 * AscendCL call. Processes that are not on the list are refused, and imported notifies outlive their creator's. */
#include "../expect.h"
#include "../peer.h"

static int child(struct peer parent)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    char key[65], open_key[65], own_key[65];
    peer_receive(parent, key, sizeof key);
    peer_receive(parent, open_key, sizeof open_key);
    aclrtNotify listed = NULL, to_child = NULL, to_parent = NULL;
    EXPECT_FAILS(aclrtNotifyImportByKey(&listed, key, ACL_RT_NOTIFY_IMPORT_FLAG_DEFAULT));
    EXPECT_FAILS(aclrtNotifyImportByKey(&to_parent, open_key, 1));
    REQUIRE_OK(aclrtNotifyImportByKey(&to_parent, open_key, ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS));
    int32_t pid = 0;
    REQUIRE_OK(aclrtDeviceGetBareTgid(&pid));
    peer_send(parent, &pid, sizeof pid);
    peer_expect_byte(parent, 'l'); /* now on the list */
    REQUIRE_OK(aclrtNotifyImportByKey(&listed, key, ACL_RT_NOTIFY_IMPORT_FLAG_DEFAULT));
    /* Corrections, documented: only the creating process may wait. */
    EXPECT_SOFTACL_CODE(aclrtWaitAndResetNotify(listed, stream, 0), 107000);
    EXPECT_SOFTACL_CODE(aclrtWaitAndResetNotify(to_parent, stream, 0), 107000);
    REQUIRE_OK(aclrtCreateNotify(&to_child, ACL_NOTIFY_DEFAULT));
    REQUIRE_OK(aclrtNotifyGetExportKey(to_child, own_key, sizeof own_key,
                                       ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION));
    peer_send(parent, own_key, sizeof own_key);

    EXPECT_OK(aclrtWaitAndResetNotify(to_child, stream, 0));
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 20), 507046);
    peer_send_byte(parent, 'w');
    EXPECT_OK(aclrtSynchronizeStream(stream));
    for (int i = 0; i < 20; i++) { /* back and forth */
        EXPECT_OK(aclrtRecordNotify(to_parent, stream));
        EXPECT_OK(aclrtWaitAndResetNotify(to_child, stream, 0));
    }
    EXPECT_OK(aclrtSynchronizeStream(stream));
    peer_expect_byte(parent, 'g');
    /* The parent has destroyed its notifies; the imported ones stay valid. */
    EXPECT_OK(aclrtRecordNotify(to_parent, stream));
    EXPECT_OK(aclrtRecordNotify(listed, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtDestroyNotify(listed));
    EXPECT_OK(aclrtDestroyNotify(to_child));
    EXPECT_OK(aclrtDestroyNotify(to_parent));
    EXPECT_FAILS(aclrtNotifyImportByKey(&to_child, open_key, 0));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}

int main(void)
{
    struct peer peer = peer_fork(child);
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtNotify listed, to_child, to_parent, imported;
    char key[65], open_key[65], child_key[65];
    memset(key, 0x5a, sizeof key);
    REQUIRE_OK(aclrtCreateNotify(&listed, ACL_NOTIFY_DEFAULT));
    REQUIRE_OK(aclrtCreateNotify(&to_parent, ACL_NOTIFY_DEFAULT));
    REQUIRE_OK(aclrtNotifyGetExportKey(listed, key, sizeof key, ACL_RT_NOTIFY_EXPORT_FLAG_DEFAULT));
    REQUIRE_OK(aclrtNotifyGetExportKey(to_parent, open_key, sizeof open_key,
                                       ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION));
    EXPECT_TRUE(memchr(key, 0, sizeof key) != NULL && strcmp(key, open_key) != 0, "the keys are not distinct strings");
    peer_send(peer, key, sizeof key);
    peer_send(peer, open_key, sizeof open_key);
    int32_t child_id = 0;
    peer_receive(peer, &child_id, sizeof child_id);
    EXPECT_OK(aclrtNotifySetImportPid(listed, &child_id, 1));
    peer_send_byte(peer, 'l');
    peer_receive(peer, child_key, sizeof child_key);
    REQUIRE_OK(aclrtNotifyImportByKey(&to_child, child_key, ACL_RT_NOTIFY_IMPORT_FLAG_DEFAULT));

    aclrtStream stream = new_stream();
    peer_expect_byte(peer, 'w');
    EXPECT_OK(aclrtRecordNotify(to_child, stream));
    for (int i = 0; i < 20; i++) {
        EXPECT_OK(aclrtWaitAndResetNotify(to_parent, stream, 0));
        EXPECT_OK(aclrtRecordNotify(to_child, stream));
    }
    EXPECT_OK(aclrtSynchronizeStream(stream));
    /* A process can import its own key. */
    EXPECT_OK(aclrtNotifyImportByKey(&imported, key, 0));
    EXPECT_OK(aclrtDestroyNotify(imported));
    EXPECT_OK(aclrtDestroyNotify(listed));
    EXPECT_OK(aclrtDestroyNotify(to_child));
    EXPECT_OK(aclrtDestroyNotify(to_parent));
    EXPECT_OK(aclrtDestroyStream(stream));
    peer_send_byte(peer, 'g');
    peer_join(peer);
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
