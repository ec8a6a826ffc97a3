// soc: Ascend910B Ascend310P
// schedules: all
/* A notify orders streams of two processes, both ways. The child is forked before the first call, and gets keys through a pipe.
 * Processes that are not on the list are refused; each may end first. */
#include "../expect.h"
#include <sys/wait.h>
#include <unistd.h>

static int down[2], up[2];

static void put(int pipe, const void *bytes, size_t size)
{
    REQUIRE_TRUE(write(pipe, bytes, size) == (ssize_t)size, "write");
}

static void get(int pipe, void *bytes, size_t size)
{
    REQUIRE_TRUE(read(pipe, bytes, size) == (ssize_t)size, "read");
}

static void tell(char letter) { put(down[1], &letter, 1); }

static void hear(int pipe, char letter)
{
    char got = 0;
    get(pipe, &got, 1);
    REQUIRE_TRUE(got == letter, "wanted %c, got %c", letter, got);
}

static int child(void)
{
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = new_stream();
    char key[65], open_key[65];
    get(down[0], key, sizeof key);
    get(down[0], open_key, sizeof open_key);
    aclrtNotify there = NULL, back = NULL;
    EXPECT_FAILS(aclrtNotifyImportByKey(&there, key, ACL_RT_NOTIFY_IMPORT_FLAG_DEFAULT));
    EXPECT_FAILS(aclrtNotifyImportByKey(&back, open_key, 1));
    REQUIRE_OK(aclrtNotifyImportByKey(&back, open_key, ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS));
    int32_t pid = 0;
    REQUIRE_OK(aclrtDeviceGetBareTgid(&pid));
    put(up[1], &pid, sizeof pid);
    hear(down[0], 'l'); /* on the list now */
    REQUIRE_OK(aclrtNotifyImportByKey(&there, key, ACL_RT_NOTIFY_IMPORT_FLAG_DEFAULT));

    EXPECT_OK(aclrtWaitAndResetNotify(there, stream, 0));
    EXPECT_CODE(aclrtSynchronizeStreamWithTimeout(stream, 20), 507046);
    put(up[1], "w", 1);
    EXPECT_OK(aclrtSynchronizeStream(stream));
    for (int i = 0; i < 20; i++) { /* to and fro */
        EXPECT_OK(aclrtRecordNotify(back, stream));
        EXPECT_OK(aclrtWaitAndResetNotify(there, stream, 0));
    }
    EXPECT_OK(aclrtSynchronizeStream(stream));
    hear(down[0], 'g');
    /* The maker has destroyed its notifies; these live on. */
    EXPECT_OK(aclrtRecordNotify(back, stream));
    EXPECT_OK(aclrtWaitAndResetNotify(back, stream, 0));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtDestroyNotify(there));
    EXPECT_OK(aclrtDestroyNotify(back));
    EXPECT_FAILS(aclrtNotifyImportByKey(&there, open_key, 0));
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
        _exit(child());
    }
    REQUIRE_OK(aclrtSetDevice(0));
    aclrtNotify there, back, own;
    char key[65], open_key[65];
    memset(key, 0x5a, sizeof key);
    REQUIRE_OK(aclrtCreateNotify(&there, ACL_NOTIFY_DEFAULT));
    REQUIRE_OK(aclrtCreateNotify(&back, ACL_NOTIFY_DEFAULT));
    REQUIRE_OK(aclrtNotifyGetExportKey(there, key, sizeof key, ACL_RT_NOTIFY_EXPORT_FLAG_DEFAULT));
    REQUIRE_OK(aclrtNotifyGetExportKey(back, open_key, sizeof open_key, ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION));
    EXPECT_TRUE(memchr(key, 0, sizeof key) != NULL && strcmp(key, open_key) != 0, "keys are texts, and differ");
    put(down[1], key, sizeof key);
    put(down[1], open_key, sizeof open_key);
    int32_t theirs = 0;
    get(up[0], &theirs, sizeof theirs);
    EXPECT_OK(aclrtNotifySetImportPid(there, &theirs, 1));
    tell('l');

    aclrtStream stream = new_stream();
    hear(up[0], 'w');
    EXPECT_OK(aclrtRecordNotify(there, stream));
    for (int i = 0; i < 20; i++) {
        EXPECT_OK(aclrtWaitAndResetNotify(back, stream, 0));
        EXPECT_OK(aclrtRecordNotify(there, stream));
    }
    EXPECT_OK(aclrtSynchronizeStream(stream));
    /* One's own key works as well. */
    EXPECT_OK(aclrtNotifyImportByKey(&own, key, 0));
    EXPECT_OK(aclrtDestroyNotify(own));
    EXPECT_OK(aclrtDestroyNotify(there));
    EXPECT_OK(aclrtDestroyNotify(back));
    EXPECT_OK(aclrtDestroyStream(stream));
    tell('g');
    int status = -1;
    REQUIRE_TRUE(waitpid(pid, &status, 0) == pid, "waitpid");
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child's status is %d", status);
    EXPECT_OK(aclrtResetDevice(0));
    return conclude();
}
