// softacl-only
// soc: Ascend910B
// sanitize: none (the sanitizers need the same system calls)
// expects: M1
/* With system calls that a sandbox forbids, the runtime works or the first call fails with the reason. */
#include "../expect.h"
#include "child.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* Makes two system calls fail with EPERM from now on; -1 stands for no call. */
static void forbid(int first, int second)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)first, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)second, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    REQUIRE_TRUE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
    REQUIRE_TRUE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "seccomp: %s", strerror(errno));
}

static int without_memory_files(void)
{
    forbid(SYS_memfd_create, -1);
    int failed = small_job_or_setup_error();
    if (aclrtSetDevice(0) != 0) {
        return failed; /* the setup error was reported */
    }
    void *device = device_memory(4096);
    char key[128];
    EXPECT_FAILS(aclrtIpcMemGetExportKey(device, 4096, key, sizeof key, 0));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtResetDevice(0));
    return expect_failed;
}

/* Optional: huge pages and random numbers. */
static int without_madvise_and_getrandom(void)
{
    forbid(SYS_madvise, SYS_getrandom);
    return small_job_or_setup_error();
}

static int without_threads(void)
{
    forbid(SYS_clone, SYS_clone3);
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream(), other = new_stream();
    aclrtEvent event = NULL;
    static int ran;
    uint8_t *pinned = (uint8_t *)pinned_memory(4 << 20), *device = (uint8_t *)device_memory(4 << 20);
    fill_pattern(pinned, 4 << 20, 1);
    REQUIRE_OK(aclrtCreateEvent(&event));
    /* The waiting thread runs the tasks, with and without a timeout, and so does a thread that only queries. */
    EXPECT_OK(aclrtMemcpyAsync(device, 4 << 20, pinned, 4 << 20, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtRecordEvent(event, stream));
    EXPECT_OK(aclrtStreamWaitEvent(other, event));
    EXPECT_OK(aclrtMemcpyAsync(pinned, 64, device, 64, ACL_MEMCPY_DEVICE_TO_HOST, other));
    EXPECT_OK(aclrtSynchronizeStreamWithTimeout(other, 20000));
    EXPECT_OK(aclrtMemcpyAsync(device, 4 << 20, pinned, 4 << 20, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    while (stream_is_busy(stream)) {
    }
    EXPECT_DEVICE_PATTERN(device, 4 << 20, 1);
    EXPECT_OK(aclrtMemcpyAsync(device, 4 << 20, pinned, 4 << 20, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtRecordEvent(event, stream));
    EXPECT_OK(aclrtSynchronizeEventWithTimeout(event, 20000));
    /* Waiting for an IPC event also runs the tasks, even after an external wait. */
    aclrtEvent shared = NULL;
    uint64_t *value = (uint64_t *)device_memory(64);
    EXPECT_OK(aclrtMemset(value, 64, 0, 64));
    REQUIRE_OK(aclrtCreateEventExWithFlag(&shared, ACL_EVENT_IPC));
    EXPECT_OK(aclrtValueWait(value, 1, 0, stream));
    EXPECT_OK(aclrtRecordEvent(shared, stream));
    REQUIRE_OK(aclrtValueWrite(value, 1, 0, other)); /* resolves the wait, which no other thread can */
    EXPECT_OK(aclrtSynchronizeEventWithTimeout(shared, 20000));
    EXPECT_OK(aclrtDestroyEvent(shared));
    EXPECT_OK(aclrtFree(value));
    /* A query also runs a graph with two branches that was launched after other tasks. */
    aclmdlRI graph = NULL;
    REQUIRE_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    EXPECT_OK(aclrtRecordEvent(event, stream));
    EXPECT_OK(aclrtStreamWaitEvent(other, event));
    EXPECT_OK(aclrtMemcpyAsync(device, 2 << 20, pinned, 2 << 20, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    EXPECT_OK(aclrtMemcpyAsync(device + (2 << 20), 2 << 20, pinned + (2 << 20), 2 << 20, ACL_MEMCPY_HOST_TO_DEVICE,
                               other));
    EXPECT_OK(aclrtRecordEvent(event, other));
    EXPECT_OK(aclrtStreamWaitEvent(stream, event));
    REQUIRE_OK(aclmdlRICaptureEnd(stream, &graph));
    for (unsigned seed = 2; seed < 6; seed++) {
        fill_pattern(pinned, 4 << 20, seed);
        EXPECT_OK(aclrtMemsetAsync(device, 4 << 20, 0, 4 << 20, stream));
        EXPECT_OK(aclmdlRIExecuteAsync(graph, stream));
        if (seed % 2 == 0) {
            EXPECT_OK(aclrtSynchronizeStream(stream));
        }
        while (stream_is_busy(stream)) {
        }
        EXPECT_DEVICE_PATTERN(device, 4 << 20, seed);
    }
    EXPECT_OK(aclmdlRIDestroy(graph));
    /* A host function needs a thread: the call fails, and the stream stays usable. */
    EXPECT_CODE(aclrtLaunchHostFunc(stream, count_up, &ran), 507033);
    EXPECT_TRUE(count_of(&ran) == 0, "the host function ran");
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtDestroyEvent(event));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtDestroyStream(other));
    EXPECT_OK(aclrtResetDevice(0));
    return expect_failed;
}

static int without_proc(void)
{
    /* Needs the right to create a mount namespace. */
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", "/proc", "tmpfs", 0, NULL) != 0) {
        printf("skipped: no permission to hide /proc (%s)\n", strerror(errno));
        return 0;
    }
    REQUIRE_TRUE(access("/proc/self", F_OK) != 0, "/proc is still visible");
    return small_job();
}

int main(void)
{
    EXPECT_CHILD(without_memory_files, 0);
    EXPECT_CHILD(without_madvise_and_getrandom, 0);
    EXPECT_CHILD(without_threads, 0);
    EXPECT_CHILD(without_proc, 0);
    return finish();
}
