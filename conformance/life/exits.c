// softacl-only
// soc: Ascend910B
// expects: S1
// sanitize: none (children leave with work under way)
/* A process may exit at any time and in any way while tasks are queued or running. */
#include "../expect.h"
#include "child.h"

#define SIZE (64u << 20)

static struct gate gate = GATE_INITIALIZER;
static aclrtStream stream;

/* Queues large and small copies and, with a gate, one running and one queued host function. */
static void queue_work(int with_gate)
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

static int return_from_main(void)
{
    queue_work(0);
    return 7;
}

static int return_with_running_function(void)
{
    queue_work(1);
    return 7;
}

static int exit_immediately(void)
{
    queue_work(1);
    _exit(7);
}

static void *wait_for_stream(void *unused)
{
    (void)unused;
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtSynchronizeStream(stream);
    return NULL;
}

static int return_while_thread_waits(void)
{
    pthread_t thread;
    queue_work(1);
    REQUIRE_TRUE(pthread_create(&thread, NULL, wait_for_stream, NULL) == 0, "pthread_create");
    return 7;
}

static void exit_with(void *code)
{
    exit(*(int *)code);
}

/* A host function calls exit(). */
static int exit_from_host_function(void)
{
    static int code = 7;
    queue_work(0);
    REQUIRE_OK(aclrtLaunchHostFunc(stream, exit_with, &code));
    aclrtSynchronizeStream(stream);
    pause();
    return 1;
}

static void exit_handler(void)
{
    /* AscendCL calls still work in exit handlers. */
    int32_t device = -1;
    if (aclrtSynchronizeDevice() != 0 || aclrtGetDevice(&device) != 0 || aclrtResetDevice(0) != 0) {
        _exit(1);
    }
}

static int return_with_exit_handler(void)
{
    queue_work(0);
    atexit(exit_handler);
    return 7;
}

static int end_by_signal(void)
{
    queue_work(1);
    raise(SIGTERM);
    return 1;
}

static int return_after_finalize(void)
{
    EXPECT_OK(aclInit(NULL));
    queue_work(1);
    EXPECT_OK(aclFinalize());
    return expect_failed == 0 ? 7 : 1;
}

int main(void)
{
    EXPECT_CHILD(return_from_main, 7);
    EXPECT_CHILD(return_with_running_function, 7);
    EXPECT_CHILD(exit_immediately, 7);
    EXPECT_CHILD(return_while_thread_waits, 7);
    EXPECT_CHILD(exit_from_host_function, 7);
    EXPECT_CHILD(return_with_exit_handler, 7);
    EXPECT_CHILD(return_after_finalize, 7);
    fflush(stdout);
    pid_t child = fork();
    REQUIRE_TRUE(child >= 0, "fork");
    if (child == 0) {
        alarm(CHILD_SECONDS);
        _exit(end_by_signal());
    }
    int status = -1;
    EXPECT_TRUE(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "status %x",
                status);
    return finish();
}
