/*
 * Two ranks: the first one waits on a stream for a notify that the second one records when it
 * receives a byte. Until then the second one has queued nothing and has waited inside no call.
 *
 * buggy.c does not send it.
 * fixed.c does.
 */
#include "../zoo.h"

#include <sys/wait.h>
#include <unistd.h>

/* Sends a byte string to the other process, or receives one. */
static void put(int file, const void *bytes, size_t size)
{
    if (write(file, bytes, size) != (ssize_t)size) {
        exit(1);
    }
}

static void get(int file, void *bytes, size_t size)
{
    if (read(file, bytes, size) != (ssize_t)size) {
        exit(1);
    }
}

static int second(int from, int to)
{
    char key[65], word;
    aclrtNotify done;
    aclrtStream stream;
    get(from, key, sizeof key);
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtNotifyImportByKey(&done, key, 0));
    put(to, "o", 1);
    get(from, &word, 1);
    OK(aclrtRecordNotify(done, stream));
    OK(aclrtSynchronizeStream(stream));
    put(to, "r", 1);
    OK(aclrtDestroyNotify(done));
    OK(aclrtDestroyStream(stream));
    end();
    return 0;
}

int main(void)
{
    int down[2], up[2], status;
    char key[65], word;
    aclrtNotify done;
    aclrtStream stream;
    if (pipe(down) != 0 || pipe(up) != 0) {
        return 1;
    }
    pid_t child = fork();
    if (child == 0) {
        return second(down[0], up[1]);
    }
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateNotify(&done, 0));
    OK(aclrtNotifyGetExportKey(done, key, sizeof key, ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION));
    put(down[1], key, sizeof key);
    get(up[0], &word, 1);
    OK(aclrtWaitAndResetNotify(done, stream, 0));
    OK(aclrtSynchronizeStream(stream));
    get(up[0], &word, 1);
    OK(aclrtDestroyNotify(done));
    OK(aclrtDestroyStream(stream));
    end();
    waitpid(child, &status, 0);
    return verdict(status != 0, 1, "ranks");
}
