// softacl-only
// soc: Ascend910B
// sanitize: none (the sanitizers watch the parent's threads, which a child has not)
// expects: M1
/* A fork before the first AscendCL call gives each process a
 * separate runtime. A child forked later may exec or exit. */
#include "../expect.h"
#include "child.h"

static int do_nothing(void)
{
    return 0;
}

int main(int argc, char **argv)
{
    (void)argc;
    if (getenv("LIFE_REEXECUTED") != NULL) {
        /* The new program inherits no file descriptor of the library. */
        char link[64], target[256];
        for (int i = 3; i < 64; i++) {
            snprintf(link, sizeof link, "/proc/self/fd/%d", i);
            ssize_t length = readlink(link, target, sizeof target - 1);
            target[length < 0 ? 0 : length] = '\0';
            EXPECT_TRUE(strstr(target, "softacl") == NULL, "descriptor %d is %s", i, target);
        }
        return small_job();
    }
    EXPECT_CHILD(small_job, 0);
    EXPECT_CHILD(do_nothing, 0);
    EXPECT_TRUE(small_job() == 0, "small_job failed in the parent");

    /* Threads are running tasks during the fork; a child that does not use the runtime is unaffected. */
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    void *device = device_memory(32 << 20), *pinned = pinned_memory(32 << 20);
    fill_pattern(pinned, 32 << 20, 1);
    for (int i = 0; i < 4; i++) {
        EXPECT_OK(aclrtMemcpyAsync(device, 32 << 20, pinned, 32 << 20, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    }
    fflush(stdout);
    pid_t children[2];
    for (int i = 0; i < 2; i++) {
        children[i] = fork();
        REQUIRE_TRUE(children[i] >= 0, "fork");
        if (children[i] == 0) {
            alarm(CHILD_SECONDS);
            if (i == 0) {
                exit(0); /* runs the exit handlers of the library */
            }
            setenv("LIFE_REEXECUTED", "1", 1);
            execv("/proc/self/exe", argv);
            _exit(99);
        }
    }
    for (int i = 0; i < 2; i++) {
        int status = -1;
        EXPECT_TRUE(waitpid(children[i], &status, 0) == children[i], "waitpid");
        expect_no_crash(status);
        EXPECT_TRUE(status == 0, "child %d: status %x", i, status);
    }
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_DEVICE_PATTERN(device, 32 << 20, 1);
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
