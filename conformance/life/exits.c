// softacl-only
// soc: Ascend910B
// misuses: S1
// sanitize: none (children leave with work under way)
/* A process may end at any moment, in any way, whatever is queued or running. */
#include "../expect.h"
#include "child.h"

#define SIZE (64u << 20)

static struct gate gate = GATE_INITIALIZER;
static aclrtStream stream;

/* Large copies, small ones, a host function that is running and one that waits behind it. */
static void begin(int with_gate)
{
    REQUIRE_OK(aclrtSetDevice(0));
    stream = new_stream();
    aclrtStream other = new_stream();
    uint8_t *device = NULL, *pinned = NULL;
    REQUIRE_OK(aclrtMalloc((void **)&device, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    REQUIRE_OK(aclrtMallocHost((void **)&pinned, SIZE));
    for (int i = 0; i < 20; i++) {
        REQUIRE_OK(aclrtMemcpyAsync(device, SIZE, pinned, SIZE, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    }
    for (int i = 0; i < 1000; i++) {
        REQUIRE_OK(aclrtMemcpyAsync(device, 64, pinned, 64, ACL_MEMCPY_HOST_TO_DEVICE, other));
    }
    if (with_gate) {
        gate_close(&gate, other);
        gate_await(&gate);
        REQUIRE_OK(aclrtLaunchHostFunc(other, gate_block, &gate));
    }
}

static int by_return(void)
{
    begin(0);
    return 7;
}

static int with_a_function_running(void)
{
    begin(1);
    return 7;
}

static int by_leaving_at_once(void)
{
    begin(1);
    _exit(7);
}

static void *wait_for_all(void *unused)
{
    (void)unused;
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtSynchronizeStream(stream);
    return NULL;
}

static int while_another_thread_waits(void)
{
    pthread_t thread;
    begin(1);
    REQUIRE_TRUE(pthread_create(&thread, NULL, wait_for_all, NULL) == 0, "pthread_create");
    return 7;
}

static void leave(void *code)
{
    exit(*(int *)code);
}

/* A host function ends the process. */
static int from_a_host_function(void)
{
    static int code = 7;
    begin(0);
    REQUIRE_OK(aclrtLaunchHostFunc(stream, leave, &code));
    aclrtSynchronizeStream(stream);
    pause();
    return 1;
}

static void at_exit(void)
{
    /* The interface still answers. */
    int32_t device = -1;
    if (aclrtSynchronizeDevice() != 0 || aclrtGetDevice(&device) != 0 || aclrtResetDevice(0) != 0) {
        _exit(1);
    }
}

static int with_an_exit_handler(void)
{
    begin(0);
    atexit(at_exit);
    return 7;
}

static int by_a_signal(void)
{
    begin(1);
    raise(SIGTERM);
    return 1;
}

static int finalized_before(void)
{
    EXPECT_OK(aclInit(NULL));
    begin(1);
    EXPECT_OK(aclFinalize());
    return expect_failed == 0 ? 7 : 1;
}

int main(void)
{
    EXPECT_CHILD(by_return, 7);
    EXPECT_CHILD(with_a_function_running, 7);
    EXPECT_CHILD(by_leaving_at_once, 7);
    EXPECT_CHILD(while_another_thread_waits, 7);
    EXPECT_CHILD(from_a_host_function, 7);
    EXPECT_CHILD(with_an_exit_handler, 7);
    EXPECT_CHILD(finalized_before, 7);
    fflush(stdout);
    pid_t child = fork();
    REQUIRE_TRUE(child >= 0, "fork");
    if (child == 0) {
        alarm(CHILD_SECONDS);
        _exit(by_a_signal());
    }
    int status = -1;
    EXPECT_TRUE(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "status %x", status);
    return finish();
}
