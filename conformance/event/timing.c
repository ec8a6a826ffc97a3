// soc: all
// schedules: all
/* aclrtEventElapsedTime and aclrtEventGetTimestamp agree, and
 * refuse events without a time line or before completion. */
#include "../expect.h"

#define SIZE ((size_t)1 << 20)

static struct gate gate = GATE_INITIALIZER;

static void check_times(aclrtEvent start, aclrtEvent end, aclrtStream stream)
{
    void *device = device_memory(SIZE);
    float ms = -1.0f;
    EXPECT_OK(aclrtRecordEvent(start, stream));
    EXPECT_OK(aclrtMemsetAsync(device, SIZE, 1, SIZE, stream));
    EXPECT_OK(aclrtRecordEvent(end, stream));
    EXPECT_OK(aclrtSynchronizeEvent(end));
    EXPECT_OK(aclrtEventElapsedTime(&ms, start, end));
    EXPECT_TRUE(ms >= 0.0f && ms < 60000.0f, "%f ms", (double)ms);
    float back = 1.0f;
    EXPECT_OK(aclrtEventElapsedTime(&back, end, start)); /* 4.5: negative intervals are not rejected */
    EXPECT_TRUE(back <= 0.0f, "%f ms backwards", (double)back);
    uint64_t first = 0, second = 0;
    EXPECT_OK(aclrtEventGetTimestamp(start, &first)); /* 4.5: microseconds */
    EXPECT_OK(aclrtEventGetTimestamp(end, &second));
    EXPECT_TRUE(second >= first, "%lu then %lu", (unsigned long)first, (unsigned long)second);
    double difference = (double)ms - (double)(second - first) / 1000.0;
    EXPECT_TRUE(difference < 0.01 && difference > -0.01, "%f ms, but %lu us", (double)ms,
                (unsigned long)(second - first));
    EXPECT_OK(aclrtFree(device));
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    aclrtEvent start = NULL, end = NULL, untimed = NULL, classic_untimed = NULL;
    float ms = 0.0f;
    REQUIRE_OK(aclrtCreateEvent(&start)); /* default events have a time line */
    REQUIRE_OK(aclrtCreateEvent(&end));
    check_times(start, end, stream);
    check_times(start, end, NULL);

    EXPECT_CODE(aclrtEventElapsedTime(NULL, start, end), 100000);
    EXPECT_CODE(aclrtEventElapsedTime(&ms, NULL, end), 100000);
    EXPECT_CODE(aclrtEventElapsedTime(&ms, start, NULL), 100000);

    /* 4.5: not finished */
    gate_close(&gate, stream);
    EXPECT_OK(aclrtRecordEvent(end, stream));
    EXPECT_CODE(aclrtEventElapsedTime(&ms, start, end), 107006);
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtEventElapsedTime(&ms, start, end));

    /* 4.5: without a time line */
    REQUIRE_OK(aclrtCreateEventExWithFlag(&untimed, ACL_EVENT_SYNC));
    REQUIRE_OK(aclrtCreateEventWithFlag(&classic_untimed, ACL_EVENT_SYNC));
    EXPECT_OK(aclrtRecordEvent(untimed, stream));
    EXPECT_OK(aclrtRecordEvent(classic_untimed, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_CODE(aclrtEventElapsedTime(&ms, untimed, untimed), 107006);
    EXPECT_CODE(aclrtEventElapsedTime(&ms, start, classic_untimed), 107006);
    EXPECT_OK(aclrtDestroyEvent(untimed));
    EXPECT_OK(aclrtDestroyEvent(classic_untimed));
    EXPECT_OK(aclrtDestroyEvent(start));
    EXPECT_OK(aclrtDestroyEvent(end));

    REQUIRE_OK(aclrtCreateEventExWithFlag(&start, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE));
    REQUIRE_OK(aclrtCreateEventExWithFlag(&end, ACL_EVENT_TIME_LINE));
    check_times(start, end, stream);
    EXPECT_OK(aclrtDestroyEvent(start));
    EXPECT_OK(aclrtDestroyEvent(end));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
