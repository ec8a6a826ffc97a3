// soc: all
// expects: C1 C2
/* Notifies and counting notifies: argument and handle checks, and the products that support them. */
#include "../expect.h"

static void *without_context(void *notify)
{
    aclrtNotify other = NULL;
    EXPECT_CODE(aclrtCreateNotify(&other, ACL_NOTIFY_DEFAULT), 107002);
    EXPECT_CODE(aclrtRecordNotify(notify, NULL), 107002);
    EXPECT_CODE(aclrtWaitAndResetNotify(notify, NULL, 0), 107002);
    return NULL;
}

static void check_counting(aclrtStream stream)
{
    aclrtCntNotify counting = NULL;
    if (family() != FAMILY_950) { /* only the 950 has them */
        EXPECT_CODE(aclrtCntNotifyCreate(&counting, 0), 207000);
        return;
    }
    aclrtCntNotifyRecordInfo record = {ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE, 1};
    aclrtCntNotifyWaitInfo wait = {ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 1, 0, 0, {0, 0, 0}};
    uint32_t id;
    EXPECT_CODE(aclrtCntNotifyCreate(NULL, 0), 100000);
    REQUIRE_OK(aclrtCntNotifyCreate(&counting, 0));
    EXPECT_CODE(aclrtCntNotifyRecord(NULL, stream, &record), 100000);
    EXPECT_CODE(aclrtCntNotifyRecord(counting, stream, NULL), 100000);
    EXPECT_CODE(aclrtCntNotifyWaitWithTimeout(NULL, stream, &wait), 100000);
    EXPECT_CODE(aclrtCntNotifyWaitWithTimeout(counting, stream, NULL), 100000);
    EXPECT_CODE(aclrtCntNotifyReset(NULL, stream), 100000);
    EXPECT_CODE(aclrtCntNotifyGetId(NULL, &id), 100000);
    EXPECT_CODE(aclrtCntNotifyGetId(counting, NULL), 100000);
    EXPECT_OK(aclrtCntNotifyGetId(counting, &id));
    record.mode = (aclrtCntNotifyRecordMode)3;
    EXPECT_FAILS(aclrtCntNotifyRecord(counting, stream, &record));
    wait.mode = (aclrtCntNotifyWaitMode)5;
    EXPECT_FAILS(aclrtCntNotifyWaitWithTimeout(counting, stream, &wait));
    EXPECT_CODE(aclrtCntNotifyReset(counting, stale_stream()), 107017);
    /* A counting notify is not a notify. */
    EXPECT_SOFTACL_CODE(aclrtRecordNotify(counting, stream), 107017);
    EXPECT_CODE(aclrtCntNotifyDestroy(NULL), 100000);
    EXPECT_OK(aclrtCntNotifyDestroy(counting));
    EXPECT_SOFTACL_CODE(aclrtCntNotifyDestroy(counting), 107017);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    aclrtNotify notify = NULL, other = NULL;
    uint32_t first = 0, second = 0;
    EXPECT_CODE(aclrtCreateNotify(NULL, ACL_NOTIFY_DEFAULT), 100000);
    EXPECT_FAILS(aclrtCreateNotify(&notify, 2));
    REQUIRE_OK(aclrtCreateNotify(&notify, ACL_NOTIFY_DEFAULT));
    REQUIRE_OK(aclrtCreateNotify(&other, ACL_NOTIFY_DEVICE_USE_ONLY));
    EXPECT_OK(aclrtGetNotifyId(notify, &first));
    EXPECT_OK(aclrtGetNotifyId(other, &second));
    EXPECT_TRUE(first != second, "both have id %u", first);
    EXPECT_CODE(aclrtGetNotifyId(NULL, &first), 100000);
    EXPECT_CODE(aclrtGetNotifyId(notify, NULL), 100000);
    EXPECT_CODE(aclrtRecordNotify(NULL, stream), 100000);
    EXPECT_CODE(aclrtRecordNotify(notify, stale_stream()), 107017);
    EXPECT_CODE(aclrtWaitAndResetNotify(NULL, stream, 0), 100000);
    EXPECT_CODE(aclrtWaitAndResetNotify(notify, stale_stream(), 0), 107017);
    in_new_thread(without_context, notify);

    aclrtContext primary = NULL, context = NULL;
    REQUIRE_OK(aclrtGetCurrentContext(&primary));
    REQUIRE_OK(aclrtCreateContext(&context, 0));
    EXPECT_CODE(aclrtRecordNotify(notify, stream), 107003);
    EXPECT_CODE(aclrtWaitAndResetNotify(notify, stream, 0), 107003);
    /* A notify belongs to no context. */
    EXPECT_OK(aclrtRecordNotify(notify, NULL));
    EXPECT_OK(aclrtWaitAndResetNotify(notify, NULL, 0));
    EXPECT_OK(aclrtSynchronizeStream(NULL));
    EXPECT_OK(aclrtDestroyContext(context));
    EXPECT_OK(aclrtSetCurrentContext(primary));

    aclrtNotify both[2] = {notify, other};
    if (family_has_batches()) {
        EXPECT_CODE(aclrtNotifyBatchReset(NULL, 2), 100000);
        EXPECT_FAILS(aclrtNotifyBatchReset(both, 0));
        EXPECT_OK(aclrtNotifyBatchReset(both, 2));
    } else { /* not on this product */
        EXPECT_CODE(aclrtNotifyBatchReset(both, 2), 207000);
    }
    char key[65];
    if (family() == FAMILY_310B) { /* not on this product */
        EXPECT_CODE(aclrtNotifyGetExportKey(notify, key, sizeof key, 0), 207000);
    } else {
        int32_t pid = 1;
        EXPECT_CODE(aclrtNotifyGetExportKey(NULL, key, sizeof key, 0), 100000);
        EXPECT_CODE(aclrtNotifyGetExportKey(notify, NULL, sizeof key, 0), 100000);
        EXPECT_FAILS(aclrtNotifyGetExportKey(notify, key, 0, 0));
        EXPECT_FAILS(aclrtNotifyGetExportKey(notify, key, sizeof key, 1));
        EXPECT_CODE(aclrtNotifySetImportPid(NULL, &pid, 1), 100000);
        EXPECT_CODE(aclrtNotifySetImportPid(notify, NULL, 1), 100000);
        EXPECT_CODE(aclrtNotifyImportByKey(NULL, "key", 0), 100000);
        EXPECT_CODE(aclrtNotifyImportByKey(&other, NULL, 0), 100000);
        EXPECT_FAILS(aclrtNotifyImportByKey(&other, "not a key", 0));
    }
    check_counting(stream);
    EXPECT_CODE(aclrtDestroyNotify(NULL), 100000);
    EXPECT_OK(aclrtDestroyNotify(notify));
    EXPECT_OK(aclrtDestroyNotify(both[1]));
    EXPECT_SOFTACL_CODE(aclrtDestroyNotify(notify), 107017);
    EXPECT_SOFTACL_CODE(aclrtRecordNotify(notify, stream), 107017);
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
