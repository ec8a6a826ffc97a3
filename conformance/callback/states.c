// soc: all
/* Callbacks for changes of streams and devices: when they run, with which arguments, and how they are removed. */
#include "../expect.h"

#define MAX_CALLS 64

struct call {
    aclrtStream stream;
    int32_t device;
    int state;
};

static struct call calls[MAX_CALLS];
static int count;

static void on_stream(aclrtStream stream, aclrtStreamState state, void *args)
{
    EXPECT_TRUE(args == &count, "%p", args);
    int32_t id = -1;
    EXPECT_OK(aclrtStreamGetId(stream, &id)); /* the stream exists, and a callback may make calls */
    if (count < MAX_CALLS) {
        calls[count++] = (struct call){stream, -1, (int)state};
    }
}

static void on_device(int32_t device, aclrtDeviceState state, void *args)
{
    EXPECT_TRUE(args == calls, "%p", args);
    if (count < MAX_CALLS) {
        calls[count++] = (struct call){NULL, device, (int)state};
    }
}

static void on_stream_too(aclrtStream stream, aclrtStreamState state, void *args)
{
    (void)stream, (void)state;
    ++*(int *)args;
}

static int is_stream(int index, aclrtStream stream, aclrtStreamState state)
{
    return index < count && calls[index].device < 0 && (stream == NULL || calls[index].stream == stream)
           && calls[index].state == (int)state;
}

static int is_device(int index, aclrtDeviceState state)
{
    return index < count && calls[index].device == 0 && calls[index].state == (int)state;
}

static void check_arguments(void)
{
    EXPECT_CODE(aclrtRegStreamStateCallback(NULL, on_stream, NULL), 100000);
    EXPECT_FAILS(aclrtRegStreamStateCallback("", on_stream, NULL));
    EXPECT_CODE(aclrtRegDeviceStateCallback(NULL, on_device, NULL), 100000);
    EXPECT_FAILS(aclrtRegDeviceStateCallback("", on_device, NULL));
    EXPECT_SOFTACL_CODE(aclrtRegStreamStateCallback("unknown", NULL, NULL), 107000);
    EXPECT_SOFTACL_CODE(aclrtRegDeviceStateCallback("unknown", NULL, NULL), 107000);
    EXPECT_OK(aclrtRegStreamStateCallback("streams", on_stream, &count));
    EXPECT_SOFTACL_CODE(aclrtRegStreamStateCallback("streams", on_stream_too, NULL), 107000); /* the name is in use */
    EXPECT_OK(aclrtRegDeviceStateCallback("devices", on_device, calls));
    EXPECT_SOFTACL_CODE(aclrtRegDeviceStateCallback("devices", on_device, NULL), 107000);
}

/* Setting a device creates its default stream; resetting it ends the streams that are left. */
static void check_device(void)
{
    count = 0;
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream implicit = NULL;
    EXPECT_OK(aclrtCtxGetCurrentDefaultStream(&implicit));
    EXPECT_TRUE(count == 3 && is_device(0, ACL_RT_DEVICE_STATE_SET_PRE)
                    && is_stream(1, implicit, ACL_RT_STREAM_STATE_CREATE_POST)
                    && is_device(2, ACL_RT_DEVICE_STATE_SET_POST), "%d calls", count);
    EXPECT_OK(aclrtSetDevice(0)); /* the state does not change */
    aclrtStream left = new_stream();
    count = 0;
    EXPECT_OK(aclrtResetDevice(0)); /* nor does it here */
    EXPECT_TRUE(count == 0, "%d calls", count);
    EXPECT_OK(aclrtResetDevice(0));
    EXPECT_TRUE(count == 4 && is_device(0, ACL_RT_DEVICE_STATE_RESET_PRE)
                    && is_device(3, ACL_RT_DEVICE_STATE_RESET_POST), "%d calls", count);
    for (int i = 1; i <= 2; i++) {
        EXPECT_TRUE(is_stream(i, NULL, ACL_RT_STREAM_STATE_DESTROY_PRE)
                        && (calls[i].stream == implicit || calls[i].stream == left), "call %d", i);
    }
}

static void check_streams(void)
{
    int too = 0;
    REQUIRE_OK(aclrtSetDevice(0));
    EXPECT_OK(aclrtRegStreamStateCallback("second", on_stream_too, &too));
    count = 0;
    aclrtStream stream = new_stream(), other = NULL;
    EXPECT_TRUE(count == 1 && too == 1 && is_stream(0, stream, ACL_RT_STREAM_STATE_CREATE_POST), "%d %d", count, too);
    EXPECT_OK(aclrtCreateStreamWithConfig(&other, 0, ACL_STREAM_FAST_SYNC));
    EXPECT_TRUE(count == 2 && is_stream(1, other, ACL_RT_STREAM_STATE_CREATE_POST), "%d", count);
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_TRUE(count == 3 && is_stream(2, stream, ACL_RT_STREAM_STATE_DESTROY_PRE), "%d", count);
    EXPECT_FAILS(aclrtDestroyStream(stream)); /* a call that fails changes nothing */
    EXPECT_TRUE(count == 3, "%d", count);
    EXPECT_OK(aclrtDestroyStreamForce(other));
    EXPECT_TRUE(count == 4 && too == 4 && is_stream(3, other, ACL_RT_STREAM_STATE_DESTROY_PRE), "%d %d", count, too);

    /* a context has a default stream */
    aclrtContext context = NULL;
    count = 0;
    EXPECT_OK(aclrtCreateContext(&context, 0));
    EXPECT_OK(aclrtDestroyContext(context));
    EXPECT_TRUE(count == 2 && is_stream(0, NULL, ACL_RT_STREAM_STATE_CREATE_POST)
                    && is_stream(1, calls[0].stream, ACL_RT_STREAM_STATE_DESTROY_PRE), "%d", count);

    /* NULL removes the callback with this name only */
    EXPECT_OK(aclrtRegStreamStateCallback("streams", NULL, NULL));
    EXPECT_OK(aclrtRegDeviceStateCallback("devices", NULL, NULL));
    count = too = 0;
    REQUIRE_OK(aclrtSetDevice(0));
    EXPECT_OK(aclrtDestroyStream(new_stream()));
    EXPECT_TRUE(count == 0 && too == 2, "%d %d", count, too);
    EXPECT_OK(aclrtRegStreamStateCallback("second", NULL, NULL));
    EXPECT_OK(aclrtResetDevice(0));
    EXPECT_OK(aclrtResetDevice(0));
    EXPECT_TRUE(count == 0 && too == 2, "%d %d", count, too);
}

int main(void)
{
    check_arguments();
    check_device();
    check_streams();
    return finish();
}
