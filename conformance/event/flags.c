// soc: all
// schedules: all
// expects: C2
/* Event flags: which flags, alone or combined, aclrtCreateEventWithFlag and aclrtCreateEventExWithFlag accept. */
#include "../expect.h"

static void expect_accepted(aclError (*create)(aclrtEvent *, uint32_t), uint32_t flag, int line)
{
    aclrtEvent event = NULL;
    if (expect_code(create(&event, flag), 0, "create", __FILE__, line)) {
        EXPECT_OK(aclrtDestroyEvent(event));
        EXPECT_CODE(aclrtDestroyEvent(event), 107017);
    }
}

static void expect_refused(aclError (*create)(aclrtEvent *, uint32_t), uint32_t flag, int line)
{
    aclrtEvent event = NULL;
    expect_code(create(&event, flag), 107000, "create", __FILE__, line);
}

static void *without_context(void *unused)
{
    (void)unused;
    aclrtEvent event = NULL;
    EXPECT_CODE(aclrtCreateEvent(NULL), 100000);
    EXPECT_CODE(aclrtCreateEvent(&event), 107002);
    EXPECT_CODE(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC), 107002);
    return NULL;
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    in_new_thread(without_context, NULL);
    aclrtEvent event = NULL;
    EXPECT_CODE(aclrtCreateEvent(NULL), 100000);
    EXPECT_CODE(aclrtDestroyEvent(NULL), 100000);
    aclError (*create[])(aclrtEvent *, uint32_t) = {aclrtCreateEventWithFlag, aclrtCreateEventExWithFlag};
    for (int i = 0; i < 2; i++) {
        EXPECT_CODE(create[i](NULL, ACL_EVENT_SYNC), 100000);
        expect_refused(create[i], 0, __LINE__);           /* 4.5: no known bit */
        expect_refused(create[i], 0x4, __LINE__);
        expect_refused(create[i], 0x80, __LINE__);        /* 4.5: bits outside the mask */
        expect_refused(create[i], 0x101, __LINE__);
        expect_refused(create[i], UINT32_MAX, __LINE__);
        expect_accepted(create[i], ACL_EVENT_SYNC, __LINE__);
        expect_accepted(create[i], ACL_EVENT_TIME_LINE, __LINE__);
        expect_accepted(create[i], ACL_EVENT_CAPTURE_STREAM_PROGRESS, __LINE__);
        expect_accepted(create[i], ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE, __LINE__);
        expect_accepted(create[i], ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE, __LINE__);
        expect_accepted(create[i], 0x0e, __LINE__); /* correction 16: a bit without a name, beside known ones */
        expect_accepted(create[i], ACL_EVENT_SYNC | 0x4, __LINE__);
        /* 4.5: these flags cannot be combined */
        expect_refused(create[i], ACL_EVENT_DEVICE_USE_ONLY | ACL_EVENT_SYNC, __LINE__);
        expect_refused(create[i], ACL_EVENT_EXTERNAL | ACL_EVENT_SYNC, __LINE__);
        expect_refused(create[i], ACL_EVENT_EXTERNAL | ACL_EVENT_TIME_LINE, __LINE__);
        expect_refused(create[i], ACL_EVENT_IPC | ACL_EVENT_SYNC, __LINE__);
        expect_refused(create[i], ACL_EVENT_IPC | ACL_EVENT_EXTERNAL, __LINE__);
    }
    EXPECT_FAILS(aclrtCreateEventWithFlag(&event, ACL_EVENT_IPC)); /* 4.5: only the Ex function accepts it */
    /* 4.5: only the classic function accepts these */
    EXPECT_FAILS(aclrtCreateEventExWithFlag(&event, ACL_EVENT_EXTERNAL));
    EXPECT_FAILS(aclrtCreateEventExWithFlag(&event, ACL_EVENT_DEVICE_USE_ONLY));
    aclError got = aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC);            /* 4.5: 207000 where unsupported */
    if (family_has_batches()) {
        EXPECT_TRUE(got == 0 || (family() == FAMILY_950 && got == 207000), "IPC returned %d", got);
    } else {
        EXPECT_CODE(got, 207000);
    }
    if (got == 0) {
        EXPECT_OK(aclrtDestroyEvent(event));
    }
    if (family_has_batches()) {
        expect_accepted(aclrtCreateEventWithFlag, ACL_EVENT_DEVICE_USE_ONLY, __LINE__);
        REQUIRE_OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_EXTERNAL));
        aclrtEventRecordedStatus recorded;
        EXPECT_CODE(aclrtSynchronizeEvent(event), 207000); /* 4.5: the host cannot wait for or query external events */
        EXPECT_CODE(aclrtQueryEventStatus(event, &recorded), 207000);
        EXPECT_OK(aclrtDestroyEvent(event));
    }

    /* A2, A3 and 950 have the record and wait calls with flags. The flags are checked before the product. */
    REQUIRE_OK(aclrtCreateEvent(&event));
    EXPECT_EITHER(aclrtRecordEventWithFlag(event, NULL, 2), 100000, 207000); /* a library may lack this function */
    EXPECT_EITHER(aclrtRecordEventWithFlag(event, NULL, ACL_EVENT_RECORD_DEFAULT), family_has_batches() ? 0 : 207000,
                  207000);
    EXPECT_OK(aclrtSynchronizeStream(NULL));
    EXPECT_OK(aclrtDestroyEvent(event));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
