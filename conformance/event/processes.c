// soc: Ascend910B Ascend910C Ascend310P
// schedules: all
/* An IPC event orders two processes: the child's stream waits for a record of the parent's stream. The child is forked before
 * the first call, and gets the handle through a pipe. */
#include "../expect.h"
#include <sys/wait.h>
#include <unistd.h>

static int down[2], up[2];

/* The parent's part of the order is played over the pipes: one letter per step. */
static void tell(int pipe, char letter)
{
    REQUIRE_TRUE(write(pipe, &letter, 1) == 1, "write");
}

static void hear(int pipe, char letter)
{
    char got = 0;
    REQUIRE_TRUE(read(pipe, &got, 1) == 1 && got == letter, "wanted %c, got %c", letter, got);
}

static int child(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtIpcEventHandle handle;
    REQUIRE_TRUE(read(down[0], &handle, sizeof handle) == (ssize_t)sizeof handle, "handle");
    aclrtEvent event;
    REQUIRE_OK(aclrtIpcOpenEventHandle(handle, &event));
    aclrtStream stream = new_stream();
    aclrtEventRecordedStatus recorded = ACL_EVENT_RECORDED_STATUS_COMPLETE;
    EXPECT_OK(aclrtQueryEventStatus(event, &recorded));
    EXPECT_TRUE(recorded == ACL_EVENT_RECORDED_STATUS_NOT_READY, "the parent's stream is still held");
    EXPECT_CODE(aclrtSynchronizeEventWithTimeout(event, 20), 507047);
    EXPECT_OK(aclrtStreamWaitEvent(stream, event));
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 20), 507046);
    tell(up[1], 'w');
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtSynchronizeEvent(event));
    EXPECT_OK(aclrtQueryEventStatus(event, &recorded));
    EXPECT_TRUE(recorded == ACL_EVENT_RECORDED_STATUS_COMPLETE, "the parent's stream went on");
    hear(down[0], 'g');
    /* The parent has destroyed its event; this one lives on. */
    EXPECT_OK(aclrtRecordEvent(event, stream));
    EXPECT_OK(aclrtSynchronizeEvent(event));
    EXPECT_OK(aclrtDestroyEvent(event));
    aclrtEvent again;
    EXPECT_FAILS(aclrtIpcOpenEventHandle(handle, &again));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return conclude();
}

int main(void)
{
    REQUIRE_TRUE(pipe(down) == 0 && pipe(up) == 0, "pipe");
    fflush(stdout);
    pid_t pid = fork();
    REQUIRE_TRUE(pid >= 0, "fork");
    if (pid == 0) {
        if (family() == FAMILY_310P) {
            _exit(0);
        }
        _exit(child());
    }
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtEvent event, plain;
    aclrtIpcEventHandle handle;
    int status = -1;
    if (family() == FAMILY_310P) { /* products: not there */
        EXPECT_CODE(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC), 207000);
        REQUIRE_TRUE(waitpid(pid, &status, 0) == pid, "waitpid");
        EXPECT_OK(aclrtResetDevice(0));
        return conclude();
    }
    REQUIRE_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
    REQUIRE_OK(aclrtCreateEvent(&plain));
    EXPECT_CODE(aclrtIpcGetEventHandle(NULL, &handle), 100000);
    EXPECT_CODE(aclrtIpcGetEventHandle(event, NULL), 100000);
    EXPECT_FAILS(aclrtIpcGetEventHandle(plain, &handle));
    memset(&handle, 0x5a, sizeof handle);
    EXPECT_FAILS(aclrtIpcOpenEventHandle(handle, &plain));
    REQUIRE_OK(aclrtIpcGetEventHandle(event, &handle));

    static struct gate gate = GATE_INITIALIZER;
    aclrtStream stream = new_stream();
    gate_close(&gate, stream);
    EXPECT_OK(aclrtRecordEvent(event, stream));
    REQUIRE_TRUE(write(down[1], &handle, sizeof handle) == (ssize_t)sizeof handle, "write");
    hear(up[0], 'w');
    gate_open(&gate);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtDestroyEvent(event));
    tell(down[1], 'g');
    REQUIRE_TRUE(waitpid(pid, &status, 0) == pid, "waitpid");
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child's status is %d", status);
    EXPECT_OK(aclrtDestroyEvent(plain));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return conclude();
}
