/*
 * A process waits on a stream for a notify that another process records. The other process queues
 * its record behind a start signal.
 *
 * buggy.c destroys the notify when the other process has queued its record.
 * fixed.c destroys it when the record has run.
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

static int recorder(int from, int to)
{
    char key[65], word;
    aclrtNotify done, start;
    aclrtStream stream, starter;
    get(from, key, sizeof key);
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateStream(&starter));
    OK(aclrtCreateNotify(&start, 0));
    OK(aclrtNotifyImportByKey(&done, key, 0));
    OK(aclrtWaitAndResetNotify(start, stream, 0));
    OK(aclrtRecordNotify(done, stream));
    put(to, "q", 1);
    get(from, &word, 1);
    OK(aclrtRecordNotify(start, starter));
    OK(aclrtSynchronizeStream(starter));
    OK(aclrtSynchronizeStream(stream));
    put(to, "r", 1);
    OK(aclrtDestroyNotify(done));
    OK(aclrtDestroyNotify(start));
    OK(aclrtDestroyStream(starter));
    OK(aclrtDestroyStream(stream));
    end();
    return 0;
}

int main(void)
{
    int down[2], up[2], status;
    char key[65], word;
    aclrtNotify done;
    if (pipe(down) != 0 || pipe(up) != 0) {
        return 1;
    }
    pid_t child = fork();
    if (child == 0) {
        return recorder(down[0], up[1]);
    }
    begin();
    OK(aclrtCreateNotify(&done, 0));
    OK(aclrtNotifyGetExportKey(done, key, sizeof key, ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION));
    put(down[1], key, sizeof key);
    get(up[0], &word, 1);
    put(down[1], "g", 1);
    get(up[0], &word, 1);
    OK(aclrtDestroyNotify(done));
    end();
    waitpid(child, &status, 0);
    return verdict(status != 0, 1, "recorders");
}
