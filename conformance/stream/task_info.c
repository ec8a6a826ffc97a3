// soc: all
// expects: S2
/* Ids of tasks, marks for profilers, data about operators, and clearing persistent streams. */
#include "../expect.h"

#define SIZE 64

static struct gate gate = GATE_INITIALIZER;

static void *ask_in_thread(void *stream)
{
    uint32_t id = 0, mine = 0;
    void *device = NULL;
    REQUIRE_OK(aclrtSetDevice(0));
    REQUIRE_OK(aclrtMalloc(&device, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT_OK(aclrtMemsetAsync(device, SIZE, 1, SIZE, stream));
    EXPECT_OK(aclrtGetThreadLastTaskId(&id));
    EXPECT_OK(aclrtMemsetAsync(device, SIZE, 2, SIZE, stream));
    EXPECT_OK(aclrtGetThreadLastTaskId(&mine));
    EXPECT_TRUE(mine == id + 1, "%u after %u", mine, id);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtResetDevice(0));
    return NULL;
}

static void check_ids(aclrtStream stream, aclrtStream other)
{
    void *device = device_memory(SIZE), *pinned = pinned_memory(SIZE);
    uint32_t id = 0, next = 0;
    EXPECT_CODE(aclrtGetThreadLastTaskId(NULL), 100000);
    EXPECT_SOFTACL_CODE(aclrtGetThreadLastTaskId(&id), 107000); /* no task yet */
    EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    REQUIRE_OK(aclrtGetThreadLastTaskId(&id));
    for (uint32_t i = 1; i <= 4; i++) {
        EXPECT_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        EXPECT_OK(aclrtGetThreadLastTaskId(&next));
        EXPECT_TRUE(next == id + i, "%u, the task %u after %u", next, i, id);
    }
    EXPECT_OK(aclrtMemcpy(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE)); /* not a task of a stream */
    EXPECT_OK(aclrtGetThreadLastTaskId(&next));
    EXPECT_TRUE(next == id + 4, "%u after %u", next, id + 4);
    in_new_thread(ask_in_thread, other); /* another thread, other tasks */
    EXPECT_OK(aclrtGetThreadLastTaskId(&next));
    EXPECT_TRUE(next == id + 4, "%u after %u", next, id + 4);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
}

static void check_data(aclrtStream stream)
{
    char data[] = "softmax";
    uint32_t before = 0, after = 0;
    EXPECT_OK(aclrtGetThreadLastTaskId(&before));
    EXPECT_CODE(aclrtProfTrace(NULL, 1, stream), 100000);
    EXPECT_FAILS(aclrtProfTrace(data, 0, stream));
    EXPECT_FAILS(aclrtProfTrace(data, -1, stream));
    EXPECT_CODE(aclrtProfTrace(data, sizeof data, stale_stream()), 107017);
    EXPECT_OK(aclrtProfTrace(data, sizeof data, stream));
    EXPECT_OK(aclrtGetThreadLastTaskId(&after));
    EXPECT_TRUE(after == before + 1, "%u after %u", after, before); /* a mark is a task */
    EXPECT_OK(aclrtSynchronizeStream(stream));
    int has_data = family_has_batches() || family() == FAMILY_310P;
    EXPECT_CODE(aclrtCacheLastTaskOpInfo(data, sizeof data), has_data ? 0 : 207000);
    EXPECT_CODE(aclrtCacheLastTaskExtendInfo(data, sizeof data), has_data ? 0 : 207000);
    EXPECT_CODE(aclrtCacheLastTaskOpInfo(NULL, 1), 100000);
    EXPECT_CODE(aclrtCacheLastTaskExtendInfo(NULL, 1), 100000);
    EXPECT_FAILS(aclrtCacheLastTaskOpInfo(data, 0));
}

static void check_persistent(aclrtStream ordinary)
{
    static int ran;
    aclrtStream stream = NULL;
    REQUIRE_OK(aclrtCreateStreamWithConfig(&stream, 0, ACL_STREAM_PERSISTENT));
    if (!family_has_batches()) {
        EXPECT_CODE(aclrtPersistentTaskClean(stream), 207000);
        EXPECT_OK(aclrtDestroyStream(stream));
        return;
    }
    EXPECT_FAILS(aclrtPersistentTaskClean(ordinary));
    EXPECT_CODE(aclrtPersistentTaskClean(stale_stream()), 107017);
    EXPECT_OK(aclrtPersistentTaskClean(stream));
    if (on_softacl()) { /* on a card, tasks of such a stream wait for a graph */
        aclrtEvent event = NULL;
        REQUIRE_OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
        gate_close(&gate, ordinary);
        EXPECT_OK(aclrtRecordEvent(event, ordinary));
        EXPECT_OK(aclrtStreamWaitEvent(stream, event));
        EXPECT_OK(aclrtLaunchHostFunc(stream, count_up, &ran));
        EXPECT_OK(aclrtPersistentTaskClean(stream)); /* drops the wait and the function */
        gate_open(&gate);
        EXPECT_OK(aclrtSynchronizeStream(ordinary));
        EXPECT_OK(aclrtDestroyStream(stream)); /* waits for what is left */
        EXPECT_TRUE(count_of(&ran) == 0, "a dropped task ran");
        EXPECT_OK(aclrtDestroyEvent(event));
        return;
    }
    EXPECT_OK(aclrtDestroyStream(stream));
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), other = new_stream();
    check_ids(stream, other);
    check_data(stream);
    check_persistent(stream);
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
