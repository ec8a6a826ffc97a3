// softacl-only
// sanitize: none (the sanitizers watch the parent's threads, which the child has not)
/* A child forked after the first AscendCL call gets errors that
 * name the cause and never hangs; the parent is unaffected. */
#include "../expect.h"
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    void *device = device_memory(1 << 20), *pinned = pinned_memory(1 << 20);
    EXPECT_OK(aclrtMemcpyAsync(device, 1 << 20, pinned, 1 << 20, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    pid_t child = fork();
    REQUIRE_TRUE(child >= 0, "fork");
    if (child == 0) {
        void *pointer = NULL;
        int refused = aclrtMalloc(&pointer, 64, ACL_MEM_MALLOC_HUGE_FIRST) == 507033;
        refused += aclrtMemcpyAsync(device, 64, pinned, 64, ACL_MEMCPY_HOST_TO_DEVICE, stream) == 507033;
        refused += aclrtSynchronizeStream(stream) == 507033;
        const char *message = aclGetRecentErrMsg();
        refused += message != NULL && strstr(message, "fork") != NULL;
        _exit(refused == 4 ? 0 : 1);
    }
    int status = -1;
    EXPECT_TRUE(waitpid(child, &status, 0) == child, "waitpid");
    expect_no_crash(status);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %d", status);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtFree(device));
    EXPECT_OK(aclrtFreeHost(pinned));
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtResetDevice(0));
    return finish();
}
