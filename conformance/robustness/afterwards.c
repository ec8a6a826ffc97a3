// soc: all
// softacl-only
// schedules: all
// misuses: C2 L2 M1
/* Everything again after the device was reset, and again after aclFinalize: errors, no harm, and a fresh start works. */
#include "../expect.h"

#define SIZE 128

struct remains {
    aclrtContext context;
    aclrtStream stream, default_stream;
    aclrtEvent event;
    uint8_t *device;
};

static struct remains populate(void)
{
    struct remains r;
    REQUIRE_OK(aclrtSetDevice(0));
    REQUIRE_OK(aclrtGetCurrentContext(&r.context));
    REQUIRE_OK(aclrtCtxGetCurrentDefaultStream(&r.default_stream));
    r.stream = new_stream();
    REQUIRE_OK(aclrtCreateEvent(&r.event));
    r.device = (uint8_t *)device_memory(SIZE);
    REQUIRE_OK(aclrtRecordEvent(r.event, r.stream));
    REQUIRE_OK(aclrtMemsetAsync(r.device, SIZE, 1, SIZE, r.stream));
    return r;
}

static void all_gone(struct remains r)
{
    static uint8_t pageable[SIZE];
    aclrtStreamStatus status;
    aclrtContext context = NULL;
    void *memory = NULL;
    EXPECT_CODE(aclrtMemcpy(r.device, SIZE, pageable, SIZE, ACL_MEMCPY_HOST_TO_DEVICE), 107002);
    EXPECT_CODE(aclrtMalloc(&memory, SIZE, ACL_MEM_MALLOC_HUGE_FIRST), 107002);
    EXPECT_CODE(aclrtMallocHost(&memory, SIZE), 107002);
    EXPECT_CODE(aclrtGetCurrentContext(&context), 107002);
    EXPECT_CODE(aclrtSynchronizeDevice(), 107002);
    EXPECT_CODE(aclrtSynchronizeStream(NULL), 107002);
    EXPECT_FAILS(aclrtMemcpyAsync(r.device, SIZE, pageable, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, r.stream));
    EXPECT_FAILS(aclrtMemsetAsync(r.device, SIZE, 0, SIZE, r.stream));
    EXPECT_FAILS(aclrtSynchronizeStream(r.stream));
    EXPECT_FAILS(aclrtSynchronizeStream(r.default_stream));
    EXPECT_FAILS(aclrtStreamQuery(r.stream, &status));
    EXPECT_FAILS(aclrtRecordEvent(r.event, r.stream));
    EXPECT_FAILS(aclrtDestroyStream(r.stream));
    EXPECT_FAILS(aclrtDestroyStreamForce(r.stream));
    EXPECT_FAILS(aclrtSetCurrentContext(r.context));
    EXPECT_FAILS(aclrtDestroyContext(r.context));
    EXPECT_FAILS(aclrtFree(r.device));
    EXPECT_CODE(aclrtResetDevice(0), 507007);
    aclrtDestroyEvent(r.event); /* any answer will do, twice */
    aclrtDestroyEvent(r.event);
}

int main(void)
{
    EXPECT_OK(aclInit(NULL));
    struct remains first = populate();
    REQUIRE_OK(aclrtResetDevice(0));
    all_gone(first);

    struct remains second = populate(); /* the old handles stay dead beside new ones */
    EXPECT_TRUE(aclrtSynchronizeStream(first.stream) != 0 || first.stream == second.stream, "old stream");
    EXPECT_OK(aclrtSynchronizeStream(second.stream));
    EXPECT_DEVICE_VALUE(second.device, SIZE, 1);
    REQUIRE_OK(aclrtResetDeviceForce(0));
    all_gone(second);
    EXPECT_OK(aclFinalize());
    all_gone(second);

    /* aclFinalize frees nothing of the user, and a device may still be set after it. */
    struct remains third = populate();
    EXPECT_OK(aclrtSynchronizeStream(third.stream));
    EXPECT_DEVICE_VALUE(third.device, SIZE, 1);
    EXPECT_CODE(aclFinalize(), 100037);
    EXPECT_OK(aclrtFree(third.device));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
