/*
 * Two ranks: the first one waits on a stream for an event of the second one, which starts its work
 * when it receives a byte.
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
    aclrtIpcEventHandle handle;
    aclrtEvent done;
    aclrtStream stream, starter;
    aclrtNotify start;
    char word;
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateStream(&starter));
    OK(aclrtCreateNotify(&start, 0));
    OK(aclrtCreateEventExWithFlag(&done, ACL_EVENT_IPC));
    OK(aclrtWaitAndResetNotify(start, stream, 0));
    OK(aclrtRecordEvent(done, stream));
    OK(aclrtIpcGetEventHandle(done, &handle));
    put(to, &handle, sizeof handle);
    /* A wait with a timeout, as a rank that polls has one. */
    aclError code = aclrtSynchronizeStreamWithTimeout(stream, 100);
    if (code != ACL_ERROR_RT_STREAM_SYNC_TIMEOUT) {
        return 1;
    }
    get(from, &word, 1);
    OK(aclrtRecordNotify(start, starter));
    OK(aclrtSynchronizeStream(starter));
    OK(aclrtSynchronizeStream(stream));
    get(from, &word, 1);
    OK(aclrtDestroyEvent(done));
    OK(aclrtDestroyNotify(start));
    OK(aclrtDestroyStream(starter));
    OK(aclrtDestroyStream(stream));
    end();
    return 0;
}

int main(void)
{
    int down[2], up[2], status;
    aclrtIpcEventHandle handle;
    aclrtEvent done;
    aclrtStream stream;
    if (pipe(down) != 0 || pipe(up) != 0) {
        return 1;
    }
    pid_t child = fork();
    if (child == 0) {
        return second(down[0], up[1]);
    }
    get(up[0], &handle, sizeof handle);
    begin();
    OK(aclrtCreateStream(&stream));
    OK(aclrtIpcOpenEventHandle(handle, &done));
    OK(aclrtStreamWaitEvent(stream, done));
    OK(aclrtSynchronizeStream(stream));
    put(down[1], "d", 1);
    OK(aclrtDestroyEvent(done));
    OK(aclrtDestroyStream(stream));
    end();
    waitpid(child, &status, 0);
    return verdict(status != 0, 1, "ranks");
}
