/*
 * Child processes for programs about process lifetime. Each is forked before
 * the first AscendCL call, so that it initializes a separate runtime.
 */
#ifndef CONFORMANCE_CHILD_H
#define CONFORMANCE_CHILD_H

#include <signal.h>
#include <sys/wait.h>

/* Time limit of a child; SIGALRM, which has no handler, then ends it. */
#define CHILD_SECONDS 40

/* Runs `body` in a child process. Counts one check: that the exit code is `want`. */
static inline void expect_child(int (*body)(void), int want, const char *name, int line)
{
    fflush(stdout);
    pid_t child = fork();
    REQUIRE_TRUE(child >= 0, "fork: %s", strerror(errno));
    if (child == 0) {
        alarm(CHILD_SECONDS);
        exit(body());
    }
    int status = -1;
    pid_t got;
    do {
        got = waitpid(child, &status, 0);
    } while (got < 0 && errno == EINTR);
    int exited = got == child && WIFEXITED(status);
    expect_no_crash(status);
    expect_true(exited && WEXITSTATUS(status) == want, name, __FILE__, line, "%s %d, expected exit code %d",
                exited ? "exit code" : "signal", exited ? WEXITSTATUS(status) : WTERMSIG(status), want);
}

#define EXPECT_CHILD(body, want) expect_child((body), (want), #body, __LINE__)

/* Exercises the parts of the runtime that every program uses. Returns the number of failed checks. */
static inline int small_job(void)
{
    int before = __atomic_load_n(&expect_failed, __ATOMIC_SEQ_CST);
    static int ran;
    int start = count_of(&ran);
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    uint8_t *pinned = (uint8_t *)pinned_memory(1 << 20), *device = (uint8_t *)device_memory(1 << 20);
    fill_pattern(pinned, 1 << 20, 5);
    for (int i = 0; i < 16; i++) {
        EXPECT_OK(aclrtMemcpyAsync(device + i * 65536, 65536, pinned + i * 65536, 65536, ACL_MEMCPY_HOST_TO_DEVICE,
                                   stream));
    }
    EXPECT_OK(aclrtLaunchHostFunc(stream, count_up, &ran));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(count_of(&ran) == start + 1, "the host function did not run");
    EXPECT_DEVICE_PATTERN(device, 1 << 20, 5);
    EXPECT_CODE(aclrtMemcpy(device, 1, pinned, 2, ACL_MEMCPY_HOST_TO_DEVICE), 107000);
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return __atomic_load_n(&expect_failed, __ATOMIC_SEQ_CST) - before;
}

/* Runs small_job(), or expects that the runtime cannot be set up: 507033 with a message that gives the reason. */
static inline int small_job_or_setup_error(void)
{
    aclError code = aclrtSetDevice(0);
    if (code == 0) {
        EXPECT_OK(aclrtResetDevice(0));
        return small_job();
    }
    const char *message = aclGetRecentErrMsg();
    EXPECT_CODE(code, 507033);
    EXPECT_TRUE(message != NULL && strstr(message, "could not be set up") != NULL, "%s",
                message == NULL ? "(none)" : message);
    return expect_failed;
}

#endif
