// softacl-only
// soc: Ascend910C Ascend910B
// env: SOFTACL_TIMING=1
// env: SOFTACL_KERNEL_TIMES=decode=350us
/* On the virtual clock, event times follow from the published figures of the chip: a large copy takes its size divided
 * by the bandwidth, and a kernel the time that was given. The same calls take exactly the same time again. */
#include "../expect.h"
#include "softacl/softacl.h"

#define SIZE ((size_t)32 << 20)

static int decode(void *argument)
{
    (void)argument;
    return 0;
}

static aclrtEvent start, end;

/* Milliseconds of one copy, or of one kernel without memory. */
static float measure(void *target, void *source, aclrtStream stream)
{
    float ms = -1.0f;
    EXPECT_OK(aclrtRecordEvent(start, stream));
    if (target == NULL) {
        EXPECT_OK(softaclLaunchKernel(stream, decode, NULL, NULL, NULL, 0, "decode"));
    } else {
        EXPECT_OK(aclrtMemcpyAsync(target, SIZE, source, SIZE, ACL_MEMCPY_DEFAULT, stream));
    }
    EXPECT_OK(aclrtRecordEvent(end, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtEventElapsedTime(&ms, start, end));
    return ms;
}

static void expect_between(const char *what, float ms, double low, double high)
{
    EXPECT_TRUE(ms >= low && ms <= high, "%s: %f ms, not in %f to %f", what, (double)ms, low, high);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    REQUIRE_OK(aclrtCreateEvent(&start));
    REQUIRE_OK(aclrtCreateEvent(&end));
    void *device = device_memory(SIZE), *host = NULL;
    REQUIRE_OK(aclrtMallocHost(&host, SIZE));
    int is_a3 = strstr(aclrtGetSocName(), "Ascend910_93") != NULL;
    /* A3: 56 and 54 GB/s, A2: 23 GB/s; submits add less than 1 %. */
    double up = (double)SIZE / (is_a3 ? 56e6 : 23e6), down = (double)SIZE / (is_a3 ? 54e6 : 23e6);
    float first = measure(device, host, stream);
    expect_between("host to device", first, up, 1.02 * up + 0.02);
    expect_between("device to host", measure(host, device, stream), down, 1.02 * down + 0.02);
    expect_between("kernel", measure(NULL, NULL, stream), 0.35, 0.37);
    float again = measure(device, host, stream);
    EXPECT_TRUE(first - again < 1e-5f && again - first < 1e-5f, "%f ms, then %f ms", (double)first, (double)again);

    /* Queries and timeouts see that time: half of the copy is not enough. */
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, host, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    for (int i = 0; i < 8; i++) {
        EXPECT_OK(aclrtMemcpyAsync(device, SIZE, host, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    }
    EXPECT_OK(aclrtRecordEvent(end, stream));
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_COMPLETE;
    EXPECT_OK(aclrtQueryEventStatus(end, &status));
    EXPECT_TRUE(status == ACL_EVENT_RECORDED_STATUS_NOT_READY, "status %d", (int)status);
    EXPECT_FAILS(aclrtSynchronizeStreamWithTimeout(stream, 1));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtQueryEventStatus(end, &status));
    EXPECT_TRUE(status == ACL_EVENT_RECORDED_STATUS_COMPLETE, "status %d", (int)status);

    EXPECT_OK(aclrtFreeHost(host));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyEvent(start));
    EXPECT_OK(aclrtDestroyEvent(end));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
