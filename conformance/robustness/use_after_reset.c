// soc: all
// softacl-only
// schedules: all
// expects: C2 L2 M1
/* Using objects after a device reset and after aclFinalize returns
 * errors without side effects, and the device can be set again. */
#include "../expect.h"

#define SIZE 128

struct objects {
    aclrtContext context;
    aclrtStream stream, default_stream;
    aclrtEvent event;
    uint8_t *device;
};

static struct objects create_objects(void)
{
    struct objects old;
    REQUIRE_OK(aclrtSetDevice(0));
    REQUIRE_OK(aclrtGetCurrentContext(&old.context));
    REQUIRE_OK(aclrtCtxGetCurrentDefaultStream(&old.default_stream));
    old.stream = new_stream();
    REQUIRE_OK(aclrtCreateEvent(&old.event));
    old.device = (uint8_t *)device_memory(SIZE);
    REQUIRE_OK(aclrtRecordEvent(old.event, old.stream));
    REQUIRE_OK(aclrtMemsetAsync(old.device, SIZE, 1, SIZE, old.stream));
    return old;
}

static void expect_invalid(struct objects old)
{
    static uint8_t pageable[SIZE];
    aclrtStreamStatus status;
    aclrtContext context = NULL;
    void *memory = NULL;
    EXPECT_CODE(aclrtMemcpy(old.device, SIZE, pageable, SIZE, ACL_MEMCPY_HOST_TO_DEVICE), 107002);
    EXPECT_CODE(aclrtMalloc(&memory, SIZE, ACL_MEM_MALLOC_HUGE_FIRST), 107002);
    EXPECT_CODE(aclrtMallocHost(&memory, SIZE), 107002);
    EXPECT_CODE(aclrtGetCurrentContext(&context), 107002);
    EXPECT_CODE(aclrtSynchronizeDevice(), 107002);
    EXPECT_CODE(aclrtSynchronizeStream(NULL), 107002);
    EXPECT_FAILS(aclrtMemcpyAsync(old.device, SIZE, pageable, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, old.stream));
    EXPECT_FAILS(aclrtMemsetAsync(old.device, SIZE, 0, SIZE, old.stream));
    EXPECT_FAILS(aclrtSynchronizeStream(old.stream));
    EXPECT_FAILS(aclrtSynchronizeStream(old.default_stream));
    EXPECT_FAILS(aclrtStreamQuery(old.stream, &status));
    EXPECT_FAILS(aclrtRecordEvent(old.event, old.stream));
    EXPECT_FAILS(aclrtDestroyStream(old.stream));
    EXPECT_FAILS(aclrtDestroyStreamForce(old.stream));
    EXPECT_FAILS(aclrtSetCurrentContext(old.context));
    EXPECT_FAILS(aclrtDestroyContext(old.context));
    EXPECT_FAILS(aclrtFree(old.device));
    EXPECT_CODE(aclrtResetDevice(0), 507007);
    aclrtDestroyEvent(old.event); /* any code is accepted, also the second time */
    aclrtDestroyEvent(old.event);
}

int main(void)
{
    EXPECT_OK(aclInit(NULL));
    struct objects first = create_objects();
    REQUIRE_OK(aclrtResetDevice(0));
    expect_invalid(first);

    struct objects second = create_objects(); /* old handles stay invalid after new ones are created */
    EXPECT_TRUE(aclrtSynchronizeStream(first.stream) != 0 || first.stream == second.stream,
                "the old stream handle is valid");
    EXPECT_OK(aclrtSynchronizeStream(second.stream));
    EXPECT_DEVICE_VALUE(second.device, SIZE, 1);
    REQUIRE_OK(aclrtResetDeviceForce(0));
    expect_invalid(second);
    EXPECT_OK(aclFinalize());
    expect_invalid(second);

    /* aclFinalize releases no objects of the program, and a device can be set after it. */
    struct objects third = create_objects();
    EXPECT_OK(aclrtSynchronizeStream(third.stream));
    EXPECT_DEVICE_VALUE(third.device, SIZE, 1);
    EXPECT_CODE(aclFinalize(), 100037);
    EXPECT_OK(aclrtFree(third.device));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
