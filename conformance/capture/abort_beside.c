// soc: Ascend910B Ascend950
// softacl-only
// schedules: all
/* The host functions of a context share one thread. A host function of one stream that aborts a graph, or another stream,
 * whose host function has been handed to that thread takes this function back: nothing else could run it while the abort
 * waits. */
#include "../expect.h"
#include "graph.h"

#define SIZE 64

static struct flag entered = FLAG_INITIALIZER, handed = FLAG_INITIALIZER, done = FLAG_INITIALIZER;
static aclmdlRI graph;
static aclrtStream victim;
static int ran;
static aclError code;

/* The host function: calls what its argument says, once the other function has been handed to the thread. */
static void end_other(void *argument)
{
    const char *call = (const char *)argument;
    flag_set(&entered, 1);
    flag_await(&handed, 1);
    code = strcmp(call, "aclmdlRIAbort") == 0     ? aclmdlRIAbort(graph)
           : strcmp(call, "aclrtStreamAbort") == 0 ? aclrtStreamAbort(victim)
                                                   : aclrtStreamStop(victim);
    flag_set(&done, 1);
}

static void capture(uint8_t *device)
{
    REQUIRE_OK(aclmdlRICaptureBegin(victim, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    REQUIRE_OK(aclrtLaunchHostFunc(victim, count_up, &ran));
    REQUIRE_OK(aclrtMemsetAsync(device, SIZE, 0x55, SIZE, victim));
    REQUIRE_OK(aclmdlRICaptureEnd(victim, &graph));
}

/* Makes the call while the function of `victim`, or of the graph on it, waits for the thread. */
static void beside(aclrtStream stream, const char *call, uint8_t *device, uint8_t after)
{
    flag_set(&entered, 0);
    flag_set(&handed, 0);
    flag_set(&done, 0);
    ran = 0;
    REQUIRE_OK(aclrtMemset(device, SIZE, 0, SIZE));
    REQUIRE_OK(aclrtLaunchHostFunc(stream, end_other, (void *)(uintptr_t)call));
    flag_await(&entered, 1);
    if (strcmp(call, "aclmdlRIAbort") == 0) {
        REQUIRE_OK(aclmdlRIExecuteAsync(graph, victim));
    } else {
        REQUIRE_OK(aclrtLaunchHostFunc(victim, count_up, &ran));
        REQUIRE_OK(aclrtMemsetAsync(device, SIZE, 0x55, SIZE, victim));
    }
    /* Time to hand the function over. It cannot run: its thread is in the other function. */
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(victim, 50), 507046);
    flag_set(&handed, 1);
    flag_await(&done, 1);
    EXPECT_TRUE(code == 0, "%s: %d", call, code);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtSynchronizeStream(victim));
    EXPECT_TRUE(count_of(&ran) == 0, "%s: the function ran", call);
    EXPECT_DEVICE_VALUE(device, SIZE, after);
}

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    victim = new_stream();
    uint8_t *device = (uint8_t *)device_memory(SIZE);
    capture(device);
    beside(stream, "aclmdlRIAbort", device, 0);
    beside(stream, "aclrtStreamAbort", device, 0);
    beside(stream, "aclrtStreamStop", device, 0x55); /* keeps what is queued behind the function */
    /* All is as before. */
    EXPECT_OK(aclmdlRIExecuteAsync(graph, victim));
    EXPECT_OK(aclrtSynchronizeStream(victim));
    EXPECT_TRUE(count_of(&ran) == 1, "%d runs", count_of(&ran));
    EXPECT_DEVICE_VALUE(device, SIZE, 0x55);
    EXPECT_OK(aclmdlRIDestroy(graph));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtDestroyStream(victim));
    EXPECT_OK(aclrtDestroyStream(stream));
    REQUIRE_OK(aclrtResetDevice(0));
    return finish();
}
