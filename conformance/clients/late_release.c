// soc: all
// schedules: all
// expects: C2 L2 M1
/* Client usage: destructors that release objects at exit, after
 * aclrtResetDevice and aclFinalize. The calls return errors and never crash. */
#include "../expect.h"

#define SIZE 256

static aclrtStream stream;
static aclrtEvent event;
static aclrtContext context;
static void *device, *pinned;

static void release(void)
{
    aclrtSynchronizeStream(stream);
    aclrtSynchronizeDevice();
    EXPECT_FAILS(aclrtDestroyStream(stream));
    EXPECT_FAILS(aclrtDestroyContext(context));
    EXPECT_FAILS(aclrtFree(device));
    aclrtDestroyEvent(event); /* events and pinned memory may outlive the device */
    aclrtFreeHost(pinned);
    aclrtResetDevice(0);
    aclFinalize();
}

/* Runs at exit, after main has printed its result: a failed check ends the process with code 1. */
static void at_exit(void)
{
    int before = expect_failed;
    release();
    if (expect_failed != before) {
        fflush(stdout);
        _exit(1);
    }
}

int main(void)
{
    REQUIRE_TRUE(atexit(at_exit) == 0, "atexit");
    EXPECT_OK(aclInit(NULL));
    REQUIRE_OK(aclrtSetDevice(0));
    stream = new_stream();
    REQUIRE_OK(aclrtCreateEvent(&event));
    REQUIRE_OK(aclrtCreateContext(&context, 0));
    REQUIRE_OK(aclrtDestroyContext(context));
    REQUIRE_OK(aclrtSetDevice(0));
    device = device_memory(SIZE);
    pinned = pinned_memory(SIZE);
    REQUIRE_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    REQUIRE_OK(aclrtRecordEvent(event, stream));
    REQUIRE_OK(aclrtSynchronizeStream(stream));
    REQUIRE_OK(aclrtResetDeviceForce(0));
    release();
    EXPECT_CODE(aclFinalize(), 100037);
    release();
    return finish();
}
